"""Every detector, with the parameters that the shipped rules give it, is causal.

Windows that grow with the log.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.health.cases import case_run
from rltui.health.detectors.extent import Extent
from rltui.health.detectors.signal import Rows, Signal
from rltui.health.detectors.windows import (
    latched,
    rolling_count,
    rolling_extreme,
    rolling_median,
    start_median,
)
from rltui.health.engine import Engine
from rltui.health.judge import spans
from rltui.health.rule import Variant
from rltui.health.rules import load_rules

RULES = load_rules()
SETTINGS = [(v, level) for r in RULES for v in r.variants for level in v.levels]

_LEVELS = st.sampled_from([0.0, 1e-9, 1e-3, 0.02, 0.1, 0.3, 0.9, 1.0, 2.0, 30.0, -0.5, -20.0])
_STRETCH = st.tuples(_LEVELS, st.integers(1, 40), st.sampled_from([0.0, 0.01, 0.5]))


@st.composite
def _series(draw: st.DrawFn) -> np.ndarray:
    parts = draw(st.lists(_STRETCH, min_size=1, max_size=6))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    return np.concatenate([v + s * abs(v) * rng.standard_normal(n) for v, n, s in parts])


def _columns(signal: Signal) -> list[np.ndarray]:
    columns = [signal.beyond, signal.statistic, signal.threshold]
    columns += [c for c in (signal.low, signal.high) if c is not None]
    if signal.onset is not None:
        columns.append(np.where(signal.beyond, signal.onset, -1))
    return [np.asarray(c) for c in (*columns, *signal.facts.values())]


@pytest.mark.parametrize(("variant", "level"), SETTINGS)
@settings(max_examples=10)
@given(x=_series(), other=_series(), part=st.floats(0.05, 0.95))
def test_verdict_on_a_prefix_is_the_prefix_of_the_verdict(
    variant: Variant, level: object, x: np.ndarray, other: np.ndarray, part: float
) -> None:
    n = len(x)
    k = max(1, int(n * part))
    second = np.resize(other, n)
    steps = np.arange(n)
    parameters = variant.levels[level]  # type: ignore[index]
    whole = variant.detector.run(Rows(x, steps, dict.fromkeys(variant.roles, second)), **parameters)
    head = variant.detector.run(
        Rows(x[:k], steps[:k], dict.fromkeys(variant.roles, second[:k])), **parameters
    )
    for a, b in zip(_columns(whole), _columns(head), strict=True):
        np.testing.assert_array_equal(a[:k], b)
    assert (_columns(whole)[0].shape) == (n,)


@settings(max_examples=40)
@given(x=_series(), holes=st.lists(st.integers(0, 200), max_size=5))
def test_reading_at_once_and_row_by_row_give_the_same(x: np.ndarray, holes: list[int]) -> None:
    x[[h for h in holes if h < len(x)]] = np.nan
    engine = Engine(RULES)
    keys = ["entropy", "grad_norm.actor", "explained_variance"]
    at_once, infos, recognition = case_run(dict.fromkeys(keys, x))
    final = engine.evaluate(at_once, infos, recognition, 0.0)
    live = Engine(RULES)
    for count in (1, len(x) // 2 + 1, len(x)):
        run, infos, recognition = case_run(dict.fromkeys(keys, x[:count]))
        report = live.evaluate(run, infos, recognition, 0.0)
    assert repr(report.findings) == repr(final.findings)
    assert report.level is final.level


@given(x=_series(), window=st.integers(1, 25))
def test_rolling_median(x: np.ndarray, window: int) -> None:
    expected = [np.median(x[max(0, i + 1 - window) : i + 1]) for i in range(len(x))]
    np.testing.assert_allclose(rolling_median(x, window), expected)


@given(x=_series(), window=st.integers(1, 25))
def test_rolling_extreme_and_count(x: np.ndarray, window: int) -> None:
    parts = [x[max(0, i + 1 - window) : i + 1] for i in range(len(x))]
    np.testing.assert_array_equal(rolling_extreme(x, window, least=True), [p.min() for p in parts])
    np.testing.assert_array_equal(rolling_extreme(x, window, least=False), [p.max() for p in parts])
    np.testing.assert_array_equal(rolling_count(x > 0.5, window), [(p > 0.5).sum() for p in parts])


def test_start_median_grows_and_then_stays() -> None:
    x = np.array([3.0, 1.0, 2.0, 9.0, 9.0])
    np.testing.assert_array_equal(start_median(x, 3), [3, 2, 2, 2, 2])


def test_windows_of_nothing() -> None:
    nothing = np.empty(0)
    assert len(rolling_median(nothing, 5)) == 0
    assert len(start_median(nothing, 5)) == 0
    assert not spans(np.zeros(0), 1.0)


@pytest.mark.parametrize(("variant", "level"), SETTINGS)
@pytest.mark.parametrize("n", [0, 1, 2])
def test_detectors_bear_short_runs(variant: Variant, level: object, n: int) -> None:
    rows = Rows(np.ones(n), np.arange(n), dict.fromkeys(variant.roles, np.ones(n)))
    signal = variant.detector.run(rows, **variant.levels[level])  # type: ignore[index]
    assert len(signal.beyond) == n


def test_latched_holds_until_the_value_is_under_the_level_of_its_trigger() -> None:
    value = np.array([0.0, 5, 3, 3, 1, 3, 3])
    trigger = value >= 5
    flags, origin = latched(trigger, value, np.full(7, 2.0))
    assert flags.tolist() == [False, True, True, True, False, False, False]
    assert origin[3] == 1


@pytest.mark.parametrize(
    ("digits", "certainty", "expected"),
    [
        ("----333------", 3, [(4, 4, 6, False)]),
        ("----333---", 3, [(4, 4, 6, True)]),
        ("----1------", 2, []),
        ("----1-11---", 2, [(6, 7, 7, False)]),
        ("--11-11------", 2, [(2, 3, 6, False)]),
        ("--11---11--", 2, [(2, 3, 3, False), (7, 8, 8, False)]),
        ("--1111111-----", 3, [(2, 4, 8, True)]),
        ("22", 4, [(0, 1, 1, True)]),
    ],
)
def test_spans(digits: str, certainty: float, expected: list[tuple[int, int, int, bool]]) -> None:
    weight = np.array([-1.0 if c == "-" else float(c) for c in digits])
    found = spans(weight, certainty)
    assert [(s.first, s.sure, s.last, s.open) for s in found] == expected


_EXTENTS = st.builds(
    lambda least, more, share: Extent(least + more, share, least),
    st.integers(1, 8),
    st.integers(0, 30),
    st.sampled_from([0.02, 0.04, 0.1, 0.15, 0.3, 1.0]),
)


@given(size=_EXTENTS, rows=st.integers(0, 400))
def test_pieces_cover_all_rows_with_the_size_of_each(size: Extent, rows: int) -> None:
    pieces = list(size.pieces(rows))
    assert [p[0] for p in pieces[1:]] == [p[1] for p in pieces[:-1]]
    assert (pieces[0][0], pieces[-1][1]) == (0, rows) if rows else not pieces
    np.testing.assert_array_equal(size.sizes(rows), [size.at(i + 1) for i in range(rows)])
    assert all(size.least <= s <= size.most for s in size.sizes(rows))


@given(size=_EXTENTS, seed=st.integers(0, 99), rows=st.integers(1, 150))
def test_windows_of_growing_size(size: Extent, seed: int, rows: int) -> None:
    x = np.random.default_rng(seed).standard_normal(rows)
    parts = [x[max(0, i + 1 - size.at(i + 1)) : i + 1] for i in range(rows)]
    np.testing.assert_allclose(rolling_median(x, size), [np.median(p) for p in parts])
    np.testing.assert_array_equal(rolling_extreme(x, size, least=True), [p.min() for p in parts])
    np.testing.assert_array_equal(rolling_count(x > 0, size), [(p > 0).sum() for p in parts])


@given(
    certainty=st.sampled_from([2.0, 3.0, 5.0]),
    weight=st.lists(st.sampled_from([-5.0, -1.0, 1.0, 1.5, 5.0]), min_size=1, max_size=120),
)
def test_an_episode_fires_at_the_same_row_while_the_log_grows(
    certainty: float, weight: list[float]
) -> None:
    rows = np.array(weight)
    whole = {(s.first, s.sure) for s in spans(rows, certainty)}
    for count in range(1, len(rows) + 1):
        assert {(s.first, s.sure) for s in spans(rows[:count], certainty)} <= whole
