"""Opens logdirs and keeps the judged runs up to date."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from rltui.config import Config
from rltui.core.batch import Note, RunKey
from rltui.core.clock import Clock, SystemClock
from rltui.core.errors import SourceError
from rltui.core.level import Level
from rltui.core.text import clean
from rltui.formats.words import words
from rltui.health.job_log import JobLogs
from rltui.remote import Wishes, open_reader
from rltui.session.choice import Choice, check_choice
from rltui.session.comparison import ReferenceRun, Wanted
from rltui.session.documents import open_catalogue
from rltui.session.hold import Hold
from rltui.session.intake import Intake, Takers
from rltui.session.judging import Judging
from rltui.session.meaning import Interpreter
from rltui.session.memory import TOO_MUCH, Memory
from rltui.session.mutes import Mutes
from rltui.session.naming import Naming, logdir_labels
from rltui.session.pins import Pins
from rltui.session.reach import Reach, Search
from rltui.session.replay import Replay
from rltui.session.run import RunView
from rltui.session.run_filter import RunFilter
from rltui.session.sorted_runs import SortedRuns
from rltui.session.texts import TextLimit, Texts
from rltui.session.vitals import Vitals
from rltui.sources.discovery.run_files import RunFiles
from rltui.sources.follow.reader import Reader
from rltui.sources.follow.reading import Reading
from rltui.store import Changes, RunData

#: Time spent on taking batches in per tick of the app, so that keys stay quick while gigabytes
#: are read, seconds.
_DRAIN_S = 0.03
#: Batches between two reads of the clock.
_BATCHES = 4


class Session:
    """Owned by the main thread. ``start`` puts the reader on a thread; all else stays here.

    The public members are the life cycle of the reader, the pump of the app, and the runs with
    the trouble in reading them: the one object that commands and screens talk to.
    """

    def __init__(
        self,
        logdirs: Sequence[Path],
        config: Config | None = None,
        *,
        choice: Choice | None = None,
        clock: Clock | None = None,
        reader: Reading | None = None,
        pipe: int = 0,
    ) -> None:
        config, choice = config or Config(), choice or Choice()
        self.clock = clock or SystemClock()
        self.logdirs = tuple(logdirs)
        self.labels = logdir_labels(self.logdirs)
        """Names of the logdirs for people."""
        self._partial = choice.partial
        self._naming = Naming(self.labels, choice.run_glob)
        self._views: dict[RunKey, RunView] = {}
        self._filter = RunFilter(self._naming)
        self._hold: Hold | None = None
        self.busy = False
        """Whether the last drain ended for want of time, not of batches."""
        self._catalogue = open_catalogue(config)
        check_choice(choice, self._catalogue)
        self._interpreter = Interpreter(self._catalogue, config, choice.framework, choice.algorithm)
        self._judging = Judging(config, self._catalogue, self._interpreter, self._views, self.clock)
        custom = config.rules
        if custom.mute or custom.override or custom.add or config.rule_files:
            self.prepare()
        self._reader = reader or self._new_reader(config, choice, pipe)
        self._reach = Reach(self._reader, self.logdirs, self.clock)
        reader = self._reader
        budget = config.watch.memory_bytes
        plan = self._catalogue.roles.total_steps
        self._vitals = Vitals(logdirs, self._views, self.clock, plan, self._judging.renew)
        self._memory = Memory(budget, self._views, reader.read_again, reader.rereadable)
        asked = self._new_view, self._before_growing
        takers = Takers(self._memory, self._interpreter, self._judging, *asked)
        self._intake = Intake(self._views, takers, self.clock)
        apart = partial(_read_apart, config=config, choice=choice)
        wanted = Wanted(choice.reference, self.logdirs, self._naming, apart)
        self.reference = ReferenceRun(wanted, self._judging, choice.align, lambda: self._hold)
        """The run that all others are compared with."""
        self.mutes = Mutes(lambda: (*self._views.values(), *self.views.values()))
        """Findings that the user does not want to see, in all runs."""
        stall = self._judging.stall_limits
        self.replay = Replay(self, lambda: self._judging.prepare().apart(), stall)
        """A run as it was at an earlier step."""
        self.pins = Pins()
        """What the user pinned, in all runs."""
        self._text_limit = TextLimit()
        self._live = False
        self._by_key, self._now_by_key = SortedRuns(), SortedRuns()

    def _new_reader(self, config: Config, choice: Choice, pipe: int) -> Reading:
        wishes = Wishes(
            clock=self.clock,
            verify=choice.verify,
            watch=config.watch,
            choose=self._naming.choose,
            wants=self._naming.wants if choice.run_glob is not None else None,
            step_keys=(*words().step_keys, *self._catalogue.step_keys()),
            pipe=pipe,
            ends=JobLogs(),
            waits=choice.waits,
            partial=choice.partial,
            later=choice.later,
            absent=choice.absent,
        )
        return open_reader(self.logdirs, wishes)

    def prepare(self) -> None:
        """Load the rules. Done by the first verdict, unless the user has rules of their own: a
        mistake in these stops the start. Raises DocumentError."""
        self._judging.prepare()

    # -- reading ---------------------------------------------------------------------------

    def scan(self) -> None:
        """Look for runs once, and read the reference run if it lies elsewhere. Raises SourceError
        for a path that cannot be a log, UsageError for a reference that is no run. What is searched
        later, see :class:`Choice`, raises its errors in :meth:`drain`."""
        self._reader.scan()
        unread = () if self._partial else self._reader.unread
        if unread:
            self._reader.stop()
            raise SourceError(f"{clean(str(unread[0].path))}: {unread[0].message}")
        self.reference.read_apart()

    @property
    def found(self) -> tuple[RunFiles, ...] | None:
        """The runs of the last search with their files; None where another process has them."""
        return self._reader.found if isinstance(self._reader, Reader) else None

    def adopt(self, runs: Sequence[RunFiles]) -> None:
        """Read these runs, which another session :attr:`found`, instead of searching for some."""
        assert isinstance(self._reader, Reader)
        self._naming.choose([run.key for run in runs])
        self._reader.adopt(runs)

    def names_of(self, keys: Sequence[RunKey]) -> list[str]:
        """Names of runs for people, also of runs that another session read."""
        for key in keys:
            self._naming.add(key)
        return [self._naming.name_of(key) for key in keys]

    def read_all(self, *, judge: bool = True) -> None:
        """Read every file to its end and judge every run (headless commands); without ``judge``
        only where runs must be unloaded."""
        for batch in self._reader.read_all():
            self._intake.apply(batch)
            if not batch.more and self._memory.is_full:
                if judge or self._memory.exceeded:
                    self._judging.judge()
                self._memory.enforce(self.clock.monotonic())
        self.reference.find(self._views)
        if self.reference.waits:
            raise self.reference.missing(self.runs())
        if judge:
            self._judging.judge()
            self._vitals.take_turn(self._views.values(), live=False)

    def start(self) -> None:
        """Read and watch on a thread of its own until :meth:`stop`."""
        self._live = True
        self._reach.start()
        self._reader.start()

    def on_news(self, call: Callable[[], None]) -> None:
        """Have ``call`` called from the reader thread whenever something may be drained."""
        self._reader.on_batch = call

    def stop(self) -> None:
        """End the reader thread, a replay and a hold."""
        self.replay.end()
        self.release()
        self._reader.stop()

    @property
    def ended(self) -> bool:
        """Whether nothing can come any more: only pipes were read, and they were closed."""
        return self._reader.ended

    def drain(self, budget_s: float = _DRAIN_S, *, verdicts: bool = True) -> Changes:
        """Take in what the reader has produced, for about ``budget_s``; judge what changed.

        Without ``verdicts`` the judging waits for another call.
        """
        changes, end = Changes(), self.clock.monotonic() + budget_s
        while True:
            batches = self._reader.drain(_BATCHES)
            for batch in batches:
                changes |= self._intake.apply(batch)
            changes |= self._load_some()
            self.busy = len(batches) == _BATCHES or self._memory.busy
            if not self.busy or self.clock.monotonic() >= end:
                break
        if self.reference.waits and changes:
            self.reference.find(self._views)
        changes |= Changes(self._judging.judge(verdicts=verdicts, pace=self._live))
        if self._memory.is_full and self._memory.enforce(self.clock.monotonic()):
            changes |= Changes(frozenset(self._views))
        if not (self.busy or self.unsettled):
            self._memory.release()
        return changes

    def finish(self) -> None:
        """Judge what waits for more rows, after the last of them."""
        self._judging.judge(last=True)

    @property
    def unsettled(self) -> bool:
        """Whether something waits for the next drain though the reader has no news: a verdict,
        points that are read again."""
        return self._judging.waiting or self._memory.waits

    @property
    def judging(self) -> bool:
        """Whether verdicts are being made that took too long for one drain."""
        return self._judging.unfinished

    def refresh_progress(self) -> bool:
        """Update ages and states to the present time; returns whether anything shown changed.

        What cannot be reached stays as it was: nobody knows whether it goes on.
        """
        told = self._reach.renew()
        # before the ages: a run that has stopped is never called stalled in between
        near = [r for r in self._judging.recent if r.key.logdir not in self._reach.lost]
        told |= self._vitals.take_turn(near, live=self._live)
        return self._judging.refresh_ages(self._reach.lost) or told

    def reading(self) -> float | None:
        """Share of the known bytes that has been read, or None when all has been."""
        done, known = self._reader.progress()
        if not self._intake.unread and (known <= done or self._views):
            return None
        return min(1.0, done / known) if known else None

    # -- runs ------------------------------------------------------------------------------

    @property
    def views(self) -> Mapping[RunKey, RunView]:
        """The runs to show, by key."""
        return self._filter.shown(self._views if self._hold is None else self._hold.shown)

    def chooses(self, keys: Iterable[RunKey]) -> set[RunKey]:
        """Those of the runs, which another session read, that ``--run`` means."""
        return self._filter.chosen(keys)

    def runs(self) -> list[RunView]:
        """The runs to show, in the order of their keys."""
        return self._by_key.of(self.views)

    def runs_now(self) -> list[RunView]:
        """The runs as they are by now, also during a :meth:`hold`."""
        return self._now_by_key.of(self._filter.shown(self._views))

    def hold(self) -> None:
        """Let the runs to show stand still; their logs are read and judged further."""
        if self._hold is None:
            self._hold = Hold(self._views)
            self._now_by_key.forget()
            self._judging.swap(self._hold.twin)

    def release(self) -> None:
        """End the :meth:`hold`: the runs to show are as they are by now."""
        hold, self._hold = self._hold, None
        if hold is not None:
            hold.end(self._views)
            self._now_by_key.forget()
            self._judging.swap(hold.original)

    @property
    def run_count(self) -> int:
        """Runs that are known, read or not."""
        hidden = len(self._filter.hidden)
        return max(self._reader.run_count - hidden, len(self._views) - hidden)

    def look_at(self, view: RunView) -> None:
        """Note that a screen shows this run: its points stay in memory."""
        self._memory.shown(view.key, self.clock.monotonic())

    def judge_first(self, runs: Iterable[RunKey]) -> None:
        """Judge these runs before others that wait: they are on the screen."""
        self._judging.look_at(runs)

    @property
    def notes(self) -> tuple[Note, ...]:
        """Trouble that concerns no single run: unreadable directories, hosts out of reach."""
        return self._reach.notes

    @property
    def unmatched(self) -> str:
        """Says that ``--run`` matches none of the runs that were found; else empty."""
        return self._naming.missed

    @property
    def out_of_reach(self) -> tuple[Path, ...]:
        """Logdirs on hosts and servers that cannot be reached now."""
        return self._reader.out_of_reach

    def instead(self, logdir: Path) -> Path | None:
        """The address by which a logdir is read in the place of its own; None for its own."""
        return self._reader.instead(logdir)

    @property
    def unread(self) -> tuple[Note, ...]:
        """Logdirs that cannot be read though their hosts can be reached: missing, no log."""
        return self._reader.unread

    @property
    def awaited(self) -> Mapping[Path, Path | None]:
        """Logdirs that do not exist yet, with what is there under nearly the same name."""
        return self._reach.awaited

    @property
    def searching(self) -> tuple[Search, ...]:
        """The logdirs that are being searched for the first time."""
        return self._reach.searching

    @property
    def faults(self) -> list[str]:
        """What rltui itself failed in, for which run."""
        runs = self._filter.shown(self._views).values()
        return [f"{run.name}: {fault.text}" for run in runs for fault in run.faults.values()]

    def troubles(self) -> list[Note]:
        """Everything that could not be read as it is, of all runs and directories."""
        shown = self._filter.shown(self._views).values()
        found = [note for view in shown for note in view.troubles]
        if self._memory.over:
            found.insert(0, Note(self.logdirs[0], None, Level.WATCH, TOO_MUCH))
        if self._live and self.reference.waits and self.reading() is None:
            missing = str(self.reference.missing(self.runs()))
            found.insert(0, Note(self.logdirs[0], None, Level.WATCH, missing))
        failed = [n for n in self.notes if n.level >= Level.WATCH]
        told = {note.path for note in failed}
        return [*failed, *(n for n in self._reader.unclaimed if n.path not in told), *found]

    # -- taking in -------------------------------------------------------------------------

    def _new_view(self, data: RunData) -> RunView:
        key = data.key
        data.memory.on_missing = lambda: self._missing(key)
        self._filter.take(key)
        view = RunView(data, self._naming, self._catalogue)
        view.pins = self.pins
        view.texts = Texts(self._text_limit)
        view.mutes = self.mutes.names
        return view

    def _before_growing(self, key: RunKey) -> None:
        if self._hold is not None:
            self._hold.before_growing(key)

    def _load_some(self) -> Changes:
        """Go on with reading a run again whose points were unloaded."""
        key, held = self._memory.step(self.clock.monotonic())
        changes = Changes() if key is None else Changes(frozenset({key}))
        for batch in held:
            changes |= self._intake.apply(batch)
        return changes

    def _missing(self, key: RunKey) -> None:
        """Load a run whose points are needed: soon, or at once for a headless command."""
        if self._live:
            self._memory.want(key)
            return
        for batch in self._memory.load(key):
            self._intake.apply(batch)
        self._memory.enforce(self.clock.monotonic())


def _read_apart(path: Path, config: Config, choice: Choice) -> list[RunView]:
    """The runs at a path that is not among the logdirs, read whole."""
    session = Session([path], config, choice=replace(choice, run_glob=None, reference=None))
    session.scan()
    session.read_all()
    return session.runs()
