"""A run that stopped writing, as a finding of its report."""

from __future__ import annotations

from dataclasses import replace

from rltui.core.level import Level, RunState
from rltui.health.model import Report
from rltui.health.stalled import stall_rule
from rltui.session import RunView
from rltui.session.judging import with_stall
from tests.builders import a_batch, steps
from tests.fakes import a_session, grpo_tags


def a_run() -> RunView:
    tags = grpo_tags(120, collapse=61)
    (run,) = a_session(a_batch(steps(1, tags))).runs()
    return run


def stalled(run: RunView, report: Report) -> Report:
    assert run.progress is not None
    return with_stall(report, run.progress._replace(state=RunState.STALLED), stall_rule())


def going_on(run: RunView, report: Report) -> Report:
    assert run.progress is not None
    return with_stall(report, run.progress._replace(state=RunState.LIVE), stall_rule())


def test_all_findings_stay_once_and_in_their_order() -> None:
    """Also with a cause at watch in front of a bad effect."""
    run = a_run()
    assert run.report is not None
    first, *rest = run.report.firing()
    report = replace(run.report, findings=(first._replace(level=Level.WATCH), first, *rest))
    found = stalled(run, report).findings
    assert [f for f in found if f.rule != "stalled"] == list(report.findings)
    assert found[len(report.firing())].rule == "stalled"
    assert going_on(run, stalled(run, report)) == report


def test_a_run_that_no_rule_judged_is_not_ok_after_a_stall() -> None:
    run = a_run()
    assert run.report is not None
    none = Level.UNKNOWN
    unjudged = replace(run.report, findings=(), judged=(), level=none, calm=none)
    assert stalled(run, unjudged).level is Level.WATCH
    assert going_on(run, stalled(run, unjudged)).level is Level.UNKNOWN
