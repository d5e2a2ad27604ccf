"""Keeps the points in memory within a budget: unloads runs, reads them again on demand.

The runs that were shown least recently and that are not being written are unloaded: their
points go, their verdict, their progress and their headline curve stay. A run is read again when
a screen asks for other points of it, or when it grows. Points are never thinned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from rltui.core.batch import Batch, Note, RunKey, SourceInfo
from rltui.core.level import Level, RunState
from rltui.session.run import RunView
from rltui.store import RunData

#: The budget is looked at again when so much has been read.
_STEP = 32 << 20

#: A run that was shown so many seconds ago is on the screen.
_SHOWN_S = 3.0

#: A run that grew so many seconds ago may grow again.
_QUIET_S = 300.0

_LOST = (
    "its points were unloaded to save memory, and its log does not hold them any more; "
    "verdict and headline are kept"
)

ReadAgain = Callable[[RunKey, Mapping[Path, SourceInfo], Iterable[int]], Iterator[Batch] | None]


class Memory:
    """Owned by the session; main thread only."""

    def __init__(
        self, budget_bytes: int, views: Mapping[RunKey, RunView], read_again: ReadAgain
    ) -> None:
        """``read_again`` gives the batches of a run from its files, None when they do not hold
        all of its points any more."""
        self._budget = budget_bytes
        self._views = views
        self._read_again = read_again
        self._loading: dict[RunKey, Iterator[None]] = {}
        self._held: dict[RunKey, list[Batch]] = {}
        """Batches that came for a run that is not loaded, in order."""
        self._lost: set[RunKey] = set()
        """Runs whose points were unloaded and are in no file any more."""
        self._fresh: set[RunKey] = set()
        """Runs that were loaded since the budget was looked at: somebody wants them."""
        self._read = 0
        self._looked = 0
        self.over = False
        """Whether more than the budget is held, because nothing more can be unloaded."""

    @property
    def busy(self) -> bool:
        """Whether some run is being read again."""
        return bool(self._loading)

    @property
    def is_full(self) -> bool:
        """Whether so much was read since the last look that the budget may be exceeded."""
        return self._read - self._looked >= min(_STEP, self._budget // 8)

    def hold(self, batch: Batch, key: RunKey) -> bool:
        """Keep a batch back whose run is not loaded, and load that run; whether it was kept.

        What follows a batch that was kept is kept, too: the run is read again up to the place
        that the store knows of, and goes on with the first batch that was kept.
        """
        view = self._views.get(key)
        if view is None or not view.data.unloaded:
            return False
        news = bool(batch.items) or batch.replaced
        if not news and key not in self._held and key not in self._loading:
            return False  # nothing but a note, a time, a size, or how it ended
        known = view.data.facts.get(batch.source.path)
        if known is not None and batch.generation > known.generation:
            self._lost.add(key)  # what was read before is in no file any more
        self._held.setdefault(key, []).append(batch)
        self.want(key)
        return True

    def want(self, key: RunKey) -> None:
        """Begin to load a run, if its files still hold what was read."""
        view = self._views[key]
        if not view.data.unloaded or key in self._loading:
            return
        batches = None if key in self._lost else self._batches(view.data)
        if batches is None:
            if key not in self._lost or not self._told_lost(view):
                self._lost.add(key)
                view.data.notes.append(Note(view.data.path, None, Level.WATCH, _LOST))
            if key not in self._held:
                return  # the summary stays
            batches = iter(())
        view.loading = True
        self._loading[key] = view.data.load(batches)

    @staticmethod
    def _told_lost(view: RunView) -> bool:
        return any(n.message == _LOST for n in view.data.notes)

    def load(self, key: RunKey) -> list[Batch]:
        """Load a run at once; returns the batches that were held back."""
        self.want(key)
        if key not in self._loading:
            return []
        for _ in self._loading[key]:
            pass
        return self._loaded(key)

    def step(self) -> tuple[RunKey | None, list[Batch]]:
        """Go on loading by one batch. Returns the run that is loaded now, or None, and the
        batches that were held back for it."""
        key = next(iter(self._loading), None)
        if key is None:
            return None, []
        try:
            next(self._loading[key])
        except StopIteration:
            return key, self._loaded(key)
        return None, []

    def _loaded(self, key: RunKey) -> list[Batch]:
        self._loading.pop(key, None)
        self._lost.discard(key)
        view = self._views[key]
        view.loading = False
        view.version += 1
        self._fresh.add(key)
        self._looked = self._read - self._budget  # others may have to go for it
        return self._held.pop(key, [])

    def took(self, batch: Batch) -> None:
        """Count what was read."""
        self._read += sum(b.nbytes for b in batch.blocks)

    def enforce(self, now: float) -> bool:
        """Unload runs until the budget is met; whether any was. ``now``: monotonic seconds."""
        self._looked = self._read
        held = {k: v.data.nbytes for k, v in self._views.items()}
        total = sum(held.values())
        self.over = False
        unloaded = False
        for view in sorted(self._views.values(), key=lambda v: v.shown_at):
            if total <= self._budget:
                break
            if view.key in self._fresh or not self._may_go(view, now):
                continue
            self._unload(view)
            unloaded = True
            total += view.data.nbytes - held[view.key]
        self._fresh.clear()
        self.over = total > self._budget
        return unloaded

    def _may_go(self, view: RunView, now: float) -> bool:
        data = view.data
        if data.unloaded or data.reading or view.report is None or now - view.shown_at < _SHOWN_S:
            return False
        live = view.progress is not None and view.progress.state is RunState.LIVE
        if live or now - view.grew_at < _QUIET_S:
            return False  # the next row would have it read again
        return self._batches(data) is not None

    def _batches(self, data: RunData) -> Iterator[Batch] | None:
        return self._read_again(data.key, dict(data.sources), data.generations)

    def _unload(self, view: RunView) -> None:
        headline = view.headline()
        view.data.unload([headline] if headline is not None else [])
        view.memo.clear()
        view.version += 1
