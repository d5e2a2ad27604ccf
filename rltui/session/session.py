"""Opens logdirs and keeps the judged runs up to date."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rltui.catalogue import Catalogue
from rltui.config import Config
from rltui.core.batch import Batch, Note, RunKey
from rltui.core.clock import Clock, SystemClock
from rltui.core.errors import UsageError
from rltui.core.level import Level
from rltui.core.text import clean
from rltui.core.yaml_document import nearest
from rltui.formats.base import STEP_KEYS
from rltui.session.derive import derive, distinguished
from rltui.session.documents import open_catalogue, open_rules, overridden
from rltui.session.hyperparameters import hyperparameters
from rltui.session.memory import Memory
from rltui.session.progress import aged, progress, renewed
from rltui.session.run import RunView
from rltui.sources.follow.reader import Reader
from rltui.store import Changes, RunData, Store

if TYPE_CHECKING:
    from rltui.health.engine import Engine

#: Time spent on taking batches in per tick of the app: keys stay quick while gigabytes are read.
_DRAIN_S = 0.03
#: After a verdict of a live run the next one waits so many times what it took, at most so many
#: seconds: a stream of steps is judged all the time, but for a hundredth of it.
_JUDGE_REST, _JUDGE_REST_S = 100.0, 2.0
#: Batches between two looks at the clock.
_BATCHES = 4
_TOO_MUCH = (
    "its points take more memory than watch.memory_bytes allows, and no run can be unloaded: "
    "they are shown, being written, or not in files that can be read again"
)


@dataclass(frozen=True, slots=True)
class Choice:
    """What the command line fixed: which runs, which framework and algorithm."""

    run_glob: str | None = None
    framework: str | None = None
    algorithm: str | None = None
    verify: bool = False


class Session:
    """Owned by the main thread. ``start`` puts the reader on a thread; all else stays here."""

    def __init__(
        self,
        logdirs: Sequence[Path],
        config: Config | None = None,
        *,
        choice: Choice | None = None,
        clock: Clock | None = None,
        reader: Reader | None = None,
        pipe: int = 0,
    ) -> None:
        self.config = config or Config()
        self.clock = clock or SystemClock()
        self.logdirs = tuple(logdirs)
        self._choice = choice or Choice()
        self.catalogue: Catalogue = open_catalogue(self.config)
        if self._choice.framework is not None:
            self.catalogue.resolver(self._choice.framework)
        if self._choice.algorithm is not None:
            self._check_algorithm(self._choice.algorithm)
        self._judging: Engine | None = None
        said = self.config.rules
        if said.mute or said.override or said.add or self.config.rule_files:
            self.prepare()
        self._reader = reader or Reader(
            self.logdirs,
            clock=self.clock,
            verify=self._choice.verify,
            watch=self.config.watch,
            run_glob=self._choice.run_glob,
            step_keys=(*STEP_KEYS, *self.catalogue.step_keys()),
            pipe=pipe,
        )
        self.store = Store()
        self.views: dict[RunKey, RunView] = {}
        self._memory = Memory(self.config.watch.memory_bytes, self.views, self._reader.read_again)
        self._live = False
        self.run_count = 0
        """Runs that the last scan found, read or not."""
        self.busy = False
        """Whether the last drain ended for want of time, not of batches."""
        self.labels = tuple(_label(p) for p in self.logdirs)
        """Names of the logdirs for people."""
        self._dirty: set[RunKey] = set()
        self._judge_after = -math.inf

    def prepare(self) -> None:
        """Load the rules. Done by the first verdict, unless the user has a say in them: a
        mistake in the user's documents stops the start. Raises DocumentError."""
        if self._judging is None:
            from rltui.health.engine import Engine

            self._judging = Engine(open_rules(self.config, self.catalogue))

    @property
    def _engine(self) -> Engine:
        self.prepare()
        assert self._judging is not None
        return self._judging

    def _check_algorithm(self, name: str) -> None:
        known = {a for s in self.catalogue.scenarios.values() for a in s.algorithms}
        known |= {m.name for s in self.catalogue.suspects for m in s.algorithms}
        if name.strip().upper() not in known:
            hint = nearest(name.strip().upper(), known)
            words = f"; did you mean {hint!r}?" if hint else ""
            raise UsageError(
                f"unknown algorithm {name!r}{words} (known: {', '.join(sorted(known))})"
            )

    # -- reading ---------------------------------------------------------------------------

    def scan(self) -> None:
        """Look for runs once; raises SourceError for a path that cannot be a log."""
        self.run_count = len(self._reader.scan())

    def read_all(self) -> None:
        """Read every file to its end and judge every run (headless commands)."""
        for batch in self._reader.read_all():
            self._apply(batch)
            if not batch.more and self._memory.is_full:
                self._judge()
                self._memory.enforce(self.clock.monotonic())
        self._judge()

    def start(self) -> None:
        """Read and watch on a thread of its own until :meth:`stop`."""
        self._live = True
        self._reader.start()

    def on_news(self, call: Callable[[], None]) -> None:
        """Have ``call`` called from the reader thread whenever something may be drained."""
        self._reader.on_batch = call

    def stop(self) -> None:
        """End the reader thread."""
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
                changes |= self._apply(batch)
            changes |= self._load_some()
            self.busy = len(batches) == _BATCHES or self._memory.busy
            if not self.busy or self.clock.monotonic() >= end:
                break
        changes |= self._judge(verdicts)
        if self._memory.is_full and self._memory.enforce(self.clock.monotonic()):
            changes |= Changes(frozenset(self.views))
        return changes

    @property
    def unsettled(self) -> bool:
        """Whether something waits for the next drain though the reader has no news: a verdict,
        points that are read again."""
        return bool(self._dirty) or self._memory.busy

    def _load_some(self) -> Changes:
        """Go on with reading a run again whose points were unloaded."""
        key, held = self._memory.step()
        changes = Changes() if key is None else Changes(frozenset({key}))
        for batch in held:
            changes |= self._apply(batch)
        return changes

    def _missing(self, key: RunKey) -> None:
        """Points of an unloaded run are asked for: soon, or at once for a headless command."""
        if self._live:
            self._memory.want(key)
            return
        for batch in self._memory.load(key):
            self._apply(batch)
        self._memory.enforce(self.clock.monotonic())

    def reading(self) -> float | None:
        """Share of the known bytes that has been read, or None when all has been."""
        done, known = self._reader.progress()
        pending = any(v.data.reading for v in self.views.values())
        if not pending and (known <= done or self.views):
            return None
        return min(1.0, done / known) if known else None

    @property
    def notes(self) -> tuple[Note, ...]:
        """Trouble that concerns no single run: unreadable directories."""
        return tuple(self._reader.notes)

    def troubles(self) -> list[Note]:
        """Everything that could not be read as it is, of all runs and directories."""
        found = [n for v in self.views.values() for n in v.data.notes if n.level >= Level.WATCH]
        if self.memory_exceeded:
            found.insert(0, Note(self.logdirs[0], None, Level.WATCH, _TOO_MUCH))
        return [*self.notes, *self._reader.unclaimed, *found]

    # -- runs ------------------------------------------------------------------------------

    def runs(self) -> list[RunView]:
        """The runs, in the order of their keys."""
        return [self.views[k] for k in sorted(self.views)]

    @property
    def memory_exceeded(self) -> bool:
        """Whether more points are held than the budget allows: nothing more can be unloaded."""
        return self._memory.over

    def look_at(self, view: RunView) -> None:
        """A screen shows this run: its points stay in memory."""
        view.shown_at = self.clock.monotonic()

    def refresh_progress(self) -> bool:
        """Let ages and states move on; whether anything that is shown changed."""
        now, changed = self.clock.now(), False
        for view in self.views.values():
            if view.progress is None:
                continue
            moved = aged(view.progress, now)
            changed = changed or moved is not view.progress
            view.progress = moved
        return changed

    def _apply(self, batch: Batch) -> Changes:
        if batch.sampled:
            return self._preview(batch)
        if self._memory.hold(batch, self.store.key_of(batch)):
            return Changes()
        changes = self.store.apply(batch)
        self._memory.took(batch)
        for key in changes.runs:
            view = self._view_of(key)
            view.version += 1
            if view.report is not None and batch.items:
                view.grew_at = self.clock.monotonic()
        news = self._learn(batch, changes)
        for key in changes.runs:
            if key in news or key in changes.new_tags:
                self._interpret(self.views[key])
        self._dirty |= changes.runs
        return changes

    def _learn(self, batch: Batch, changes: Changes) -> set[RunKey]:
        """Take hyperparameters in; returns the runs for which that is news."""
        owner, path = self._view_of(self.store.key_of(batch)), batch.source.path
        news = set()
        for key in changes.runs - {owner.key}:  # files that turned out to be another run
            for view in (self.views[k] for k in changes.runs):
                for moved in view.strangers(self.views[key].data):
                    view.hand_over(moved, self.views[key])
                    news |= {view.key, key}
        told = {**hyperparameters(batch.texts), **batch.hparams}
        if told and owner.learn(path, told):
            news.add(owner.key)
        return news

    def _preview(self, batch: Batch) -> Changes:
        """Show a sample of a large file until the file has been read; it enters no store."""
        data = self.store.add_run(batch.run, batch.run_path)
        view = self._view_of(batch.run)
        if data.tags:
            return Changes()  # what is known says more than a sample of what is new
        data.pending.add(batch.source.path)
        if view.sample is None:
            view.sample = RunData(batch.run, batch.run_path)
        view.sample.apply(batch)
        view.version += 1
        self._interpret(view)
        self._dirty.add(batch.run)
        return Changes(frozenset({batch.run}), new_runs=True, new_tags=frozenset({batch.run}))

    def _view_of(self, key: RunKey) -> RunView:
        view = self.views.get(key)
        if view is None:
            data = self.store.runs[key]
            data.on_missing = self._missing
            label = self.labels[key.logdir]
            view = RunView(data, label, self.catalogue.metrics, self.catalogue.roles)
            self.views[key] = view
        return view

    def _interpret(self, view: RunView) -> None:
        """Recognise the framework from the set of tags and look every tag up."""
        formats = {s.format for s in view.points.sources.values()}
        tags = view.points.tags
        if not tags:
            return
        view.recognition = self.catalogue.recognise(
            [*tags, *(f"hyperparameter/{name}" for name in view.hyper)],
            formats=formats,
            framework=self._choice.framework,
            algorithm=self._choice.algorithm,
        )
        known = view.recognition
        resolver = self.catalogue.resolver(known.framework, known.algorithm)
        infos = distinguished({tag: resolver.resolve(tag) for tag in tags})
        infos.update(derive(view.points, infos, self.catalogue.metrics))
        view.infos = {tag: overridden(info, self.config) for tag, info in infos.items()}

    def _judge(self, verdicts: bool = True) -> Changes:
        """Judge the runs that changed or whose rules still wait; says which were judged."""
        now, judged, put_off = self.clock.now(), set(), set()
        begun = self.clock.monotonic()
        rested = not self._live or begun >= self._judge_after
        for key in self._dirty:
            view = self.views[key]
            if view.data.unloaded:
                if view.progress is not None:
                    view.progress = renewed(view.progress, view.data, now)
                continue
            points = view.points
            view.progress = progress(points, view.infos, view.hyper, self.catalogue.roles, now)
            if view.data.reading or view.recognition is None or not verdicts:
                continue
            if view.report is not None and not rested:
                put_off.add(key)
                continue
            if view.sample is not None:
                view.sample = None
                view.memo.clear()  # versions of the sample mean nothing for the points
                self._interpret(view)
            view.report = self._engine.evaluate(view.data, view.infos, view.recognition, now)
            view.version += 1
            judged.add(key)
        if judged:
            end = self.clock.monotonic()
            self._judge_after = end + min(_JUDGE_REST_S, _JUDGE_REST * (end - begun))
        if verdicts:
            self._dirty = {k for k in self._dirty if k in put_off or not self._done_with(k)}
        return Changes(frozenset(judged))

    def _done_with(self, key: RunKey) -> bool:
        """Whether nothing of a run waits for a verdict."""
        if self.views[key].data.reading:
            return False
        return self._judging is None or not self._judging.waiting(key)


def _label(path: Path) -> str:
    """Name of a logdir for people; that of the directory when the path is ``.`` or a link."""
    try:
        name = path.resolve().name
    except (OSError, ValueError, RuntimeError):  # no such thing can exist: the scan says so
        name = path.name
    return clean(name or str(path))
