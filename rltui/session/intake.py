"""Takes in what a reader hands over: points, texts, hyperparameters, and what they mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rltui.core.batch import Batch, RunKey
from rltui.core.clock import Clock
from rltui.core.fault import Fault, wall
from rltui.session.judging import Judging
from rltui.session.meaning import Interpreter
from rltui.session.memory import Memory
from rltui.session.run import RunView
from rltui.store import Changes, RunData, Store


@dataclass(frozen=True, slots=True)
class Takers:
    """Who is told what has come."""

    memory: Memory
    interpreter: Interpreter
    judging: Judging
    new_view: Callable[[RunData], RunView]
    """Makes the record of a run that appears."""
    before_growing: Callable[[RunKey], None]
    """Called before the points of a run change."""


class Intake:
    """Owned by the session; main thread only."""

    def __init__(self, views: dict[RunKey, RunView], takers: Takers, clock: Clock) -> None:
        """``views`` gets the runs that appear."""
        self._views = views
        self._takers = takers
        self._clock = clock
        self._store = Store()
        self.unread: set[RunKey] = set()
        """Runs of which a file is still to be read."""

    def apply(self, batch: Batch) -> Changes:
        """Take a batch in; one of a run that is not in memory waits until that is loaded."""
        if batch.sampled:
            return self._preview(batch)
        takers, owner = self._takers, self._store.key_of(batch)
        if takers.memory.hold(batch, owner):
            return Changes()
        takers.before_growing(owner)
        changes = Changes()
        with wall("points could not be stored", lambda fault: self._failed(batch, fault)):
            changes = self._store.apply(batch)
        takers.memory.took(batch)
        for key in changes.runs:
            view = self._view_of(key)
            view.version += 1
            self._note_reading(view)
            if view.data.files.grew:
                view.data.files.grown_at = self._clock.now()
            if view.report is not None and batch.items:
                takers.memory.grew(key, self._clock.monotonic())
        for key in changes.new_tags | self._learn(batch, changes):
            with self._views[key].walled("names could not be interpreted"):
                takers.interpreter.interpret(self._views[key])
        takers.judging.mark(changes.runs)
        return changes

    def _failed(self, batch: Batch, fault: Fault) -> None:
        self._store.add_run(batch.run, batch.run_path)
        self._view_of(self._store.key_of(batch)).failed(fault)

    def _learn(self, batch: Batch, changes: Changes) -> set[RunKey]:
        """Take hyperparameters and texts in; returns the runs that have new hyperparameters."""
        news = set()
        for moved in changes.moved:
            source, target = self._views[moved.source], self._views[moved.target]
            source.texts.move(moved.path, target.texts)
            if source.hyperparameters.move(moved.path, target.hyperparameters):
                news |= {moved.source, moved.target}
        owner = self._store.key_of(batch)
        view = self._view_of(owner)
        view.texts.take(batch)
        if view.hyperparameters.take(batch):
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
        self._takers.interpreter.interpret(view)
        self._takers.judging.mark((batch.run,))
        return Changes(frozenset({batch.run}), new_runs=True, new_tags=frozenset({batch.run}))

    def _note_reading(self, view: RunView) -> None:
        if view.data.files.reading:
            self.unread.add(view.key)
        else:
            self.unread.discard(view.key)

    def _view_of(self, key: RunKey) -> RunView:
        view = self._views.get(key)
        if view is None:
            view = self._views[key] = self._takers.new_view(self._store.runs[key])
        return view
