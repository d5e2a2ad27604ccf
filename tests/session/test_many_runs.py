"""What thousands of runs cost does not grow with those that nothing happens to.

Verdicts take the main thread for a bounded time.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rltui.core.batch import RunKey
from rltui.core.level import Level
from rltui.session import Session, judging
from tests.builders import START, read_session
from tests.bytecodes import bytecodes
from tests.clock import ManualClock
from tests.commands.conftest import write_jsonl
from tests.fakes import FakeReader, a_session, grpo_batch, grpo_tags, judged_before_the_newest_row


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


def test_rows_that_come_while_others_are_judged_wait_for_the_pause() -> None:
    """Else many live runs would be judged without end."""
    session, judged = waiting_runs(3), list[RunKey]()
    for _ in range(2000):
        session.judge.mark(session.run_list.all)
        judged += session.judge.judge(pace=True)
        if len(judged) >= 3 and not session.judge.unfinished:
            break
    assert sorted(judged) == sorted(session.run_list.all)
    assert session.judge.waiting
    assert not session.judge.judge(pace=True), "all rest"
    session.clock.advance(10)  # type: ignore[attr-defined]
    session.judge.judge(pace=True)
    assert session.judge.unfinished, "and are judged again"


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


class SlowClock(ManualClock):
    """Each look at it takes some time: whatever is timed takes long."""

    def monotonic(self) -> float:
        self.advance(0.015)
        return super().monotonic()


@pytest.fixture
def session(tmp_path: Path) -> Session:
    for name in ("a", "b", "c"):
        write_jsonl(tmp_path / "logs" / f"{name}.jsonl", grpo_tags(60, collapse=None))
    return read_session([tmp_path / "logs"], clock=SlowClock())


def pulls(session: Session) -> int:
    """Judge with pauses until all is done; how many times it took."""
    count = 1
    session.judge.judge(pace=True)
    while session.judge.waiting:
        count += 1
        session.judge.judge(pace=True)
    return count


def test_a_new_reference_is_judged_bit_by_bit(session: Session) -> None:
    first, other, _ = session.runs()
    session.reference.choose(first)
    session.judge.judge(pace=True)
    assert session.judge.unfinished, "there is more to do"
    assert other.reference is None, "not judged with it yet"
    assert other.report is not None, "the last verdict holds"
    assert other.report.reference is None
    assert pulls(session) > 3
    assert not session.judge.unfinished
    assert other.reference is first
    assert other.report.reference == first.name


def test_bit_by_bit_the_verdict_is_the_same(session: Session) -> None:
    first, other, _ = session.runs()
    session.reference.choose(first)
    session.judge.judge()
    at_once = other.report
    session.reference.choose(None)
    session.judge.judge()
    session.reference.choose(first)
    pulls(session)
    assert other.report == at_once


def test_no_rule_waits_after_the_last_row(tmp_path: Path) -> None:
    def write(rows: int) -> None:
        values = [0.1 + 0.001 * (n % 7) for n in range(rows)]
        write_jsonl(tmp_path / "run.jsonl", {"actor/grad_norm": values, "actor/entropy": values})

    write(6000)
    session = read_session([tmp_path], clock=ManualClock())
    assert not session.unsettled
    write(6003)
    session.read_all()
    assert session.runs()[0].data.table.logged("actor/entropy") == 6003
    assert session.unsettled
    session.finish()
    assert not session.unsettled


@pytest.mark.parametrize("value", [math.nan, 7.0])
def test_a_row_newer_than_the_verdict_takes_the_tick(value: float) -> None:
    assert judged_before_the_newest_row().verdict.tag_level("actor/ppo_kl") is Level.OK
    run = judged_before_the_newest_row(**{"actor/ppo_kl": value})
    assert run.report.tags["actor/ppo_kl"].level is Level.OK
    assert run.verdict.tag_level("actor/ppo_kl") is Level.UNSURE
    assert run.verdict.judgement("actor/ppo_kl").doubt
    assert run.verdict.categories[run.infos["actor/ppo_kl"].category] is Level.UNSURE
    assert (run.verdict.level, run.verdict.mark) == (Level.OK, Level.UNSURE)
