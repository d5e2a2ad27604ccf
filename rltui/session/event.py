"""What changed in the verdict since the last look: fired, changed, resolved."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from rltui.core.address import PIPE
from rltui.core.batch import RunKey
from rltui.health.model import Evidence, Finding, FindingState, Report
from rltui.session.progress import Progress
from rltui.session.run import RunView
from rltui.session.session import Session

if TYPE_CHECKING:
    from rltui.health.crash import ExitStatus

#: Rule id of how a run ended, which no document has.
CRASHED = "crashed"

#: Rule, title and first step: the tag of a finding is the worst of several and may change.
_Id = tuple[str, str, int | None]


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
    is_news: bool = True
    """Whether it happened while the run was watched: False for what was found in a run that had
    been written before."""

    @property
    def identity(self) -> tuple[RunKey, str, str, int | None]:
        """Which finding of which run it is about."""
        return (self.run.key, *_identity(self.finding))


class Watcher:
    """Compares reports. Owned by a command; main thread only."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._begun_at = session.clock.now()
        self._seen: dict[RunKey, _Seen] = {}
        self._looked: dict[RunKey, tuple[int, Progress | None]] = {}
        """Version and progress of each run at the last call."""

    def events(self) -> list[Event]:
        """What changed since the last call, in the order of the runs."""
        found: list[Event] = []
        for run in self._session.runs_now():
            with run.walled("changes could not be told"):
                found += self._events_of(run)
        return found

    def _events_of(self, run: RunView) -> list[Event]:
        looked = self._looked.get(run.key)
        if looked is not None and looked[0] == run.version and looked[1] is run.progress:
            return []
        self._looked[run.key] = run.version, run.progress
        if not (run.report or run.verdict.crash) or run.data.files.reading:
            return []
        seen = self._seen.get(run.key)
        crash = run.verdict.crash
        if seen is not None and seen.report is run.report and seen.crash is crash:
            return []
        findings = (*_crashes(run), *(run.report.findings if run.report else ()))
        last_step = run.data.last_step
        now = _Seen(run.report, crash, {_identity(f): f for f in findings}, last_step)
        first = seen is None or seen.report is None
        before = seen.findings if seen is not None else {}
        changes = [*_changes(before, now.findings, run)]
        if seen is not None and not first:
            changes += _passed(seen, now.findings)
        self._seen[run.key] = now
        return [Event(k, run, f, not first or self._is_new(run, f)) for k, f in changes]

    def _is_new(self, run: RunView, finding: Finding) -> bool:
        """Whether something in the first report of a run happened after the watch began: for an
        end the newest write says it, for all else the time of its first row. What comes from a
        pipe is new, with or without times."""
        if finding.rule == CRASHED:
            return _written_at(run) >= self._begun_at
        since = finding.since_wall_time
        if since is None:
            return set(run.data.files.sources) == {PIPE}
        return since >= self._begun_at


@dataclass(frozen=True, slots=True)
class _Seen:
    """What was last seen of a run."""

    report: Report | None
    crash: ExitStatus | None
    findings: dict[_Id, Finding]
    last_step: int | None


def _written_at(run: RunView) -> float:
    at = run.progress.written_at if run.progress is not None else None
    return math.inf if at is None else at


def _identity(finding: Finding) -> _Id:
    return finding.rule, finding.title, finding.since_step


def _changes(
    before: dict[_Id, Finding], now: dict[_Id, Finding], run: RunView
) -> Iterator[tuple[EventKind, Finding]]:
    for identity, finding in now.items():
        kind = _kind(before.get(identity), finding)
        if kind is not None:
            yield kind, finding
    for identity, finding in before.items():
        if identity not in now and _fires(finding):  # it is not there any more
            over = replace(finding, state=FindingState.RESOLVED, until_step=run.data.last_step)
            yield EventKind.RESOLVED, over


def _passed(seen: _Seen, now: dict[_Id, Finding]) -> Iterator[tuple[EventKind, Finding]]:
    """What began after the last look and is over already, like a NaN in a single row."""
    for identity, finding in now.items():
        since = finding.since_step
        if identity in seen.findings or _fires(finding) or since is None:
            continue
        if seen.last_step is not None and since > seen.last_step:
            yield EventKind.RESOLVED, finding


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
            CRASHED, crash.kind.value, run.verdict.exit_level, FindingState.FIRING, None, None,
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
