"""Levels to show: what rules found, and what newer rows say against it."""

from __future__ import annotations

import math

import pytest

from rltui.core.level import Level
from rltui.session import RunView
from tests.builders import a_batch, a_source, steps
from tests.fakes import FakeReader, a_session, grpo_clock, grpo_tags

KL = "actor/ppo_kl"


def judged_before(**newest: float) -> RunView:
    """A healthy run that was judged, and one row after that."""
    reader = FakeReader()
    session = a_session(reader=reader, clock=grpo_clock())
    reader.feed(a_batch(steps(1, grpo_tags(60))))
    session.drain()
    row = {t: v for t, v in grpo_tags(1, 61).items()} | {t: [v] for t, v in newest.items()}
    reader.feed(a_batch(steps(61, row), source=a_source(offset=2000, size=2000)))
    session.drain(verdicts=False)
    (run,) = session.runs()
    assert run.data.last_step == 61
    return run


@pytest.mark.parametrize("value", [math.nan, 7.0])
def test_a_row_newer_than_the_verdict_takes_the_tick(value: float) -> None:
    assert judged_before().verdict.tag_level(KL) is Level.OK
    verdict = judged_before(**{KL: value}).verdict
    assert verdict.judgement(KL).level is Level.OK
    assert verdict.tag_level(KL) is Level.UNKNOWN
    assert verdict.doubt(KL)
