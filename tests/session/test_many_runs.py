"""What thousands of runs cost does not grow with those that nothing happens to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rltui.core.batch import RunKey
from rltui.session import Session, judging
from tests.builders import START
from tests.bytecodes import bytecodes
from tests.clock import ManualClock
from tests.fakes import FakeReader, a_session, grpo_batch
from tests.session.test_judging import SlowClock


def waiting_runs(count: int) -> Session:
    """A session with runs that have been read, not judged."""
    reader = FakeReader(*(grpo_batch(30, run=f"run-{n:03d}", collapse=None) for n in range(count)))
    session = a_session(reader=reader, clock=SlowClock())
    while session.drain(verdicts=False) or session.busy:
        pass
    return session


def counted(monkeypatch: pytest.MonkeyPatch, name: str) -> list[Any]:
    """The first argument of each call of a function of the module."""
    calls: list[Any] = []
    real: Callable[..., Any] = getattr(judging, name)

    def call(first: Any, *rest: Any, **options: Any) -> Any:
        calls.append(first)
        return real(first, *rest, **options)

    monkeypatch.setattr(judging, name, call)
    return calls


def test_runs_in_sight_are_judged_first() -> None:
    session = waiting_runs(9)
    wanted = [RunKey(0, "run-007"), RunKey(0, "run-004")]
    session.judge.in_sight = (*wanted, RunKey(0, "not there"))
    judged: list[RunKey] = []
    while len(judged) < 3:
        judged += session.judge.judge(pace=True)
    assert judged == [*wanted, RunKey(0, "run-000")]


def test_ticks_cost_the_same_for_few_and_many_runs() -> None:
    few, many = waiting_runs(4), waiting_runs(40)
    for session in (few, many):
        session.runs()
    assert bytecodes(few.runs) == bytecodes(many.runs)
    assert bytecodes(few.reading) == bytecodes(many.reading)
    assert bytecodes(lambda: few.drain(verdicts=False)) == bytecodes(
        lambda: many.drain(verdicts=False)
    )


def test_ages_of_old_runs_are_updated_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [grpo_batch(30, run=f"old-{n}", collapse=None) for n in range(9)]
    day = 86_400.0
    young = grpo_batch(30, run="young", first=round(3 * day / 20), collapse=None)
    clock = ManualClock(START + 3 * day + 700)
    session = a_session(*batches, young, clock=clock)
    session.refresh_progress()
    assert [r.progress and r.progress.age_s for r in session.runs()[:1]] == [3 * day]
    looks = counted(monkeypatch, "aged")
    for _ in range(4):
        clock.advance(10.0)
        session.refresh_progress()
    assert len(looks) == 4
    clock.advance(day)
    assert session.refresh_progress()
    assert [r.progress and r.progress.age_s for r in session.runs()[:1]] == [4 * day]
    assert len(looks) == 14
