"""Limits from healthy runs: how far these go, and what is made of it."""

import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks.verdicts.labels import Label
from benchmarks.verdicts.limits import RESULT, limits_of, limits_without, reached, written
from benchmarks.verdicts.replay import Judge, Logged
from rltui.health.parameters import Farthest, Healthy, healthy
from rltui.health.rules import load_rules

JUDGE = Judge()
#: Of many origins all go as far in one rule; one of them goes farther in another one.
ORIGINS = {str(n): [{"mfu_low": 0.5, "turns_runaway": 0.5 + 0.4 * (n == 0)}] for n in range(100)}


def far_in(found: Healthy, rule: str) -> Farthest:
    return next(far for far in found.limits if far.rule == rule)


@pytest.mark.parametrize("tolerated", [(), ("throughput_drop",)])
def test_a_run_reaches_what_it_holds_with_evidence(tolerated: tuple[str, ...]) -> None:
    seconds = np.repeat([1.0, 50.0, 1.0, 2.5, 1.0], [30, 1, 30, 12, 30])  # one row is no evidence
    points = np.arange(103), np.arange(103.0), seconds
    run = Logged("x", {"timing_s/step": points, "actor/lr": points}, ("jsonl",), {})
    label = Label(Path("x"), "x", "verl", 103, True, (), frozenset(tolerated))
    found = reached(label, JUDGE, [run])
    if tolerated:
        assert "throughput_drop" not in found
    else:
        assert math.exp(found["throughput_drop"]) == pytest.approx(2.5, rel=0.1)


def test_limits_leave_room_for_what_one_origin_goes_beyond_all_others() -> None:
    found = limits_of(ORIGINS)
    mfu, turns = far_in(found, "mfu_low"), far_in(found, "turns_runaway")
    assert found.watch == 1.0  # 1 of 100 origins is within that budget, and not within 1 of 60
    assert found.bad == pytest.approx(math.exp(0.2), rel=0.01)
    assert (mfu.runs, mfu.origins) == (100, 100)
    assert turns.farthest == pytest.approx(math.exp(0.9), rel=0.05)
    assert mfu.watch == found.limits[0].watch  # no rule is nearer than the median one


def test_a_rule_without_healthy_runs_gets_the_limits_of_the_median_rule() -> None:
    found = limits_of(ORIGINS)
    assert found.of("unheard_of") == found.limits[0]
    assert found.limits[0].farthest == pytest.approx(math.exp(0.7), rel=0.06)


def test_only_the_farthest_origin_is_judged_by_other_limits() -> None:
    assert list(limits_without(ORIGINS)) == ["0"]
    without = limits_without(ORIGINS)["0"]
    assert (
        far_in(without, "turns_runaway").watch < far_in(limits_of(ORIGINS), "turns_runaway").watch
    )


def test_what_is_written_is_what_the_rules_read() -> None:
    shipped = healthy()
    assert written(shipped) == RESULT.read_text(encoding="utf-8")
    rules = {r.id: r for r in load_rules()}
    (step,) = (v for v in rules["throughput_drop"].variants if v.id.endswith(".step"))
    (rate,) = (v for v in rules["throughput_drop"].variants if v.id.endswith(".rate"))
    far = shipped.of("throughput_drop")
    assert {given["factor"] for given in step.levels.values()} == {far.watch, far.bad}
    for a, b in zip(step.levels.values(), rate.levels.values(), strict=True):
        assert a["factor"] * b["factor"] == pytest.approx(1, rel=0.02)
    assert f"{far.runs} healthy runs of {far.origins} origins" in step.sources["factor"]


def test_each_rule_with_limits_from_healthy_runs_has_been_measured() -> None:
    measured = {far.rule for far in healthy().limits}
    asked = {r.id for r in load_rules() if any(v.healthy for v in r.variants)}
    assert measured - {"any"} <= asked
    # what no healthy run at hand logs has the limit of any rule
    unlogged = "abort_high drafts_rejected engine_starved invalid_actions moe_imbalance"
    assert asked - measured <= {*unlogged.split(), "stale_data", "template_collapse"}
