"""Verdicts take the main thread for a bounded time."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from rltui.core.level import Level
from rltui.session import Session
from tests.clock import ManualClock
from tests.commands.conftest import write_jsonl
from tests.fakes import grpo_tags, judged_before_the_newest_row


class SlowClock(ManualClock):
    """Each look at it takes some time: whatever is timed takes long."""

    def monotonic(self) -> float:
        self.advance(0.015)
        return super().monotonic()


@pytest.fixture
def session(tmp_path: Path) -> Session:
    for name in ("a", "b", "c"):
        write_jsonl(tmp_path / "logs" / f"{name}.jsonl", grpo_tags(60, collapse=None))
    session = Session([tmp_path / "logs"], clock=SlowClock())
    session.scan()
    session.read_all()
    return session


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
        write_jsonl(tmp_path / "run.jsonl", {"actor/pg_clipfrac": values, "actor/entropy": values})

    write(6000)
    session = Session([tmp_path], clock=ManualClock())
    session.scan()
    session.read_all()
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
    verdict = judged_before_the_newest_row(**{"actor/ppo_kl": value}).verdict
    assert verdict.judgement("actor/ppo_kl").level is Level.OK
    assert verdict.tag_level("actor/ppo_kl") is Level.UNKNOWN
    assert verdict.doubt("actor/ppo_kl")
