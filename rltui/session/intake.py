"""Takes in what a reader hands over: points, texts, hyperparameters, and what they mean."""

from __future__ import annotations

from rltui.core.batch import Batch, RunKey
from rltui.core.clock import Clock
from rltui.core.fault import Fault, wall
from rltui.session.judging import Judge
from rltui.session.logdir_facts import RunList
from rltui.session.meaning import Interpreter
from rltui.session.memory import Memory
from rltui.session.run import RunView
from rltui.store import Changes, RunData, Store


class Intake:
    """Owned by the session; main thread only."""

    def __init__(
        self, runs: RunList, memory: Memory, interpreter: Interpreter, judge: Judge, clock: Clock
    ) -> None:
        """``runs`` gets the runs that appear."""
        self._runs = runs
        self._memory = memory
        self._interpreter = interpreter
        self._judge = judge
        self._clock = clock
        self.live = False
        """Whether runs are watched, so that points that were unloaded may come a little later."""
        self._store = Store()
        self.unread: set[RunKey] = set()
        """Runs of which a file is still to be read."""

    def apply(self, batch: Batch) -> Changes:
        """Take a batch in; one of a run that is not in memory waits until that is loaded."""
        if batch.sampled:
            return self._preview(batch)
        owner = self._store.key_of(batch)
        if self._memory.hold(batch, owner):
            return Changes()
        self._runs.before_growing(owner)
        changes = Changes()
        with wall("points could not be stored", lambda fault: self._failed(batch, fault)):
            changes = self._store.apply(batch)
        self._memory.count(batch)
        for key in changes.runs:
            view = self._view_of(key)
            view.version += 1
            self._note_reading(view)
            if view.data.files.grew:
                view.data.files.grown_at = self._clock.now()
            if view.report is not None and batch.items:
                self._memory.grew(key)
        for key in changes.new_tags | self._learn(batch, changes):
            with self._runs.all[key].walled("names could not be interpreted"):
                self._interpreter.interpret(self._runs.all[key])
        self._judge.mark(changes.runs)

        return changes

    def load_some(self) -> Changes:
        """Go on with reading a run again whose points were unloaded."""
        key, held = self._memory.step()
        changes = Changes() if key is None else Changes(frozenset({key}))
        for batch in held:
            changes |= self.apply(batch)
        return changes

    def _load(self, key: RunKey) -> None:
        """Load a run whose points are needed: soon, or at once for a headless command."""
        if self.live:
            self._memory.want(key)
            return
        for batch in self._memory.load(key):
            self.apply(batch)
        self._memory.enforce()

    def _failed(self, batch: Batch, fault: Fault) -> None:
        self._store.add_run(batch.run, batch.run_path)
        self._view_of(self._store.key_of(batch)).failed(fault)

    def _learn(self, batch: Batch, changes: Changes) -> set[RunKey]:
        """Take hyperparameters and texts in; returns the runs that have new hyperparameters."""
        news = set()
        for moved in changes.moved:
            source, target = self._runs.all[moved.source], self._runs.all[moved.target]
            source.texts.move(moved.path, target.texts)
            if source.hyperparameters.move(moved.path, target.hyperparameters):
                news |= {moved.source, moved.target}
        owner = self._store.key_of(batch)
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
        if view.sample is None:
            view.sample = RunData(batch.run, batch.run_path)
        view.sample.apply(batch)
        view.version += 1
        self._interpreter.interpret(view)
        self._judge.mark((batch.run,))

        return Changes(frozenset({batch.run}), new_runs=True, new_tags=frozenset({batch.run}))

    def _note_reading(self, view: RunView) -> None:
        if view.data.files.reading:
            self.unread.add(view.key)
        else:
            self.unread.discard(view.key)

    def _view_of(self, key: RunKey) -> RunView:
        view = self._runs.all.get(key)
        if view is None:
            view = self._runs.add(self._store.runs[key])
            view.data.on_missing = lambda: self._load(key)
        return view
