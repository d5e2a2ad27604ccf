"""Sparklines: one row of cells that shows a whole run (floor 5)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rltui.core.block import FloatArray, IntArray
from rltui.core.level import Level
from rltui.present.glyph import GlyphSet
from rltui.present.line import MUTED, Span, Style, Token, style

#: An episode of a level: since step, until step (None: still so), level.
Episode = tuple[float, float | None, Level]

_NAN = style(Token.BAD, bold=True)
_NAN_REST = style(Token.BAD)
_FILL = {Level.WATCH: style(Token.WATCHFILL), Level.BAD: style(Token.BADFILL)}
_SPARK, _UNJUDGED = style(Token.SPARK), style(Token.STAGE6)
#: Above this many points the median is taken from a regular sample.
_MEDIAN_SAMPLE = 4096

# What a cell shows.
_BLANK, _VALUE, _NAN_START, _NAN_ON = 0, 1, 2, 3


def spark(
    steps: ArrayLike,
    values: ArrayLike,
    *,
    first_step: float,
    last_step: float,
    width: int,
    levels: Sequence[Episode] = (),
    base_level_known: bool = True,
    glyphs: GlyphSet,
) -> list[Span]:
    """The sparkline of one metric in exactly ``width`` cells.

    ``steps`` (n,) and ``values`` (n,) are its points; ``first_step`` to ``last_step`` is the
    run, the same for all rows on screen, so that columns line up. A column shows its point
    farthest from the median, a column without points the last value before it, the last
    cell the newest value. Height is the metric's own minimum to maximum; colour is its level
    at that step (``levels``), never its height. A value that never changed is a dashed line,
    NaN and Inf are an ``N`` and dashes for as long as they last. Points outside of the run
    are ignored.
    """
    if width <= 0:
        return []
    x, y = in_order(np.asarray(steps), np.asarray(values))
    bounds = _bounds(x, first_step, last_step, width)
    y = y[bounds[0] : bounds[-1]].astype(np.float64)
    if not len(y):
        return [(" " * width, MUTED)]
    shown, kind = _cells(y, bounds - bounds[0])
    ramp, constant = _heights(shown, y, len(glyphs.ramp))
    level = _levels(levels, first_step, last_step, width)
    return _paint(ramp, kind, level, constant=constant, known=base_level_known, glyphs=glyphs)


def in_order(x: NDArray[np.generic], y: NDArray[np.generic]) -> tuple[FloatArray, FloatArray]:
    """``x`` (n,) and ``y`` (n,) sorted stably by ``x``; the same arrays when they are already."""
    n = min(len(x), len(y))
    x, y = x[:n], y[:n]
    if n > 1 and not bool((x[1:] >= x[:-1]).all()):  # type: ignore[operator]
        order = np.argsort(x, kind="stable")
        x, y = x[order], y[order]
    return x, y  # type: ignore[return-value]


def _bounds(x: FloatArray, first: float, last: float, width: int) -> IntArray:
    """(width + 1,) index where the points of each column begin; the last entry ends them."""
    first, last = float(first), max(float(first), float(last))
    unit = math.ulp(max(abs(first), abs(last), 1.0))
    span = last - first + max(1.0, unit)
    starts = first + np.arange(width + 1) * (span / width)
    if x.dtype.kind in "iu":
        starts = np.clip(np.ceil(starts - 1e-9), -9.2e18, 9.2e18).astype(np.int64)
    bounds = np.searchsorted(x, starts, side="left")
    bounds[-1] = np.searchsorted(x, last, side="right")
    return np.maximum.accumulate(bounds)


def _cells(y: FloatArray, bounds: IntArray) -> tuple[FloatArray, IntArray]:
    """What each column shows: its value (width,) and its kind (width,)."""
    width = len(bounds) - 1
    finite = np.isfinite(y)
    all_finite = bool(finite.all())
    filled = np.flatnonzero(bounds[1:] > bounds[:-1])
    starts, ends = bounds[filled], bounds[filled + 1]
    high, low, good = _extremes(y, finite, starts, all_finite)
    middle = _median(y if all_finite else y[finite])
    far = np.where(high / 2 - middle / 2 >= middle / 2 - low / 2, high, low)
    # a column takes its own extreme, columns after it the level of its last point
    held = y[ends - 1]
    source = np.searchsorted(filled, np.arange(width), side="right") - 1
    own = np.zeros(width, dtype=bool)
    own[filled] = True
    own[-1] = False  # the last cell is always the newest value
    shown = np.where(own, far[source], held[source])
    kind = np.where(source < 0, _BLANK, _VALUE)
    if not all_finite:
        _mark_nan(
            kind,
            own=own,
            source=source,
            good=good,
            count=ends - starts,
            newest_finite=np.isfinite(held),
        )
    return shown, kind


def _extremes(
    y: FloatArray, finite: NDArray[np.bool_], starts: IntArray, all_finite: bool
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Highest and lowest finite value and count of finite values per run of points."""
    if all_finite:
        good = np.diff(np.append(starts, len(y)))
        return np.maximum.reduceat(y, starts), np.minimum.reduceat(y, starts), good
    good = np.add.reduceat(finite.astype(np.int64), starts)
    high = np.maximum.reduceat(np.where(finite, y, -np.inf), starts)
    low = np.minimum.reduceat(np.where(finite, y, np.inf), starts)
    high, low = np.where(good > 0, high, np.nan), np.where(good > 0, low, np.nan)
    return high, low, good


def _median(y: FloatArray) -> float:
    if not len(y):
        return 0.0
    stride = max(1, len(y) // _MEDIAN_SAMPLE)
    sample = y[::stride]
    middle = len(sample) // 2
    return float(np.partition(sample, middle)[middle])


def _mark_nan(
    kind: IntArray,
    *,
    own: NDArray[np.bool_],
    source: IntArray,
    good: IntArray,
    count: IntArray,
    newest_finite: NDArray[np.bool_],
) -> None:
    """Set the kind of the columns that have points which are no numbers."""
    last = len(kind) - 1
    ill = False
    for column in range(len(kind)):
        which = int(source[column])
        if which < 0:
            continue
        if own[column]:
            some, none_good = good[which] < count[which], good[which] == 0
            if none_good:
                kind[column] = _NAN_ON if ill else _NAN_START
            elif some and not ill:
                kind[column] = _NAN_START
            ill = bool(none_good or (some and kind[column] == _NAN_START))
        elif not newest_finite[which]:
            kind[column] = _NAN_ON if ill else _NAN_START
            ill = True
        else:
            ill = False
    if newest_finite[-1]:
        kind[last] = _VALUE


def _heights(shown: FloatArray, y: FloatArray, rungs: int) -> tuple[IntArray, bool]:
    """Rung of the ramp per column (width,), and whether the metric never changed."""
    finite = y[np.isfinite(y)]
    if not len(finite):
        return np.zeros(len(shown), dtype=np.int64), False
    low, high = float(finite.min()) / 2, float(finite.max()) / 2
    if high <= low:
        return np.full(len(shown), rungs // 2, dtype=np.int64), len(finite) == len(y)
    with np.errstate(invalid="ignore", over="ignore"):
        share = np.nan_to_num((shown / 2 - low) / (high - low), nan=0.0, posinf=1.0, neginf=0.0)
    return np.clip(np.rint(share * (rungs - 1)), 0, rungs - 1).astype(np.int64), False


def _levels(levels: Sequence[Episode], first: float, last: float, width: int) -> IntArray:
    """The worst level (width,) of the episodes that touch each column."""
    out = np.zeros(width, dtype=np.int64)
    span = max(float(last) - float(first), 0.0) + 1.0
    for since, until, level in levels:
        begin = (float(since) - first) * width / span
        end = width - 1.0 if until is None else (float(until) - first) * width / span
        if not (begin < width and end >= 0):
            continue
        part = slice(max(0, math.floor(begin)), max(0, min(width - 1, math.floor(end))) + 1)
        out[part] = np.maximum(out[part], int(level))
    return out


def _paint(
    ramp: IntArray,
    kind: IntArray,
    level: IntArray,
    *,
    constant: bool,
    known: bool,
    glyphs: GlyphSet,
) -> list[Span]:
    """Cells of equal style as spans."""
    base = _SPARK if known else _UNJUDGED
    spans: list[Span] = []
    run: list[str] = []
    look: Style = MUTED
    for rung, what, grade in zip(ramp.tolist(), kind.tolist(), level.tolist(), strict=True):
        now: Style
        if what == _BLANK:
            char, now = " ", MUTED
        elif what == _NAN_START:
            char, now = glyphs.nan, _NAN
        elif what == _NAN_ON:
            char, now = glyphs.unchanged, _NAN_REST
        elif constant:
            char, now = glyphs.unchanged, _FILL.get(Level(grade), MUTED)
        else:
            char, now = glyphs.ramp[rung], _FILL.get(Level(grade), base)
        if run and now is not look:
            spans.append(("".join(run), look))
            run = []
        look = now
        run.append(char)
    spans.append(("".join(run), look))
    return spans
