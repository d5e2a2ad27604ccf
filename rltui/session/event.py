"""Changes of the verdict since the last look: fired, changed or resolved; and the loop that follows
a session: ``check --follow``, ``serve-metrics``, ``rltui.follow``."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import field
from enum import Enum
from typing import NamedTuple

from rltui.core.address import PIPE
from rltui.core.batch import RunKey
from rltui.core.level import Level, RunState
from rltui.core.record import record
from rltui.health.model import Evidence, Finding, FindingState, Numbers, Report
from rltui.session.progress import Progress
from rltui.session.run import JudgedRun
from rltui.session.session import Session

#: Rule ids of how a run ended, which no document has.
CRASHED = "crashed"
FINISHED = "finished"

#: Rule, title and first step: the tag of a finding is the worst of several and may change.
_Id = tuple[str, str, int | None]


class EventKind(str, Enum):
    """Change of a finding, or of the state of a run."""

    FIRED = "fired"
    CHANGED = "changed"
    RESOLVED = "resolved"
    FINISHED = "finished"
    """It has ended: at its planned steps, or without any that are known."""
    CRASHED = "crashed"
    """It crashed, was cancelled, or stopped before its planned steps."""
    STALLED = "stalled"
    GOAL = "goal"
    """It has met a condition of the user for the first time."""

    @property
    def is_of_finding(self) -> bool:
        """Whether it is about a finding, not about the run as a whole."""
        return self in (EventKind.FIRED, EventKind.CHANGED, EventKind.RESOLVED)


#: Rules on the state of a run -> the change that they tell of.
_STATES = {
    CRASHED: EventKind.CRASHED,
    "stopped": EventKind.CRASHED,
    FINISHED: EventKind.FINISHED,
    "stalled": EventKind.STALLED,
}


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


#: Words of the states in which a run has ended as it was to.
_ENDED = (RunState.FINISHED.value, RunState.STOPPED.value)


@record
class _Seen:
    """Last seen state of a run."""

    report: Report | None = None
    end: Finding | None = None
    has_ended: bool = False
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
        self._alive: set[RunKey] = set()
        """Runs that were at work during the watch."""
        self._asked: set[RunKey] = set()
        """Runs whose goals were looked at."""
        self._reached: set[tuple[RunKey, str]] = set()
        """Goals that runs have reached."""

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
        end = end_of(run)
        if not (report or end) or run.data.files.reading:
            return []
        if is_at_work(run, self._begun_at):
            self._alive.add(run.key)

        events = [] if run.data.unloaded else list(self._goals_of(run))
        seen = self._seen.get(run.key, _Seen())
        if seen.report is report and seen.end == end:
            return events
        findings = (*(report.findings if report else ()), *((end,) if end else ()))
        by_identity = {_identity(f): f for f in findings}
        now = _Seen(report, end, run.verdict.has_ended, by_identity, run.data.last_step)
        self._seen[run.key] = now
        changes = list(_changes(seen, now))
        if seen.report is None:
            return [*events, *first_events(run, changes, self._begun_at)]
        changes += _passed(seen, now)
        # what had ended before may be found out only now
        is_told = run.key in self._alive or not now.has_ended
        events += [Event(k, run, found, k.is_of_finding or is_told) for k, found in changes]
        return events

    def _goals_of(self, run: JudgedRun) -> Iterator[Event]:
        """Yield the goals that a run has reached; of a run that is seen for the first time they
        are new if it began after the watch."""
        known = run.progress
        began_at = known and (known.written_at or 0.0) - (known.elapsed_s or 0.0)
        is_new = run.key in self._asked or is_piped(run) or (began_at or 0.0) >= self._begun_at
        self._asked.add(run.key)
        for text, meets in self._session.goals.items():
            words = "" if (run.key, text) in self._reached else meets(run)
            if words:
                self._reached.add((run.key, text))
                facts: Numbers = {"reason": text, "line": words}
                goal = state_finding(run, EventKind.GOAL.value, text, Level.OK, facts)
                yield Event(EventKind.GOAL, run, goal, is_new)


def is_piped(run: JudgedRun) -> bool:
    """Whether all of a run comes from standard input."""
    return set(run.data.files.sources) == {PIPE}


def is_at_work(run: JudgedRun, since: float) -> bool:
    """Whether a run is written now, or was after a time (seconds since the epoch)."""
    progress = run.progress
    if progress is None:
        return False
    newest = max(progress.written_at or 0.0, run.data.files.modified or 0.0)
    return is_piped(run) or run.is_live or progress.held is True or newest >= since


def first_events(
    run: JudgedRun, changes: Iterable[tuple[EventKind, Finding]], begun_at: float
) -> Iterator[Event]:
    """Yield the changes that the first report of a run makes.

    Only what happened after the watch began is new: the newest write tells it of an end, the time
    of its first row of all else. What comes from a pipe is new, with or without times.
    """
    for kind, finding in changes:
        at = finding.since_wall_time
        is_new = is_piped(run)
        if finding.rule in (CRASHED, FINISHED):
            at = None if run.progress is None else run.progress.written_at
            is_new = True
        yield Event(kind, run, finding, is_new if at is None else at >= begun_at)


def end_of(run: JudgedRun) -> Finding | None:
    """The end of a run as a finding, where that is known and no rule tells of it. One that just
    stopped has ended if no more steps were planned."""
    verdict = run.verdict
    crash = verdict.crash
    known = run.progress
    word = verdict.state_word
    facts: Numbers = {"reason": word}
    if crash is not None:
        rule, level, advice = CRASHED, verdict.exit_level, crash.advice
        facts = {"reason": crash.reason, "line": crash.line}
    elif run.report is None or known is None or word not in _ENDED:
        return None
    else:
        rule, level, advice = FINISHED, verdict.level, ""
        if known.total_steps and known.state is RunState.STOPPED:
            return None
    return state_finding(run, rule, word, level, facts, advice)


def state_finding(
    run: JudgedRun, rule: str, title: str, level: Level, facts: Numbers, advice: str = ""
) -> Finding:
    """A fact about a run as a whole, at its last step."""
    last = run.data.last_step
    evidence = Evidence("state of the run", None, None, last or 0, last or 0, facts)
    return Finding(
        *(rule, title, level, FindingState.FIRING, None, None, last, None, None),
        *(evidence, None, advice),
    )


def _identity(finding: Finding) -> _Id:
    """A state is the same one wherever it began: rows may come late."""
    state = _STATES.get(finding.rule)
    return (state.value, "", None) if state else (finding.rule, finding.title, finding.since_step)


def _changes(seen: _Seen, now: _Seen) -> Iterator[tuple[EventKind, Finding]]:
    """Yield each finding that fires now or no longer, or with another level."""
    before = seen.findings
    for identity, finding in now.findings.items():
        older = before.get(identity)
        fired = older is not None and _fires(older)
        if _fires(finding) and not fired:
            yield _STATES.get(finding.rule, EventKind.FIRED), finding
        elif _fires(finding) and older is not None and older.level is not finding.level:
            if finding.rule not in _STATES:  # each state is told once
                yield EventKind.CHANGED, finding
        elif fired and not _fires(finding):
            yield EventKind.RESOLVED, finding
    for identity, finding in before.items():
        if finding.rule == FINISHED or (finding.rule in _STATES and now.has_ended):
            continue  # that it goes on shows by its rows; that it has ended is told
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
