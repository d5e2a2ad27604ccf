"""Rows add up as evidence: when an episode is certain, when it began, and when it is over."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.core.block import FloatArray
from rltui.core.level import Level
from rltui.health.cases import parse_series
from rltui.health.detectors.levels import grown, outside
from rltui.health.detectors.signal import FAINT, Rows
from rltui.health.judge import CERTAIN, SHARE, Span, episodes, found_in, spans
from tests.tables import cases

_WEIGHTS = st.lists(
    st.sampled_from([-np.inf, -5.0, -2.0, -1.0, -0.25, 0.25, 1.0, 1.5, 5.0]), max_size=200
).map(np.array)
_SHARES = st.sampled_from([0.0, 0.03, 0.05, 0.3])


@cases(__file__, "spans_sum_the_evidence_of_their_rows")
def test_spans_sum_the_evidence_of_their_rows(
    weights: str, expected: list[list[int | bool]]
) -> None:
    found = spans(parse_series(weights), 3.0)
    assert [[s.first, s.sure, s.last, s.open] for s in found] == expected


def summed(weight: FloatArray, certainty: float, share: float) -> list[Span]:
    """The definition, row by row."""
    out: list[Span] = []
    level, first, sure, last = 0.0, 0, -1, -1
    for row, worth in enumerate(weight.tolist()):
        need = max(certainty, share * (row + 1))
        if worth > 0:
            first, sure = (row, -1) if level <= 1e-6 else (first, sure)
            level, last = min(level + worth, 2 * need), row
            sure = row if sure < 0 and level >= need else sure
        elif level > 1e-6:
            level = max(level + worth * (FAINT if sure >= 0 else 1.0), 0.0)
            if level <= 1e-6 and sure >= 0:
                out.append(Span(first, sure, last, open=False))
    return [*out, Span(first, sure, last, open=True)] if level > 1e-6 and sure >= 0 else out


@given(weight=_WEIGHTS, share=_SHARES)
def test_spans_are_those_of_the_sum_row_by_row(weight: FloatArray, share: float) -> None:
    found = [span[:4] for span in spans(weight, 3.0, share)]
    assert found == [span[:4] for span in summed(weight, 3.0, share)]


@given(weight=_WEIGHTS, share=_SHARES)
def test_an_episode_is_certain_at_the_same_row_while_the_log_grows(
    weight: FloatArray, share: float
) -> None:
    whole = spans(weight, 5.0, share)
    for rows in range(len(weight)):
        begun = [(s.first, s.sure) for s in whole if s.sure < rows]
        assert [(s.first, s.sure) for s in spans(weight[:rows], 5.0, share)] == begun


@given(weight=_WEIGHTS, share=_SHARES)
def test_what_is_certain_with_a_share_is_so_without_one(weight: FloatArray, share: float) -> None:
    rows = {row for s in spans(weight, 3.0) for row in range(s.first, s.last + 1)}
    for span in spans(weight, 3.0, share):
        assert span.first <= span.sure <= span.last
        assert weight[span.first : span.sure + 1].sum() >= share * (span.sure + 1)
        assert rows >= set(range(span.first, span.last + 1))


@pytest.mark.parametrize(
    ("rows", "beyond", "level"),
    [(50, 6, "bad"), (50, 4, "watch"), (50, 3, ""), (400, 24, "bad"), (400, 16, "watch"),
     (400, 11, "")],
)  # fmt: skip
def test_an_episode_that_is_short_beside_the_run_is_none(
    rows: int, beyond: int, level: str
) -> None:
    x = np.concatenate([np.zeros(rows), np.ones(beyond)])
    signal = outside(Rows(x, np.arange(len(x))), high=1.0)  # at its limit: each row counts one
    watch, bad = episodes({Level.WATCH: signal, Level.BAD: signal})
    assert (bool(bad), bool(watch)) == (level == "bad", level != "")
    assert CERTAIN[Level.WATCH] < CERTAIN[Level.BAD]
    assert SHARE[Level.WATCH] < SHARE[Level.BAD]


@pytest.mark.parametrize(
    ("beyond", "rows", "kept"), [(5, 100, True), (5, 200, False), (9, 200, True)]
)
def test_what_is_over_is_none_once_it_is_short_beside_the_run(
    beyond: int, rows: int, kept: bool
) -> None:
    x = np.ones(rows)
    x[60 : 60 + beyond] = 2.0  # at its limit: each row counts one
    scatters = {Level.WATCH: grown(Rows(x, np.arange(rows)), factor=2.0)}
    level = {Level.WATCH: outside(Rows(x, np.arange(rows)), high=2.0)}
    assert [s.open for s in episodes(scatters)[0]] == [False]
    assert bool(found_in(scatters)[0]) == kept
    assert found_in(level)[0]


def test_far_beyond_counts_up_to_twice_and_an_event_speaks_for_itself() -> None:
    def sure(value: float, *, event: bool = False) -> list[int]:
        x = np.concatenate([np.zeros(9), np.full(9, value)])
        signal = outside(Rows(x, np.arange(18)), high=1.0, event=event)
        return [s.sure - 8 for s in episodes({Level.BAD: signal})[1]]

    assert [sure(v) for v in (0.9, 1.0, 1.5, 2.0, 1e9)] == [[], [6], [4], [3], [3]]
    assert [sure(v, event=True) for v in (1.0, 2.0, 32.0)] == [[6], [3], [1]]
