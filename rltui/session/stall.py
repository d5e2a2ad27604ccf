"""A run that stopped writing, as a finding: only a live watcher sees that happen."""

from __future__ import annotations

from dataclasses import replace

from rltui.core.level import Level, RunState, worst
from rltui.health.model import Evidence, Finding, FindingState, Report
from rltui.health.stalled import stall_rule
from rltui.session.progress import Progress


def with_stall(report: Report, progress: Progress) -> Report:
    """``report`` with the finding that the run is stalled, or without it when it is not; the same
    object when nothing changes. It stands behind all that fires: the state of the run shows it
    already, and it must not hide what went wrong before."""
    known = stall_rule()
    held = [f for f in report.findings if f.rule == known.rule.id]
    if (progress.state is RunState.STALLED) == bool(held):
        return report
    rules = tuple(f for f in report.findings if f.rule != known.rule.id)
    if held:
        level = worst(f.level for f in rules if f.state is FindingState.FIRING)
        level = max(level, Level.OK) if report.judged else level
        return replace(report, findings=rules, level=level)
    findings = (*report.firing(), _finding(progress), *report.resolved())
    return replace(report, findings=findings, level=max(report.level, known.level))


def _finding(progress: Progress) -> Finding:
    known, step = stall_rule(), progress.last_step or 0
    facts: dict[str, float | int | str | None] = {
        "interval_s": progress.interval_s,
        "limit_s": progress.quiet_s,
    }
    evidence = Evidence(
        "seconds since the newest write", progress.age_s, progress.quiet_s, step, step, facts
    )
    return Finding(
        known.rule.id, known.rule.title, known.level, FindingState.FIRING, None, None,
        progress.last_step, progress.written_at, None, evidence, None, known.advice,
    )  # fmt: skip
