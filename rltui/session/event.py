"""Changes of the verdict since the last look: fired, changed or resolved; and the loop that follows
a session: ``check --follow``, ``serve-metrics``, ``rltui.follow``."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator, Mapping
from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from rltui.core.address import PIPE
from rltui.core.batch import RunKey
from rltui.core.record import record
from rltui.health.model import Evidence, Finding, FindingState, Numbers, Report
from rltui.session.progress import Progress
from rltui.session.run import JudgedRun
from rltui.session.session import Session

if TYPE_CHECKING:
    from rltui.health.crash import ExitStatus

#: Rule id of how a run ended, which no document has.
CRASHED = "crashed"

#: Rule, title and first step: the tag of a finding is the worst of several and may change.
_Id = tuple[str, str, int | None]


class EventKind(str, Enum):
    """Change of a finding."""

    FIRED = "fired"
    CHANGED = "changed"
    RESOLVED = "resolved"


class Event(NamedTuple):
    """One change of the verdict on one run."""

    kind: EventKind
    run: JudgedRun
    finding: Finding
    is_news: bool = True
    """Whether it happened while the run was watched: False for what was found in a run that had
    been written before."""

    @property
    def identity(self) -> tuple[RunKey, str, str, int | None]:
        """Which finding of which run it is about."""
        return (self.run.key, *_identity(self.finding))


@record
class _Seen:
    """Last seen state of a run."""

    report: Report | None = None
    crash: ExitStatus | None = None
    findings: Mapping[_Id, Finding] = field(default_factory=dict)
    last_step: int | None = None


class Watcher:
    """Compares reports. Owned by a command; main thread only."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._begun_at = session.clock.now()
        self._seen: dict[RunKey, _Seen] = {}
        self._looked: dict[RunKey, tuple[int, Progress | None]] = {}
        """Version and progress of each run at the last call."""

    def events(self) -> list[Event]:
        """List the changes since the last call, in the order of the runs."""
        found: list[Event] = []
        for run in self._session.run_list.in_order(now=True):
            with run.isolate_faults("changes could not be told"):
                found += self._events_of(run)
        return found

    def _events_of(self, run: JudgedRun) -> list[Event]:
        looked = self._looked.get(run.key)
        if looked is not None and looked[0] == run.version and looked[1] is run.progress:
            return []
        self._looked[run.key] = run.version, run.progress
        report = run.report
        crash = run.verdict.crash
        if not (report or crash) or run.data.files.reading:
            return []
        seen = self._seen.get(run.key, _Seen())
        if seen.report is report and seen.crash is crash:
            return []
        findings = list(report.findings) if report else []
        if crash is not None:  # the end of a run that crashed or was cancelled, as a finding
            last = run.data.last_step
            facts: Numbers = {"reason": crash.reason, "line": crash.line}
            evidence = Evidence("how it ended", None, None, last or 0, last or 0, facts)
            end = Finding(
                CRASHED, crash.kind.value, run.verdict.exit_level, FindingState.FIRING, None, None,
                last, None, None, evidence, None, crash.advice,
            )  # fmt: skip
            findings.insert(0, end)
        now = _Seen(report, crash, {_identity(f): f for f in findings}, run.data.last_step)
        self._seen[run.key] = now
        changes = list(_changes(seen, now))
        if seen.report is not None:
            changes += _passed(seen, now)
            return [Event(kind, run, finding, True) for kind, finding in changes]

        # Of the first report of a run only what happened after the watch began is new: the newest
        # write tells it of an end, the time of its first row of all else. What comes from a pipe
        # is new, with or without times.
        progress = run.progress
        is_piped = set(run.data.files.sources) == {PIPE}
        events = []
        for kind, finding in changes:
            if finding.rule == CRASHED:
                at = None if progress is None else progress.written_at
                undated = True
            else:
                at = finding.since_wall_time
                undated = is_piped
            is_new = undated if at is None else at >= self._begun_at
            events.append(Event(kind, run, finding, is_new))
        return events


def _identity(finding: Finding) -> _Id:
    return finding.rule, finding.title, finding.since_step


def _changes(seen: _Seen, now: _Seen) -> Iterator[tuple[EventKind, Finding]]:
    """Yield each finding that fires now or no longer, or with another level."""
    before = seen.findings
    for identity, finding in now.findings.items():
        older = before.get(identity)
        fired = older is not None and _fires(older)
        if _fires(finding) and not fired:
            yield EventKind.FIRED, finding
        elif _fires(finding) and older is not None and older.level is not finding.level:
            yield EventKind.CHANGED, finding
        elif fired and not _fires(finding):
            yield EventKind.RESOLVED, finding
    for identity, finding in before.items():
        if identity not in now.findings and _fires(finding):  # it is not there any more
            over = finding._replace(state=FindingState.RESOLVED, until_step=now.last_step)
            yield EventKind.RESOLVED, over


def _passed(seen: _Seen, now: _Seen) -> Iterator[tuple[EventKind, Finding]]:
    """Yield each finding that began after the last look and is over already, like a NaN in a single
    row."""
    for identity, finding in now.findings.items():
        since = finding.since_step
        last = seen.last_step
        if identity in seen.findings or _fires(finding) or since is None:
            continue
        if last is not None and since > last:
            yield EventKind.RESOLVED, finding


def _fires(finding: Finding) -> bool:
    return finding.fires


#: Seconds between checks of ages: a run that stalls writes nothing that would wake this loop.
_LOOK_S = 1.0


def updates(
    session: Session, stop: threading.Event | None = None, wake: threading.Event | None = None
) -> Generator[None, None, None]:
    """Start a session and yield whenever its runs are up to date, until all input has ended or
    ``stop`` is set; then end its reader.

    Yields about once a second, sooner with news or when ``wake`` is set. ``stop`` is noticed within
    a second.
    """
    news = threading.Event() if wake is None else wake
    session.reader.on_batch = news.set
    session.start()

    try:
        while stop is None or not stop.is_set():
            ended = session.reader.ended  # read first: what came before the end is still drained
            session.drain()
            if ended and not session.busy:
                session.finish()
            session.refresh_progress()
            yield
            if ended and not session.busy and not session.unsettled:
                return
            if not session.busy and not session.judge.unfinished:
                news.wait(_LOOK_S)
            news.clear()
    finally:
        session.stop()


def changes(session: Session, stop: threading.Event | None = None) -> Generator[Event, None, None]:
    """Yield changes of the verdict; ends as :func:`updates` does."""
    watcher = Watcher(session)
    for _ in updates(session, stop):
        yield from watcher.events()
