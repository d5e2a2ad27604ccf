"""A value that does not rise: one episode, since the rows that show it.

Order statistics of sliding windows, against sorting each window.
"""

from __future__ import annotations

import numpy as np
import pytest

from rltui.core.block import FloatArray
from rltui.health.detectors.extent import Extent, Window, extent
from rltui.health.detectors.rank import ranked
from rltui.health.detectors.signal import Rows, Signal
from rltui.health.detectors.trend import _all_ends, no_gain, rank_trend
from rltui.health.detectors.windows import looks, rolling_extreme, rolling_median, rolling_quartiles


def judged(x: FloatArray) -> Signal:
    rows = Rows(x, np.arange(1, len(x) + 1))
    return no_gain(rows, noise_share=0.3, least_rows=120, certain=2, certain_rows=400)


def episodes(signal: Signal) -> int:
    return int(np.count_nonzero(np.diff(signal.beyond.astype(int)) == 1))


def test_a_flat_reward_is_one_episode_whatever_its_noise() -> None:
    flat = [judged(np.random.default_rng(s).normal(-1.86, 0.58, 2500)) for s in range(40)]
    assert all(signal.beyond[-1] for signal in flat)
    assert sum(episodes(signal) == 1 for signal in flat) >= 36


def test_it_began_with_the_rows_that_show_it_not_with_the_verdict() -> None:
    x = np.random.default_rng(1).normal(0.0, 1.0, 600)
    signal = judged(x)
    assert signal.onset is not None
    first = int(np.argmax(signal.beyond))
    assert signal.onset[first] == pytest.approx(first + 1 - (first + 1) // 6)
    assert set(signal.onset[signal.beyond]) == {signal.onset[first]}


def test_a_value_without_any_noise_that_is_never_better_never_gained() -> None:
    rose = np.zeros(200)
    rose[60:120] = 1e-9
    for x, never in ((np.zeros(200), True), (rose, False)):
        signal = judged(x)
        assert signal.onset is not None
        assert not signal.beyond[100]
        assert (int(signal.onset[150]) == 0) is never
    assert [words for flags, words in judged(np.zeros(200)).notes if flags[-1]] == [
        "no change at all"
    ]


def test_it_is_over_once_level_and_trend_both_rise() -> None:
    noise = np.random.default_rng(2).normal(0.0, 1.0, 1200)
    signal = judged(noise + np.concatenate([np.zeros(450), np.linspace(0.0, 6.0, 750)]))
    assert signal.beyond[440]
    assert not signal.beyond[-1]


def test_only_a_real_fall_is_called_one() -> None:
    noise = np.random.default_rng(3).normal(0.0, 1.0, 600)
    for slope, falls in ((0.0, False), (-6.0, True)):
        signal = judged(noise + np.linspace(0.0, slope, 600))
        fell = [flags for flags, words in signal.notes if words == "it fell"]
        assert bool(fell[0][-1]) is falls


def test_a_reward_without_any_noise_needs_no_margin() -> None:
    assert judged(np.zeros(200)).beyond[130:].all()


@pytest.mark.parametrize("last_random", [0, 250, 599])
def test_rows_that_act_at_random_are_neither_found_nor_praised(last_random: int) -> None:
    rate = np.where(np.arange(600) < last_random, 1.0, 0.05)
    x = 20 + np.random.default_rng(4).normal(0.0, 5.0, 600) + np.linspace(0.0, 40.0, 600)
    rows = Rows(x, np.arange(1, 601), {"exploration": rate})
    signal = no_gain(rows, noise_share=0.3, least_rows=400, explores=0.5)
    assert not signal.beyond.any()
    assert signal.silent is (600 - last_random < 400)


def test_no_rows_are_not_praised() -> None:
    assert no_gain(Rows(np.empty(0), np.empty(0, np.int64)), noise_share=0.3).silent


@pytest.mark.parametrize("rows", [3, 4, 47, 300, 2048, 2049])
def test_the_ends_of_short_and_long_logs_are_computed_alike(rows: int) -> None:
    x = np.round(np.random.default_rng(rows).normal(5, 2, rows), 1)
    for (look, _), found in zip(looks(3, rows, 1.1), _all_ends(x, 3, 1.1), strict=True):
        first, last = x[: max(3, look // 10)][:look], x[look - look // 3 : look]
        spreads = [np.median(np.abs(part - np.median(part))) for part in (first, last)]
        expected = [np.median(first), np.median(last), 1.4826 * max(spreads)]
        assert found.tolist() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("rows", [3, 10, 100])
def test_a_rank_trend_counts_the_pairs_that_rise(rows: int) -> None:
    x = np.round(np.random.default_rng(rows).normal(0, 1, rows), 1)
    score = sum(int(np.sign(x[j] - x[i])) for j in range(rows) for i in range(j))
    assert rank_trend(x) == pytest.approx(score / (rows * (rows - 1) * (2 * rows + 5) / 18) ** 0.5)


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
