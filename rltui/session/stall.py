"""A run that stopped writing, as a finding of its report."""

from __future__ import annotations

from dataclasses import replace

from rltui.core.level import RunState
from rltui.health.model import Evidence, Finding, FindingState, Report
from rltui.health.stalled import StallRule
from rltui.session.progress import Progress


def with_stall(
    report: Report, progress: Progress, known: StallRule, *, watches: bool = True
) -> Report:
    """``report`` with the finding that the run is stalled, or without it when it is not; the same
    object when nothing changes. It stands behind all that fires: the state of the run shows it
    already, and it must not hide what went wrong before. A single look (``watches`` is false) finds
    nothing, but such a run is not ok either."""
    held = next((f for f in report.findings if f.rule == known.rule.id), None)
    stalled = progress.state is RunState.STALLED
    if held is None and (not stalled or not watches):
        level = report.level_with(report.findings)
        level = max(level, known.level) if stalled else level
        return report if level is report.level else replace(report, level=level)
    rules = tuple(f for f in report.findings if f.rule != known.rule.id)
    if stalled:
        found = _finding(progress, known)
        if found == held:
            return report
        before = replace(report, findings=rules)
        level = max(report.level, known.level)
        return replace(report, findings=(*before.firing(), found, *before.over()), level=level)
    return replace(report, findings=rules, level=report.level_with(rules))


def _finding(progress: Progress, known: StallRule) -> Finding:
    step, limit = progress.last_step or 0, progress.quiet_s
    age = max(progress.age_s or 0.0, limit)  # the age that is shown is rounded down
    facts: dict[str, float | int | str | None] = {
        "interval_s": progress.interval_s,
        "limit_s": limit,
    }
    evidence = Evidence("seconds since the newest write", age, limit, step, step, facts)
    return Finding(
        known.rule.id, known.rule.title, known.level, FindingState.FIRING, None, None,
        progress.last_step, progress.written_at, None, evidence, None, known.advice,
    )  # fmt: skip
