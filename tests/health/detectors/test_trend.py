"""A value that does not rise: one episode, since the rows that show it."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.core.block import FloatArray
from rltui.health.detectors.signal import Rows, Signal
from rltui.health.detectors.trend import no_gain


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
    x = np.zeros(200)
    x[0] = 0.25
    assert judged(x).beyond[130:].all()
