"""What happened to a run on the axis of its charts, and many curves as one.

How evenly the work lies on ranks, and what waiting for the fullest one costs.
"""

import math

import numpy as np
import pytest

from rltui.draw.line import plain
from rltui.draw.metric_chart import chart_lines
from rltui.draw.view import View
from rltui.facts.timing import Load, loads
from rltui.facts.x_axis import bundle, timeline
from rltui.session import JudgedRun
from tests.builders import START, Tags, a_batch, a_block
from tests.fakes import FakeReader, a_session


def the_run(tags: Tags, walls: list[float] | None = None) -> JudgedRun:
    block = a_block(tags, walls=walls)
    return a_session(a_batch(block)).runs()[0]


def marks(run: JudgedRun) -> list[tuple[int, str]]:
    return [(h.step, h.letter) for h in timeline(run)]


LOSS = {"actor/pg_loss": [0.1] * 40, "actor/entropy": [1.0] * 40}


def test_evaluations_and_checkpoints() -> None:
    every = [1.0 if s % 10 == 0 else None for s in range(1, 41)]
    saved = [2.0 if s == 25 else None for s in range(1, 41)]
    run = the_run({**LOSS, "val-core/gsm8k/acc/mean@4": every, "timing_s/save_checkpoint": saved})
    assert marks(run) == [(10, "v"), (20, "v"), (25, "c"), (30, "v"), (40, "v")]


def test_a_setting_that_jumps_is_marked_and_a_schedule_is_not() -> None:
    jumping = [1e-6] * 20 + [1e-4] * 20
    warming = [i * 1e-6 for i in range(1, 41)]
    assert marks(the_run({**LOSS, "actor/lr": jumping})) == [(21, "l")]
    assert marks(the_run({**LOSS, "actor/lr": warming})) == []


def test_a_jump_is_found_in_what_is_appended() -> None:
    reader = FakeReader()
    session = a_session(a_batch({**LOSS, "actor/lr": [1e-6] * 40}), reader=reader)
    (run,) = session.runs()
    assert marks(run) == []
    reader.queue.append(a_batch(a_block({"actor/lr": [1e-4, 1e-4]}, first=41)))
    session.drain()
    assert marks(run) == [(41, "l")]


def test_a_pause_of_the_log_is_marked() -> None:
    walls = [START + 10 * s + (3600 if s >= 30 else 0) for s in range(1, 41)]
    assert marks(the_run(LOSS, walls)) == [(30, "s")]


def test_what_ceased_to_be_finite_is_marked_under_every_chart() -> None:
    run = the_run({**LOSS, "actor/grad_norm": [1.0] * 30 + [float("nan")] * 10})
    assert (31, "N") in marks(run)
    foot = plain(chart_lines(run, "actor/entropy", View(), 60, 16)[-1])
    assert foot.startswith("events")
    assert foot.rstrip().endswith("N")


NAN = np.nan


def test_runs_logged_at_the_same_steps_are_taken_as_they_are() -> None:
    x = np.array([10.0, 20.0, 30.0])
    found = bundle([(x, np.array([1.0, 2.0, 3.0])), (x, np.array([3.0, 4.0, 5.0]))])
    assert found.x.tolist() == [10, 20, 30]
    assert found.mean.tolist() == [2, 3, 4]
    low, high = found.extremes()
    assert (low.tolist(), high.tolist()) == ([1, 2, 3], [3, 4, 5])
    below, above = found.spread()
    assert above - found.mean == pytest.approx(np.sqrt(2))
    assert below == pytest.approx(2 * found.mean - above)


def test_a_run_counts_only_where_it_has_points() -> None:
    long = np.arange(1000.0), np.zeros(1000)
    short = np.arange(500.0), np.ones(500)
    found = bundle([long, short])
    assert found.mean[0] == 0.5
    assert found.mean[-1] == 0.0
    assert np.isnan(found.values[1][found.x > 510]).all()


def test_values_that_are_not_finite_are_left_out() -> None:
    x = np.arange(4.0)
    found = bundle([(x, np.array([1.0, NAN, np.inf, 4.0])), (x, np.array([NAN] * 4))])
    assert len(found.values) == 1
    assert found.mean[[0, -1]].tolist() == [1, 4]
    assert bundle([(x, np.array([NAN] * 4))]) is None
    assert bundle([]) is None


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
AFTER: Tags = {"global_seqlen/balanced_min": [90.0] * N, "global_seqlen/balanced_max": [125.0] * N}


def the_loads(tags: Tags) -> list[Load]:
    run: JudgedRun = a_session(a_batch(a_block(tags))).runs()[0]
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
