"""Order statistics of sliding windows, against sorting each window."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.core.block import FloatArray
from rltui.health.detectors.extent import Extent, Window, extent
from rltui.health.detectors.rank import ranked
from rltui.health.detectors.windows import rolling_extreme, rolling_median, rolling_quartiles


def series(kind: str, rows: int) -> FloatArray:
    rng = np.random.default_rng(rows)
    x = rng.standard_normal(rows)
    if kind == "ties":
        return rng.integers(0, 4, rows).astype(float)
    if kind == "infinite":
        return np.where(rng.random(rows) < 0.1, np.inf, x)
    return np.sort(x) if kind == "sorted" else x


KINDS = ("noise", "ties", "infinite", "sorted")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 10, 30, 64, 127, 200])
@pytest.mark.parametrize("rows", [200, 700, 3000, 9000])
def test_every_rank_of_every_window(kind: str, size: int, rows: int) -> None:
    x = series(kind, rows)
    wanted = np.sort(np.lib.stride_tricks.sliding_window_view(x, size), axis=1)
    ranks = sorted({0, size // 4, (size - 1) // 2, size // 2, size - 1})
    for rank, found in zip(ranks, ranked(x, size, ranks), strict=True):
        assert np.array_equal(found, wanted[:, rank])


def test_nan_is_the_largest() -> None:
    x = series("noise", 900)
    x[500] = np.nan
    low, high = ranked(x, 10, (0, 9))
    assert np.isfinite(low).all()
    assert np.flatnonzero(np.isnan(high)).tolist() == list(range(491, 501))


WINDOWS = (1, 3, 10, Extent(10, 0.1, 3), Extent(30, 0.3, 5))


@pytest.mark.parametrize("window", WINDOWS, ids=["1", "3", "10", "tenth", "third"])
@pytest.mark.parametrize("rows", [0, 1, 2, 9, 250, 2500])
def test_medians_and_extremes_are_those_of_the_rows_so_far(window: Window, rows: int) -> None:
    x = series("noise", rows)
    sizes = extent(window).sizes(rows)
    parts = [x[max(0, row - size + 1) : row + 1] for row, size in enumerate(sizes.tolist())]
    assert rolling_median(x, window).tolist() == pytest.approx([np.median(p) for p in parts])
    assert rolling_extreme(x, window, least=True).tolist() == [p.min() for p in parts]
    assert rolling_extreme(x, window, least=False).tolist() == [p.max() for p in parts]


@pytest.mark.parametrize("rows", [3, 30, 900, 9000])
def test_a_prefix_has_the_same_medians(rows: int) -> None:
    x, window = series("noise", 10_000), Extent(30, 0.3, 5)
    for statistic in (rolling_median, rolling_quartiles):
        assert np.array_equal(statistic(x[:rows], window), statistic(x, window)[:rows], True)
