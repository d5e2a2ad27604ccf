"""What is reason enough to stop a run, and for how long it must hold."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rltui.core.batch import Batch
from rltui.session.guarding import Held, Hold, Reason, first_held, reason_to_stop, rehearsed
from tests.builders import a_batch, a_block, steps
from tests.fakes import a_session, grpo_batch, grpo_clock, grpo_tags


def reason_in(*batches: Batch) -> Reason | None:
    (run,) = a_session(*batches, clock=grpo_clock()).runs()
    return reason_to_stop(run.report)


def with_nan(rows: int, first: int, last: int | None = None) -> Batch:
    """A run whose loss is not finite from one step on, up to another one."""
    tags = grpo_tags(rows)
    until = rows if last is None else last
    tags["actor/pg_loss"][first - 1 : until] = [math.nan] * (until - first + 1)
    return a_batch(steps(1, tags))


REASON = reason_in(with_nan(60, 40))


def test_numbers_that_are_not_finite_are_a_reason() -> None:
    assert (REASON.diagnosis.symptom.id, REASON.finding.since_step) == ("not_finite", 40)


def test_a_technical_sign_is_none_however_bad() -> None:
    (run,) = a_session(grpo_batch(60, collapse=40), clock=grpo_clock()).runs()
    assert [f.rule for f in run.report.firing() if f.level.word == "bad"]
    assert reason_to_stop(run.report) is None


def with_fallen_reward(rows: int, collapse: int | None) -> Batch:
    """A run whose reward is lost at step 60; ``collapse``: the step of an entropy collapse."""
    tags = grpo_tags(rows, collapse=collapse)
    for tag in ("critic/score/mean", "critic/rewards/mean"):
        tags[tag] = [0.6 + 0.01 * (s % 3) if s < 60 else 0.05 + 0.01 * (s % 3) for s in range(rows)]
    return a_batch(steps(1, tags))


def test_a_poor_outcome_is_a_reason_beside_a_technical_sign_only() -> None:
    (run,) = a_session(with_fallen_reward(120, None), clock=grpo_clock()).runs()
    assert "reward_drop" in {f.rule for f in run.report.firing() if f.level.word == "bad"}
    assert reason_to_stop(run.report) is None
    found = reason_in(with_fallen_reward(120, 50))
    assert found.finding.rule in {"reward_drop", "reward_flat_no_learning"}
    assert found.sign.symptom.id == "entropy_collapse"


@pytest.mark.parametrize("batch", [grpo_batch(60, collapse=None), with_nan(60, 20, 22)])
def test_a_healthy_run_gives_none_nor_what_is_over(batch: Batch) -> None:
    assert reason_in(batch) is None


def test_without_a_verdict_there_is_none() -> None:
    assert reason_to_stop(None) is None


# -- the hold --------------------------------------------------------------------------------


def test_a_reason_must_hold_for_rows_without_a_gap() -> None:
    held = Held(Hold(rows=3))
    said = [held.look(r, row, 0.0) for row, r in enumerate([REASON, REASON, None] + [REASON] * 4)]
    assert said == [False] * 6 + [True]


def test_a_reason_must_hold_for_a_time() -> None:
    held = Held(Hold(seconds=60.0))
    looks = [(5, 100.0), (6, 159.0), (7, 160.0)]
    assert [held.look(REASON, rows, at) for rows, at in looks] == [False, False, True]


def test_time_alone_confirms_nothing() -> None:
    held = Held(Hold(seconds=60.0))
    looks = [(5, 100.0), (5, 900.0), (6, 901.0)]
    assert [held.look(REASON, rows, at) for rows, at in looks] == [False, False, True]


def test_a_resumed_run_begins_anew() -> None:
    held = Held(Hold(rows=10))
    assert not held.look(REASON, 50, 0.0)
    assert not held.look(REASON, 42, 0.0)
    assert [held.look(REASON, rows, 0.0) for rows in (51, 52)] == [False, True]


def row_by_row(reasons: Sequence[bool], times: Sequence[float], hold: Hold) -> int | None:
    held = Held(hold)
    looks = (held.look(REASON if r else None, n, times[n]) for n, r in enumerate(reasons))
    return next((n for n, due in enumerate(looks) if due), None)


PACES = st.lists(st.sampled_from([0.0, 1.0, 7.0]), min_size=80, max_size=80)


@given(
    st.lists(st.tuples(st.booleans(), st.integers(1, 25)), max_size=8),
    PACES,
    st.one_of(
        st.integers(0, 20).map(lambda n: Hold(rows=n)),
        st.integers(1, 20).map(lambda n: Hold(seconds=float(n))),
    ),
)
def test_a_recorded_run_is_stopped_where_a_look_at_each_row_would_stop_it(
    spells: list[tuple[bool, int]], paces: list[float], hold: Hold
) -> None:
    reasons = [there for there, rows in spells for _ in range(rows)][:80]
    times = np.cumsum(paces)[: len(reasons)]
    assume(all(hold.end(n, times) - n < 40 for n in range(len(times))))  # else in strides
    found = first_held(lambda n: REASON if reasons[n] else None, times, hold)
    assert (None if found is None else found[1]) == row_by_row(reasons, times.tolist(), hold)


@pytest.mark.parametrize(("begun", "most"), [(10_000, 22), (4_321, 85)])
def test_a_guard_looks_at_few_rows(begun: int, most: int) -> None:
    asked: list[int] = []

    def reason(row: int) -> Reason | None:
        asked.append(row)
        return REASON if row >= begun else None

    found = first_held(reason, np.zeros(10_000), Hold(rows=500))
    assert (found is None) == (begun == 10_000)
    assert found is None or (begun <= found[0] < begun + 25 and found[1] == found[0] + 500)
    assert len(asked) <= most


# -- recorded runs ---------------------------------------------------------------------------


def test_a_recorded_run_is_judged_as_it_was() -> None:
    session = a_session(with_nan(60, 20), clock=grpo_clock())
    (run,) = session.runs()
    found = rehearsed(session, run, Hold(rows=10))
    assert not isinstance(found, str)
    assert (found.begun, found.step, found.rows_left, found.last_step) == (20, 30, 30, 60)
    session.replay.end()
    assert run.data.last_step == 60


def test_rows_without_times_cannot_be_held_for_minutes() -> None:
    tags = {tag: x for tag, x in grpo_tags(60).items() if not tag.startswith(("perf", "timing"))}
    untimed = a_block(tags, walls=[math.nan] * 60)
    session = a_session(a_batch(untimed), clock=grpo_clock())
    (run,) = session.runs()
    with pytest.raises(ValueError, match="no times"):
        rehearsed(session, run, Hold(seconds=60.0))


def test_minutes_are_those_of_the_rows() -> None:
    session = a_session(with_nan(60, 20), clock=grpo_clock())  # a step a second
    (run,) = session.runs()
    found = rehearsed(session, run, Hold(seconds=6.0))
    assert not isinstance(found, str)
    assert (found.begun, found.step) == (20, 26)


@pytest.mark.parametrize(
    ("last", "hold", "words"),
    [
        (24, Hold(rows=10), "held 8 of 10 rows"),  # as many finite ones end it
        (60, Hold(seconds=60.0), "held 0.7 of 1 min"),
        (19, Hold(rows=10), "no reason held for 10 rows"),
    ],
)
def test_a_reason_that_held_too_short_is_told(last: int, hold: Hold, words: str) -> None:
    session = a_session(with_nan(60, 20, last), clock=grpo_clock())
    (run,) = session.runs()
    assert rehearsed(session, run, hold) == words
