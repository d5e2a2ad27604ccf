"""No tick where the newest rows contradict it. A report without what the user muted."""

import math

import pytest

from rltui.catalogue import load_catalogue
from rltui.catalogue.model import TagInfo
from rltui.core.level import Level
from rltui.facts.sentences import healthy
from rltui.health.badges import doubt, reading
from rltui.health.model import Judgement, Limit, MutedFinding
from rltui.health.muting import without_muted
from rltui.session import JudgedRun
from tests.builders import a_batch, a_run, steps
from tests.fakes import a_session, blown_up_tags, grpo_batch, grpo_clock

METRICS = load_catalogue().metrics
OK = Judgement(Level.OK)
RISE = [s / 20 for s in range(20)]


def doubted(key: str, values: list[float], judgement: Judgement = OK) -> str:
    info = TagInfo.of_metric(key, METRICS[key])
    return doubt(info, a_run({key: values}).series(key), judgement)


@pytest.mark.parametrize("key", ["val.dpo.accuracy", "rm.accuracy"])
def test_an_accuracy_below_chance_gets_no_tick(key: str) -> None:
    assert doubted(key, [0.6] * 10 + [0.45] * 3) == "below chance (0.5)"
    assert doubted(key, [0.6] * 13) == ""
    tags = {"eval/rewards/margins": [0.02 - x for x in RISE * 2], "train/rewards/margins": RISE * 2}
    (run,) = a_session(a_batch(tags)).runs()
    margin = run.verdict.judgement("eval/rewards/margins")
    assert (margin.level, margin.doubt, healthy(margin)) == (Level.UNSURE, "below chance (0)", "")


def test_a_share_of_nothing_gets_no_tick() -> None:
    assert doubted("val.accuracy.token", [0.1] * 10 + [0.0] * 3) == "not one is right"


def test_a_value_that_is_not_finite_gets_no_tick() -> None:
    assert doubted("entropy", [1.0, 1.0, math.nan]) == "the newest value is not finite"


def test_a_value_outside_its_range_gets_no_tick() -> None:
    pending = Judgement(Level.OK, (Limit(Level.WATCH, high=0.1),), pending=True)
    assert doubted("kl.old_new", [0.01, 0.2], pending).startswith("the newest value is outside")


def test_a_published_range_is_named_where_rules_allow_more() -> None:
    judged, shown = Judgement(Level.OK, (Limit(Level.WATCH, low=0.01),), rules=("r",)), {}
    values = {"explained_variance": 0.5, "ratio.mean": 1.5, "clipfrac.value": 0.4, "mfu.actor": 0.9}
    run = a_run({key: [x] * 9 for key, x in values.items()})
    for key in values:
        limit = reading(TagInfo.of_metric(key, METRICS[key]), run.series(key), judged).published
        shown[key] = None if limit is None else limit.shown
    assert list(shown.values()) == [(0.8, None), (0.8, 1.2), (None, 0.2), None]


@pytest.mark.parametrize("key", ["reward.mean", "val.accuracy", "episode_return.mean"])
def test_a_gain_that_is_lost_gets_no_tick_within_three_rows(key: str) -> None:
    assert doubted(key, [*RISE, *[0.95] * 20]) == ""
    assert "of its gain" in doubted(key, [*RISE, *[0.95] * 20, 0.1, 0.1, 0.1])


def test_noise_and_a_small_dip_keep_their_tick() -> None:
    noisy = [math.sin(7.0 * s) for s in range(60)]
    assert doubted("reward.mean", noisy) == ""
    assert doubted("reward.mean", [*RISE, *[0.95] * 20, 0.8, 0.8, 0.8]) == ""


def test_a_newest_row_far_below_those_before_it_takes_the_tick() -> None:
    noisy = [x + 0.01 * math.sin(7.0 * n) for n, x in enumerate([*RISE, *[0.95] * 20])]
    assert doubted("reward.mean", noisy) == ""
    assert doubted("reward.mean", [*noisy, 0.7]).startswith("it has just lost")
    assert doubted("reward.mean", [*noisy, 0.7, 0.94]) == ""


def test_a_loss_that_falls_is_no_lost_gain() -> None:
    assert doubted("loss.value", RISE[::-1]) == ""


@pytest.mark.parametrize("key", ["grad_norm.actor", "reward.std", "advantage.max"])
def test_a_learning_signal_that_vanished_gets_no_tick(key: str) -> None:
    assert doubted(key, [1.0] * 20) == ""
    assert doubted(key, [1.0] * 20 + [0.01] * 5) == "the signal has vanished: 1.0% of its start"
    assert doubted("kl.old_new", [1.0] * 20 + [0.01] * 5) == ""
    assert doubted("advantage.mean", [1.0] * 20 + [0.01] * 5) == ""


def a_collapse() -> JudgedRun:
    (run,) = a_session(grpo_batch(60), clock=grpo_clock()).runs()
    assert run.report.level is Level.BAD
    return run


def names(run: JudgedRun) -> set[MutedFinding]:
    return {MutedFinding.of(f) for f in run.report.findings}


def test_nothing_muted_is_the_same_report() -> None:
    run = a_collapse()
    assert run.report is not None
    assert without_muted(run.report, ()) is run.report
    other = MutedFinding("no_rule", "no title")
    assert without_muted(run.report, {other}) is run.report


def test_without_all_its_findings_a_run_is_ok() -> None:
    run = a_collapse()
    report = without_muted(run.report, names(run))
    assert report.level is Level.OK
    assert report.findings == ()
    assert report.muted == run.report.findings
    assert report.diagnosed.diagnoses == ()
    assert report.diagnosed.moves == ()
    assert max(judged.level for judged in report.tags.values()) <= Level.UNSURE


def test_a_muted_alarm_leaves_no_tick() -> None:
    run = a_collapse()
    name = MutedFinding.of(next(f for f in run.report.firing() if f.tag == "actor/entropy"))
    report = without_muted(run.report, {name})
    others = [f.level for f in report.firing() if f.tag == "actor/entropy"]
    assert report.tags["actor/entropy"].level is max(others, default=Level.UNKNOWN)
    assert run.report.tags["actor/entropy"].level is Level.BAD


def a_high_rate() -> JudgedRun:
    """KL blows up at row 40 of a run whose learning rate is far from usual."""
    tags = blown_up_tags([0.5] * 60)
    (run,) = a_session(a_batch(steps(1, tags)), clock=grpo_clock()).runs()
    return run


def test_a_setting_is_no_longer_blamed_for_what_is_muted() -> None:
    run = a_high_rate()
    tag = "actor/lr"
    assert run.report.diagnosed.blamed == {tag: run.report.level}
    assert run.report.tags[tag].level is run.report.level
    report = without_muted(run.report, names(run))
    assert report.diagnosed.blamed == {}
    assert report.tags[tag].level is Level.UNKNOWN
    assert report.unblamed == {}
    assert max(judged.level for judged in report.tags.values()) <= Level.UNSURE


def test_what_is_left_keeps_its_level_and_a_story_of_its_own() -> None:
    run = a_collapse()
    assert run.report is not None
    for name in names(run):
        report = without_muted(run.report, {name})
        assert report.level is max((f.level for f in report.firing()), default=Level.OK)
        diagnosed = [f for d in report.diagnosed.diagnoses for f in d.findings]
        assert all(f in report.findings for f in diagnosed)
        stories = report.diagnosed.stories()
        assert sum(map(len, stories)) == len(report.diagnosed.diagnoses)


def test_a_session_mutes_for_all_runs_also_those_to_come() -> None:
    session = a_session(grpo_batch(60), clock=grpo_clock())
    (run,) = session.runs()
    version = run.version
    session.run_list.mutes.replace(names(run))
    assert run.version > version
    assert run.verdict.level is Level.OK
    session.run_list.hold()
    assert run.verdict.level is Level.OK
    assert session.run_list.in_order(now=True)[0].verdict.level is Level.OK
    session.run_list.mutes.replace(())
    assert run.verdict.level is Level.BAD
    session.run_list.release()
    assert run.verdict.level is Level.BAD
