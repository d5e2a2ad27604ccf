"""Opens logdirs and keeps the judged runs up to date."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rltui.catalogue import Catalogue
from rltui.config import Config
from rltui.core.address import is_remote
from rltui.core.batch import Batch, Note, RunKey
from rltui.core.clock import Clock, SystemClock
from rltui.core.errors import SourceError, UsageError
from rltui.core.fault import Fault, wall
from rltui.core.later import np
from rltui.core.level import Level
from rltui.core.text import clean
from rltui.core.yaml_document import nearest
from rltui.files.disk import hang_up
from rltui.files.trouble import MISSING
from rltui.formats.words import words
from rltui.health.configured import open_catalogue
from rltui.health.job_log import JobLogs
from rltui.remote import ReaderOptions, Reading, open_reader
from rltui.session.judging import Judge
from rltui.session.memory import TOO_MUCH, Memory
from rltui.session.naming import Naming, logdir_labels
from rltui.session.process_probe import Vitals
from rltui.session.reference import ReferenceRun
from rltui.session.replay import Replay
from rltui.session.run import Goals, JudgedRun, RunList
from rltui.session.tag_resolution import Interpreter
from rltui.sources.discovery.logdir import similar_to
from rltui.sources.discovery.run_files import RunFiles
from rltui.sources.follow.reader import Reader
from rltui.sources.options import Intervals
from rltui.store import Changes, Moved, RunData, Store

#: Time spent on taking batches in per tick of the app, so that keys stay quick while gigabytes
#: are read, seconds.
_DRAIN_S = 0.03
#: The C library keeps memory that is freed if no more than this was freed at once before; else the
#: kernel clears new pages for each array. The most that it takes into account.
_KEPT_BYTES = 31 << 20
#: Batches between two reads of the clock.
_BATCHES = 4


class Choice(NamedTuple):
    """Choices of the command line: which runs, which framework and algorithm."""

    run_glob: str | None = None
    framework: str | None = None
    algorithm: str | None = None
    verify: bool = False
    reference: str | None = None
    """Name or path of the run that the others are compared with."""
    align: str = "step"
    """Axis on which their rows are comparable: an :class:`~rltui.health.reference.Alignment`."""
    waits: bool = False
    """Whether a named log may still be empty."""
    partial: bool = False
    """Whether one of several logdirs may be missing, or no log."""
    later: bool = False
    """Whether logdirs elsewhere are searched by threads, once reading has been started."""
    absent: bool = False
    """Whether logdirs of this machine need not exist yet."""


def check_choice(choice: Choice, catalogue: Catalogue) -> None:
    """Raises UsageError for an unknown framework or algorithm."""
    if choice.framework is not None:
        catalogue.resolver(choice.framework)
    if choice.algorithm is None:
        return
    known = {a for s in catalogue.scenarios.values() for a in s.algorithms}
    known |= {m.name for s in catalogue.suspects for m in s.algorithms}
    name = choice.algorithm.strip().upper()
    if name not in known:
        message = f"unknown algorithm {choice.algorithm!r} (known: {', '.join(sorted(known))})"
        raise UsageError(message, hint=nearest(name, known))


class Session:
    """Reads the logs below some logdirs, and keeps a judged record of each run.

    Owned by the main thread; after :meth:`start` the reader has a thread of its own. Methods start,
    drain and stop the reader, and list the runs and the trouble in reading them; attributes hold
    the parts: run list, naming, reader, judge, memory.
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
        config = config or Config()
        choice = choice or Choice()
        self.clock = clock or SystemClock()
        self.logdirs = tuple(logdirs)
        self.goals: Goals = {}
        self.busy = False
        """Whether the last drain ended for want of time, not of batches."""
        self._partial = choice.partial
        self._live = False
        """Whether runs are watched, so that points that were unloaded may come a little later."""
        self._store = Store()
        self._unread: set[RunKey] = set()
        """Runs of which a file is still to be read."""
        catalogue = open_catalogue(config)
        check_choice(choice, catalogue)
        self.naming = Naming(logdir_labels(self.logdirs), choice.run_glob, choice.reference)
        """Names of runs and logdirs, and which of them ``--run`` means."""
        self.run_list = RunList(self.naming, catalogue)
        """The runs; those on screen can be frozen."""
        self.interpreter = Interpreter(catalogue, config, choice.framework, choice.algorithm)
        self.judge = Judge(
            config, catalogue, self.interpreter, self.run_list, self.clock, choice.align
        )
        """Makes the verdicts."""
        custom = config.rules
        if custom.mute or custom.override or custom.add or config.rule_files:
            self.judge.prepare()  # a mistake in rules of the user stops the start
        step_keys = (*words().step_keys, *catalogue.step_keys())
        self.reader = reader or self._new_reader(config, choice, step_keys, pipe)
        """Finds and reads the logs."""
        self.reach = LogdirStatus(self.reader, self.logdirs, self.clock)
        """Which logdirs can be read now."""
        views = self.run_list.all
        self._vitals = Vitals(logdirs, views, self.clock, self.learned)
        self.memory = Memory(config.watch.memory_bytes, views, self.reader, self.clock)
        """Which runs have their points in memory."""
        apart = partial(_read_apart, config=config, choice=choice)
        self.reference = ReferenceRun(
            choice.reference, self.logdirs, self.naming, self.run_list, self.judge, apart
        )
        """The run that all others are compared with."""
        self.replay = Replay(self.run_list, self.judge, self.clock)
        """A run as it was at an earlier step."""

    def _new_reader(
        self, config: Config, choice: Choice, step_keys: tuple[str, ...], pipe: int
    ) -> Reading:
        every = config.watch
        paces = every.fast_s, every.slow_s, every.rescan_s
        options = ReaderOptions(
            clock=self.clock,
            verify=choice.verify,
            watch=Intervals(*paces, every.inotify, every.remote_s),
            choose=self.naming.choose,
            wants=self.naming.wants if choice.run_glob is not None else None,
            step_keys=step_keys,
            pipe=pipe,
            ends=JobLogs(),
            waits=choice.waits,
            partial=choice.partial,
            later=choice.later,
            absent=choice.absent,
        )

        return open_reader(self.logdirs, options)

    # -- reading ---------------------------------------------------------------------------

    def scan(self) -> None:
        """Look for runs once, and read the reference run if it lies elsewhere. Raises SourceError
        for a path that cannot be a log, UsageError for a reference that is no run. What is searched
        later, see :class:`Choice`, raises its errors in :meth:`drain`."""
        self.reader.scan()
        unread = () if self._partial else self.reader.state.unread
        if unread:
            self.reader.stop()
            raise SourceError(f"{clean(str(unread[0].path))}: {unread[0].message}")
        self.reference.read_apart()

    @property
    def found(self) -> tuple[RunFiles, ...] | None:
        """The runs of the last search with their files; None where another process has them."""
        return self.reader.search.found.runs if isinstance(self.reader, Reader) else None

    def adopt(self, runs: Sequence[RunFiles]) -> None:
        """Read these runs, which another session :attr:`found`, instead of searching for some."""
        assert isinstance(self.reader, Reader)
        self.naming.choose([run.key for run in runs])
        self.reader.adopt(runs)

    def read_all(self, *, judge: bool = True) -> None:
        """Read every file to its end and judge every run (headless commands); without ``judge``
        only where runs must be unloaded."""
        np.empty(_KEPT_BYTES, np.uint8)
        for batch in self.reader.read_all():
            self._apply(batch)
            if not batch.more and self.memory.is_full:
                if judge or self.memory.exceeded:
                    self.judge.judge()
                self.memory.enforce()
        self.reference.find()
        if self.reference.waits:
            raise self.reference.missing()
        if judge:
            self.judge.judge()
            if self._vitals.renew(self.run_list.all.values(), live=False):
                self.judge.judge()  # by what was found beside the logs
            hang_up()

    def start(self) -> None:
        """Read and watch on a thread of its own until :meth:`stop`."""
        self._live = True
        self.reach.started = self.clock.monotonic()
        self.reader.start()

    def stop(self) -> None:
        """End the reader thread, a replay and a hold."""
        self.replay.end()
        self.run_list.release()
        self.reader.stop()

    def drain(self, budget_s: float = _DRAIN_S, *, verdicts: bool = True) -> Changes:
        """Store what the reader has produced, for about ``budget_s`` seconds; judge what changed.

        Without ``verdicts`` the judging waits for another call.
        """
        changes = Changes()
        end = self.clock.monotonic() + budget_s
        while True:
            batches = self.reader.drain(_BATCHES)
            for batch in batches:
                changes |= self._apply(batch)
            loaded, held = self.memory.step()
            if loaded is not None:
                changes |= Changes(frozenset({loaded}))
                self.interpreter.interpret(self.run_list.all[loaded])
                self.judge.mark((loaded,))  # the user may have said more meanwhile
            for batch in held:
                changes |= self._apply(batch)
            self.busy = len(batches) == _BATCHES or self.memory.busy
            if not self.busy or self.clock.monotonic() >= end:
                break
        if self.reference.waits and changes:
            self.reference.find()
        changes |= Changes(self.judge.judge(verdicts=verdicts, pace=self._live))
        if self.memory.is_full and self.memory.enforce():
            changes |= Changes(frozenset(self.run_list.all))
        if not (self.busy or self.unsettled):
            self.memory.release()

        return changes

    def finish(self) -> None:
        """Judge the rules that wait for more rows: no more will come."""
        self.judge.judge(last=True)

    @property
    def unsettled(self) -> bool:
        """Whether something waits for the next drain though the reader has no news: a verdict,
        points that are read again."""
        return self.judge.waiting or self.memory.waits

    def refresh_progress(self) -> bool:
        """Update ages and states to the present time; returns whether anything shown changed.

        What cannot be reached stays as it was: nobody knows whether it goes on.
        """
        told = self.reach.renew()
        # before the ages: a run that has stopped is never called stalled in between
        near = [r for r in self.judge.recent if r.key.logdir not in self.reach.lost]
        told |= self._vitals.renew(near, live=self._live)
        return self.judge.refresh_ages(self.reach.lost) or told

    def reading(self) -> float | None:
        """Share of the known bytes that has been read, or None when all has been."""
        done, known = self.reader.progress()
        if not self._unread and (known <= done or self.run_list.all):
            return None
        return min(1.0, done / known) if known else None

    # -- storing ---------------------------------------------------------------------------

    def _apply(self, batch: Batch) -> Changes:
        """Store a batch and update its run; a batch of an unloaded run waits until that is
        loaded."""
        if batch.sampled:
            return self._preview(batch)
        owner = self._store.key_of(batch)
        if self.memory.hold(batch, owner):
            return Changes()
        self.run_list.before_growing(owner)
        changes = Changes()
        with wall("points could not be stored", lambda fault: self._failed(batch, fault)):
            changes = self._store.apply(batch)
        grown = []

        for key in changes.runs:
            view = self._view_of(key)
            view.version += 1
            self._note_reading(view)
            if view.data.files.grew:
                view.data.files.grown.append(self.clock.now())
            if view.report is not None and batch.items:
                grown.append(key)
        self.memory.count(batch, grown)
        for key in changes.new_tags | self._learn(batch, owner, changes.moved):
            with self.run_list.all[key].isolate_faults("names could not be interpreted"):
                self.interpreter.interpret(self.run_list.all[key])
        self.judge.mark(changes.runs)

        return changes

    def learned(self, view: JudgedRun, settings: Mapping[str, object] | None = None) -> None:
        """Take in what was found beside the logs of a run; ``settings``: by a screen."""
        if settings is not None:
            view.facts = replace(view.facts, settings=settings)
        self.judge.renew(view)
        view.version += 1  # nothing that was made without them stays
        if self.interpreter.heed_settings(view) and view.key in self.run_list.all:
            self.judge.mark((view.key,))

    def _failed(self, batch: Batch, fault: Fault) -> None:
        self._store.add_run(batch.run, batch.run_path)
        self._view_of(self._store.key_of(batch)).failed(fault)

    def _learn(self, batch: Batch, owner: RunKey, moved: Iterable[Moved]) -> set[RunKey]:
        """Store hyperparameters and texts; returns the runs that have new hyperparameters."""
        news = set()
        for move in moved:
            owner = self._store.key_of(batch)
            source = self.run_list.all[move.source]
            target = self.run_list.all[move.target]
            source.texts.move(move.path, target.texts)
            if source.hyperparameters.move(move.path, target.hyperparameters):
                news |= {move.source, move.target}
        view = self._view_of(owner)
        view.texts.add(batch)
        if view.hyperparameters.add(batch):
            news.add(owner)

        return news

    def _preview(self, batch: Batch) -> Changes:
        """Show a sample of a large file until the file has been read; it enters no store."""
        data = self._store.add_run(batch.run, batch.run_path)
        view = self._view_of(batch.run)
        if data.tags:
            return Changes()  # the points that are known say more than a sample of the new ones
        data.files.expect(batch.source)
        self._note_reading(view)
        view.sample = view.sample or RunData(batch.run, batch.run_path)
        view.sample.apply(batch)
        view.version += 1
        self.interpreter.interpret(view)
        self.judge.mark((batch.run,))

        return Changes(frozenset({batch.run}), new_runs=True, new_tags=frozenset({batch.run}))

    def _note_reading(self, view: JudgedRun) -> None:
        (self._unread.add if view.data.files.reading else self._unread.discard)(view.key)

    def _view_of(self, key: RunKey) -> JudgedRun:
        view = self.run_list.all.get(key)
        if view is None:
            view = self.run_list.add(self._store.runs[key])
            view.data.on_missing = lambda: self._load(key)
        return view

    def _load(self, key: RunKey) -> None:
        """Load a run whose points are needed: soon, or at once for a headless command."""
        if self._live:
            self.memory.want(key)
            return
        for batch in self.memory.load(key):
            self._apply(batch)
        self.memory.enforce()

    # -- runs ------------------------------------------------------------------------------

    def heed(self, config: Config) -> None:
        """Judge all runs anew, by other words of the user on metrics; those without points in
        memory once they have been read again."""
        self.interpreter.config = config
        for key, view in self.run_list.all.items():
            if view.data.unloaded:
                self.memory.want(key)
            else:
                self.interpreter.interpret(view)
        self.judge.compare(self.reference.run)

    @property
    def views(self) -> Mapping[RunKey, JudgedRun]:
        """The runs to show, by key."""
        return self.run_list.shown

    def runs(self) -> list[JudgedRun]:
        """The runs to show, in the order of their keys."""
        return self.run_list.in_order()

    @property
    def run_count(self) -> int:
        """Runs that are known, read or not."""
        hidden = len(self.run_list.hidden)
        return max(self.reader.state.run_count - hidden, len(self.run_list.all) - hidden)

    @property
    def faults(self) -> list[str]:
        """Internal errors of rltui, one line each, with the name of the run."""
        runs = self.run_list.now.values()
        return [f"{run.name}: {fault.text}" for run in runs for fault in run.faults.values()]

    def troubles(self) -> list[Note]:
        """Everything that could not be read as it is, of all runs and directories."""
        found = [note for run in self.run_list.now.values() for note in run.troubles]
        if self.memory.over:
            found.insert(0, Note(self.logdirs[0], None, Level.WATCH, TOO_MUCH))
        if self._live and self.reference.waits and self.reading() is None:
            missing = str(self.reference.missing())
            found.insert(0, Note(self.logdirs[0], None, Level.WATCH, missing))
        failed = [n for n in self.reach.notes if n.level >= Level.WATCH]
        told = {note.path for note in failed}
        return [*failed, *(n for n in self.reader.state.unclaimed if n.path not in told), *found]


def _read_apart(path: Path, config: Config, choice: Choice) -> list[JudgedRun]:
    """The runs at a path that is not among the logdirs, read whole."""
    session = Session([path], config, choice=choice._replace(run_glob=None, reference=None))
    session.scan()
    session.read_all()
    return session.runs()


class Search(NamedTuple):
    """The first search of one logdir, under way."""

    logdir: Path
    connecting: bool
    """Whether its host has not answered yet."""
    seconds: float
    """Since reading was started."""


class LogdirStatus:
    """Tracks which logdirs can be read now. Owned by the session."""

    def __init__(self, reader: Reading, logdirs: Sequence[Path], clock: Clock) -> None:
        self._reader = reader
        self._logdirs = logdirs
        self._clock = clock
        self.started = clock.monotonic()
        """When reading began, monotonic seconds."""
        self._awaited = False
        """Whether something was being searched when this was last renewed."""
        self._similar: dict[Path, Path | None] = {}
        self._noted: tuple[Note, ...] = ()
        """:attr:`notes` at that time."""
        self.lost: Mapping[int, float] = {}
        """Numbers of the logdirs out of reach -> since when, in seconds since the epoch."""

    def renew(self) -> bool:
        """Update which logdirs can be reached; returns whether anything on screen changes, apart
        from :attr:`lost`."""
        noted = self._noted
        self._noted = self.notes
        state = self._reader.state
        now = self._clock.now()
        awaited = self._awaited
        self._awaited = bool(state.searching)
        since = state.out_of_reach
        lost = {n: since[p] for n, p in enumerate(self._logdirs) if p in since}
        self.lost = {n: self.lost.get(n, now) if at is None else at for n, at in lost.items()}
        return noted != self._noted or awaited or self._awaited

    @property
    def notes(self) -> tuple[Note, ...]:
        """Trouble that concerns no single run, one note for each missing logdir among it."""
        state = self._reader.state
        told = {note.path for note in state.notes if note.level >= Level.WATCH}
        return (*state.notes, *(note for note in state.unread if note.path not in told))

    @property
    def awaited(self) -> Mapping[Path, Path | None]:
        """The logdirs of this machine that do not exist yet, with what is there under nearly the
        same name."""
        missing = [n.path for n in self._reader.state.unread if n.message == MISSING]
        for path in missing:
            if path not in self._similar:
                self._similar[path] = None if is_remote(path) else similar_to(path)
        return {path: self._similar[path] for path in missing if not is_remote(path)}

    @property
    def searching(self) -> tuple[Search, ...]:
        """The logdirs that are being searched for the first time."""
        state = self._reader.state
        seconds = self._clock.monotonic() - self.started
        return tuple(Search(p, p in state.connecting, seconds) for p in state.searching)
