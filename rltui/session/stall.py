"""A run that stopped writing, as a finding: only a live watcher sees that happen."""

from __future__ import annotations

from dataclasses import replace

from rltui.catalogue.model import Category
from rltui.core.level import Level, RunState, worst
from rltui.health.model import Evidence, Finding, FindingState, Report
from rltui.health.rule import Rule
from rltui.session.progress import Progress

_ADVICE = (
    "Is the process still there, and does it use the GPU? Look at the end of its log (t), at "
    "other ranks (a collective operation that waits), the rollout or reward server, a full disk."
)
#: For lists of rules. It reads times, not rows, so it has no variant.
STALLED = Rule(
    "stalled",
    "stalled",
    Category.PROGRESS,
    "Nothing new was written for a minute, five usual intervals, and one and a half times the "
    "second longest pause so far (validation, checkpoints), yet the run has not ended. Only "
    "watch and check --follow report it, and not when the newest row is older than a day.",
    (),
)


def with_stall(report: Report, progress: Progress) -> Report:
    """``report`` with the finding that the run is stalled, or without it when it is not; the same
    object when nothing changes. It stands behind all that fires: the state of the run shows it
    already, and it must not hide what went wrong before."""
    held = [f for f in report.findings if f.rule == STALLED.id]
    if (progress.state is RunState.STALLED) == bool(held):
        return report
    rules = tuple(f for f in report.findings if f.rule != STALLED.id)
    if held:
        level = worst(f.level for f in rules if f.state is FindingState.FIRING)
        level = max(level, Level.OK) if report.judged else level
        return replace(report, findings=rules, level=level)
    findings = (*report.firing(), _finding(progress), *report.resolved())
    return replace(report, findings=findings, level=max(report.level, Level.WATCH))


def _finding(progress: Progress) -> Finding:
    step = progress.last_step or 0
    facts: dict[str, float | int | str | None] = {
        "interval_s": progress.interval_s,
        "limit_s": progress.quiet_s,
    }
    evidence = Evidence(
        "seconds since the newest write", progress.age_s, progress.quiet_s, step, step, facts
    )
    return Finding(
        STALLED.id, STALLED.title, Level.WATCH, FindingState.FIRING, None, None, progress.last_step,
        progress.written_at, None, evidence, None, _ADVICE,
    )  # fmt: skip
