"""A run that stopped writing, as a finding of its report: stalled, or stopped before its end."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from rltui.core.level import RunState
from rltui.health.model import Evidence, Finding, FindingState, Report
from rltui.health.stalled import StallRule
from rltui.session.progress import Progress


def with_stall(
    report: Report,
    progress: Progress,
    known: StallRule,
    *,
    watches: bool = True,
    mute: Collection[str] = (),
) -> Report:
    """``report`` with the finding that the run is stalled or stopped too early, or without when it
    is neither; the same object when nothing changes. It stands behind all that fires: the state of
    the run shows it already, and it must not hide what went wrong before. A single look
    (``watches`` is false) cannot find a stall, but such a run is not ok either."""
    ids = [rule.id for rule in known.rules]
    held = next((f for f in report.findings if f.rule in ids), None)
    found = _finding(progress, known)
    if found is not None and found.rule in mute:
        found = None
    told = None if found is None or not (watches or held or found.rule == ids[1]) else found
    if told == held:
        level = report.level_with(report.findings)
        level = max(level, found.level) if found is not None else level
        return report if level is report.level else replace(report, level=level)
    rules = tuple(f for f in report.findings if f.rule not in ids)
    if told is None:
        return replace(report, findings=rules, level=report.level_with(rules))
    before = replace(report, findings=rules)
    findings = (*before.firing(), told, *before.over())
    return replace(report, findings=findings, level=report.level_with(findings))


def _finding(progress: Progress, known: StallRule) -> Finding | None:
    step, at = progress.last_step or 0, (progress.last_step, progress.written_at)
    if progress.state is RunState.STALLED:
        limit = progress.quiet_s
        age = max(progress.age_s or 0.0, limit)  # the age that is shown is rounded down
        pace: dict[str, float | int | str | None]
        pace = {"interval_s": progress.interval_s, "limit_s": limit}
        evidence = Evidence("seconds since the newest write", age, limit, step, step, pace)
        rule, level, advice = known.rule, known.level, known.advice
    elif progress.state is RunState.STOPPED and progress.total_steps:
        total = progress.total_steps
        evidence = Evidence("last step", step, total, step, step, {"total_steps": total})
        rule, level, advice = known.stopped.rule, known.stopped.level, known.stopped.advice
    else:
        return None
    return Finding(
        *(rule.id, rule.title, level, FindingState.FIRING, None, None),
        *(*at, None, evidence, None, advice),
    )
