"""Levels to show: what rules found, and what newer rows say against it."""

from __future__ import annotations

import math

import pytest

from rltui.core.level import Level
from tests.fakes import judged_before_the_newest_row

KL = "actor/ppo_kl"


@pytest.mark.parametrize("value", [math.nan, 7.0])
def test_a_row_newer_than_the_verdict_takes_the_tick(value: float) -> None:
    assert judged_before_the_newest_row().verdict.tag_level(KL) is Level.OK
    verdict = judged_before_the_newest_row(**{KL: value}).verdict
    assert verdict.judgement(KL).level is Level.OK
    assert verdict.tag_level(KL) is Level.UNKNOWN
    assert verdict.doubt(KL)
