"""What changed in the verdict since the last look: fired, changed, resolved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from rltui.core.batch import RunKey
from rltui.core.level import Level, RunState
from rltui.health.crash import ExitKind
from rltui.health.model import Evidence, Finding, FindingState
from rltui.session.run import RunView
from rltui.session.session import Session

_Id = tuple[RunKey, str, str | None, int | None]


class EventKind(str, Enum):
    """What happened to a finding."""

    FIRED = "fired"
    CHANGED = "changed"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True)
class Event:
    """One change of the verdict on one run."""

    kind: EventKind
    run: RunView
    finding: Finding


class Watcher:
    """Compares reports. Owned by a command; main thread only."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: dict[_Id, Finding] = {}

    def events(self) -> list[Event]:
        """What changed since the last call, in the order of the runs."""
        found: list[Event] = []
        known: dict[_Id, Finding] = {}
        for run in self._session.runs():
            if not (run.report or run.verdict.crash) or run.data.files.reading:
                known.update({k: v for k, v in self._known.items() if k[0] == run.key})
                continue
            judged = run.report.findings if run.report else ()
            for finding in (*state_findings(run), *judged):
                identity = (run.key, finding.rule, finding.tag, finding.since_step)
                known[identity] = finding
                kind = _kind(self._known.get(identity), finding)
                if kind is not None:
                    found.append(Event(kind, run, finding))
        for k, finding in self._known.items():
            gone = self._session.views.get(k[0])
            if gone is not None and k not in known and _fires(finding):  # it is not there any more
                last = gone.data.last_step
                over = replace(finding, state=FindingState.RESOLVED, until_step=last)
                found.append(Event(EventKind.RESOLVED, gone, over))
        self._known = known
        return found


def state_findings(run: RunView) -> list[Finding]:
    """A run that stopped writing, as a finding: only a live watcher sees that happen."""
    progress = run.progress
    if progress is None or progress.state not in (RunState.STALLED, RunState.CRASHED):
        return []
    last = progress.last_step
    step = 0 if last is None else last
    evidence = Evidence("seconds since the newest write", progress.age_s, None, step, step)
    if progress.state is RunState.STALLED:
        return [_state("stalled", "Stalled", Level.WATCH, last, evidence)]
    crash = progress.exit_status
    if crash is None:
        return [_state("crashed", "Crashed", Level.BAD, last, evidence)]
    facts: dict[str, float | int | str | None] = {"reason": crash.reason, "line": crash.line}
    evidence = Evidence("how it ended", None, None, step, step, facts)
    title = "Cancelled" if crash.kind is ExitKind.CANCELLED else "Crashed"
    return [_state("crashed", title, run.verdict.exit_level, last, evidence, crash.advice)]


def _state(
    rule: str, title: str, level: Level, since: int | None, evidence: Evidence, advice: str = ""
) -> Finding:
    firing = FindingState.FIRING
    return Finding(
        rule, title, level, firing, None, None, since, None, None, evidence, None, advice
    )


def _kind(before: Finding | None, now: Finding) -> EventKind | None:
    if _fires(now):
        if before is None or not _fires(before):
            return EventKind.FIRED
        return EventKind.CHANGED if before.level is not now.level else None
    if before is not None and _fires(before):
        return EventKind.RESOLVED
    return None


def _fires(finding: Finding) -> bool:
    return finding.state is FindingState.FIRING
