"""How evenly the work lies on ranks, and what waiting for the fullest one costs."""

from __future__ import annotations

import math

import pytest

from rltui.facts.timing import Load, loads
from rltui.session import RunView
from tests.builders import Tags, a_batch, a_block
from tests.fakes import a_session

N = 20
STEP: Tags = {
    "timing_s/gen": [4.0] * N,
    "timing_s/ref": [1.0] * N,
    "timing_s/update_actor": [3.0] * N,
    "timing_s/step": [10.0] * N,
    "actor/pg_loss": [0.1] * N,
}
BEFORE: Tags = {
    "global_seqlen/min": [60.0] * N,
    "global_seqlen/mean": [100.0] * N,
    "global_seqlen/max": [200.0] * N,
}
AFTER: Tags = {
    "global_seqlen/balanced_min": [90.0] * N,
    "global_seqlen/balanced_max": [125.0] * N,
}


def the_loads(tags: Tags) -> list[Load]:
    run: RunView = a_session(a_batch(a_block(tags))).runs()[0]
    return loads(run)


def test_stages_wait_for_the_fullest_rank_after_balancing() -> None:
    after, before = the_loads({**STEP, **BEFORE, **AFTER})
    assert (after.title, after.low, after.mean, after.high) == (
        "after balancing", 90.0, 100.0, 125.0,
    )  # fmt: skip
    assert after.excess == pytest.approx(0.25)
    assert after.wait == pytest.approx((1 + 3) * (1 - 100 / 125))
    assert (before.title, before.high) == ("before balancing", 200.0)
    assert math.isnan(before.wait)


def test_without_balancing_the_raw_load_counts() -> None:
    (load,) = the_loads({**STEP, **BEFORE})
    assert load.wait == pytest.approx(4 * 0.5)


def test_times_of_workers_are_the_wait_themselves() -> None:
    tags: Tags = {"timing_s/generation_timing/max": [9.0] * N,
                  "timing_s/generation_timing/min": [5.0] * N}  # fmt: skip
    (load,) = the_loads({**STEP, **tags})
    assert (load.mean, load.wait) == (7.0, 2.0)


def test_a_load_with_one_end_is_none() -> None:
    assert the_loads({**STEP, "global_seqlen/max": [1.0] * N}) == []
    assert the_loads({**BEFORE, "global_seqlen/min": [math.nan] * N}) == []
