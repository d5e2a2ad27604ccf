"""A report without what the user muted."""

from __future__ import annotations

from rltui.core.level import Level
from rltui.health.model import MutedFinding
from rltui.health.muting import without_muted
from rltui.session import RunView
from tests.builders import a_batch, steps
from tests.fakes import a_session, grpo_batch, grpo_clock, grpo_tags


def a_collapse() -> RunView:
    (run,) = a_session(grpo_batch(60), clock=grpo_clock()).runs()
    assert run.report is not None
    assert run.report.level is Level.BAD
    return run


def names(run: RunView) -> set[MutedFinding]:
    assert run.report is not None
    return {MutedFinding.of(f) for f in run.report.findings}


def test_nothing_muted_is_the_same_report() -> None:
    run = a_collapse()
    assert run.report is not None
    assert without_muted(run.report, run.infos, ()) is run.report
    other = MutedFinding("no_rule", "no title")
    assert without_muted(run.report, run.infos, {other}) is run.report


def test_without_all_its_findings_a_run_is_ok() -> None:
    run = a_collapse()
    assert run.report is not None
    report = without_muted(run.report, run.infos, names(run))
    assert report.level is Level.OK
    assert report.findings == ()
    assert report.muted == run.report.findings
    assert report.diagnosed.diagnoses == ()
    assert report.diagnosed.moves == ()
    assert max(report.categories.values()) is Level.OK


def test_a_muted_alarm_leaves_no_tick() -> None:
    run = a_collapse()
    assert run.report is not None
    name = MutedFinding.of(next(f for f in run.report.firing() if f.tag == "actor/entropy"))
    report = without_muted(run.report, run.infos, {name})
    others = [f.level for f in report.firing() if f.tag == "actor/entropy"]
    assert report.tags["actor/entropy"].level is max(others, default=Level.UNKNOWN)
    assert run.report.tags["actor/entropy"].level is Level.BAD


def a_high_rate() -> RunView:
    """KL blows up at row 40 of a run whose learning rate is far from usual."""
    tags = grpo_tags(60, 1, None)
    tags["actor/lr"] = [0.5] * 60
    tags["actor/ppo_kl"] = [0.001, 0.0012] * 19 + [0.001] + [3.0] * 21
    (run,) = a_session(a_batch(steps(1, tags)), clock=grpo_clock()).runs()
    return run


def test_a_setting_is_no_longer_blamed_for_what_is_muted() -> None:
    run = a_high_rate()
    assert run.report is not None
    tag = "actor/lr"
    assert run.report.diagnosed.blamed == {tag: run.report.level}
    assert run.report.tags[tag].level is run.report.level
    report = without_muted(run.report, run.infos, names(run))
    assert report.diagnosed.blamed == {}
    assert report.tags[tag].level is Level.UNKNOWN
    assert report.unblamed == {}
    assert max(report.categories.values()) is Level.OK


def test_what_is_left_keeps_its_level_and_a_story_of_its_own() -> None:
    run = a_collapse()
    assert run.report is not None
    for name in names(run):
        report = without_muted(run.report, run.infos, {name})
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
