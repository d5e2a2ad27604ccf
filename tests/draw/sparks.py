"""A sparkline from its points at once."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rltui.core.block import FloatArray
from rltui.draw.glyph import GlyphSet
from rltui.draw.line import Span
from rltui.draw.spark import Digest, Episode, columns_until, spark_of


def spark(
    steps: ArrayLike,
    values: ArrayLike,
    *,
    first_step: float,
    last_step: float,
    end_step: float | None = None,
    width: int,
    levels: Sequence[Episode] = (),
    base_level_known: bool = True,
    glyphs: GlyphSet,
) -> list[Span]:
    """The sparkline of points in any order. ``first_step`` to ``last_step`` is the run,
    ``end_step`` extends the columns beyond it."""
    if width <= 0:
        return []
    x, y = _in_order(np.asarray(steps), np.asarray(values))
    end = last_step if end_step is None else end_step
    digest = Digest(*columns_until(first_step, last_step, end, width))
    digest.extend(x, y, max(float(first_step), float(last_step)))
    return spark_of(digest, last_step, levels, base_level_known, glyphs)


def _in_order(x: NDArray[np.generic], y: NDArray[np.generic]) -> tuple[FloatArray, FloatArray]:
    """``x`` (n,) and ``y`` (n,) sorted stably by ``x``; the same arrays when they are already."""
    n = min(len(x), len(y))
    x, y = x[:n], y[:n]
    if n > 1 and not bool((x[1:] >= x[:-1]).all()):  # type: ignore[operator]
        order = np.argsort(x, kind="stable")
        x, y = x[order], y[order]
    return x, y  # type: ignore[return-value]
