"""A run as it was at an earlier step."""

from typing import Any

import pytest

from rltui.core.batch import Restart
from rltui.core.level import RunState
from rltui.session import JudgedRun, Session
from tests.builders import a_batch, steps
from tests.fakes import FakeReader, a_session, grpo_batch, grpo_clock


def state(run: JudgedRun) -> dict[str, Any]:
    """All that a screen shows of a run."""
    return {
        "values": {t: run.shown(t).values.tolist() for t in run.infos},
        "levels": {t: run.verdict.tag_level(t) for t in run.infos},
        "findings": run.report.findings,
        "diagnoses": [d.symptom.id for d in run.report.diagnosed.diagnoses],
        "level": run.verdict.level,
        "last": (run.progress.last_step, run.progress.elapsed_s, run.progress.total_steps),
    }


def replayed(*batches: Any, clock: Any = None) -> tuple[Session, JudgedRun]:
    session = a_session(*batches, clock=clock or grpo_clock())
    return session, session.runs()[0]


def at(session: Session, run: JudgedRun, step: int) -> dict[str, Any]:
    session.replay.goto(run, step)
    assert session.replay.judge()
    return state(run)


@pytest.mark.parametrize("step", [1, 30, 44, 48, 60])
def test_a_replay_says_what_a_session_says_that_read_no_more(step: int) -> None:
    session, run = replayed(grpo_batch(60, total=100))
    found = at(session, run, step)
    (then,) = a_session(grpo_batch(step, total=100), clock=grpo_clock(step, 0.0)).runs()
    assert found == state(then)


def test_a_run_that_is_over_is_live_at_an_earlier_step() -> None:
    session, run = replayed(grpo_batch(60), clock=grpo_clock(60, 100 * 3600.0))
    assert run.progress.state is not RunState.LIVE
    at(session, run, 30)
    assert run.progress.state is RunState.LIVE


def test_a_step_that_came_twice_is_shown_as_it_was_the_last_time() -> None:
    again = a_batch(Restart(40), steps(40, {"loss": [9.0] * 20}))
    session, run = replayed(a_batch(steps(1, {"loss": [1.0] * 50})), again)
    session.replay.goto(run, 45)
    series = run.series("loss")
    assert series.values[-6:].tolist() == [9.0] * 6
    assert series.old_points[0].tolist() == [40, 41, 42, 43, 44, 45]
    assert run.data.last_step == 45
    session.replay.goto(run, 30)
    assert run.series("loss").old_points[0].tolist() == []
    assert run.data.extent.restarts == ()


def test_a_run_without_steps_cannot_be_replayed() -> None:
    reader = FakeReader()
    session = a_session(reader=reader)
    reader.feed(a_batch(steps(1, {"loss": [1.0]}), more=True))
    session.drain()
    with pytest.raises(ValueError, match="still being read"):
        session.replay.goto(session.runs()[0], 1)
    assert session.replay.run is None
