"""What changed in the verdict since the last look: fired, changed, resolved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from rltui.core.batch import RunKey
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
            for finding in (*_crashes(run), *judged):
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


def _crashes(run: RunView) -> list[Finding]:
    """The end of a run that crashed or was cancelled, as a finding."""
    crash, last = run.verdict.crash, run.data.last_step
    if crash is None:
        return []
    step = 0 if last is None else last
    facts: dict[str, float | int | str | None] = {"reason": crash.reason, "line": crash.line}
    evidence = Evidence("how it ended", None, None, step, step, facts)
    return [
        Finding(
            "crashed", crash.kind.value, run.verdict.exit_level, FindingState.FIRING, None, None,
            last, None, None, evidence, None, crash.advice,
        )
    ]  # fmt: skip


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
