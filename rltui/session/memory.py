"""Keeps the points in memory within a budget: unloads runs, reads them again on demand.

The runs that were shown least recently and that are not being written are unloaded: their
points go, while verdict, progress and headline curve stay. A run is read again when a screen
needs other points of it, or when it grows. Points are never thinned.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from rltui.core.batch import Batch, Note, RunKey
from rltui.core.clock import Clock
from rltui.core.errors import UnreachableError, VanishedError
from rltui.core.installation import release
from rltui.core.level import Level
from rltui.remote import Reading
from rltui.session.run import JudgedRun
from rltui.sources.follow.threaded_reader import Arriving

#: Bytes to read before the budget is checked again.
_STEP = 32 << 20
#: Bytes read after which a walk over the heap is worth its milliseconds.
_MUCH = 8 << 20
#: A run that was shown within this many seconds is on the screen.
_SHOWN_S = 3.0
#: A run that grew within this many seconds may grow again.
_QUIET_S = 300.0

_LOST = (
    "its points were unloaded to save memory, and its log does not hold them any more; "
    "verdict and headline are kept"
)
#: What :attr:`Memory.over` means to people.
TOO_MUCH = (
    "its points take more memory than watch.memory_bytes allows, and no run can be unloaded: "
    "they are shown, being written, or not in files that can be read again"
)

#: Seconds until a host that could not be reached is asked again.
_RETRY_S = 1.0
#: Attempts of a headless command to read a run again from a host.
_ATTEMPTS = 3

_OUT_OF_REACH = "its points were unloaded to save memory, and cannot be read again now: "


class _Load(NamedTuple):
    """A run that is being read again."""

    batches: Iterator[Batch]
    taken: Iterator[None]
    """Stores one batch at each step."""

    @property
    def ready(self) -> bool:
        """Whether the next batch has arrived."""
        return not isinstance(self.batches, Arriving) or self.batches.ready


class Memory:
    """Unloads runs when their points exceed the budget, and loads them again. Owned by the session;
    main thread only."""

    def __init__(
        self, budget_bytes: int, views: Mapping[RunKey, JudgedRun], reader: Reading, clock: Clock
    ) -> None:
        self._budget = budget_bytes
        self._views = views
        self._reader = reader
        self._clock = clock
        self._undecided = False
        """Whether a run may be unloaded as soon as its host has answered."""
        self._loading: dict[RunKey, _Load] = {}
        self._held: dict[RunKey, list[Batch]] = {}
        """Batches for a run that is not loaded, in order."""
        self._lost: set[RunKey] = set()
        """Runs whose points were unloaded and are no longer in any file."""
        self._fresh: set[RunKey] = set()
        """Runs that were loaded since the last check of the budget: they are needed."""
        self._shown_at: dict[RunKey, float] = {}
        """When a screen last showed a run, by the monotonic clock."""
        self._grew_at: dict[RunKey, float] = {}
        """When a run last grew after it had been read."""
        self._tried = -math.inf
        """When runs that batches are held back for were last asked for."""
        self._read = self._checked = self._released = 0
        """Bytes read so far; at the last check of the budget; when memory was last given back."""
        self.over = False
        """Whether more than the budget is held, because nothing more can be unloaded."""

    @property
    def busy(self) -> bool:
        """Whether a batch of a run that is being read again has arrived."""
        return any(load.ready for load in self._loading.values())

    @property
    def waits(self) -> bool:
        """Whether some run is being read again, or will be once its host can be reached."""
        return bool(self._loading or self._held)

    @property
    def is_full(self) -> bool:
        """Whether enough was read since the last check that the budget may be exceeded, or a
        check waits for an answer."""
        return self._undecided or self._read - self._checked >= min(_STEP, self._budget // 8)

    @property
    def exceeded(self) -> bool:
        """Whether more than the budget is held."""
        return sum(v.data.table.nbytes for v in self._views.values()) > self._budget

    def shown(self, key: RunKey) -> None:
        """Note that a screen shows a run: its points stay in memory."""
        self._shown_at[key] = self._clock.monotonic()

    def count(self, batch: Batch, grown: Collection[RunKey]) -> None:
        """Count what was read; ``grown``: runs that had been read before."""
        self._read += sum(b.nbytes for b in batch.blocks)
        self._grew_at.update(dict.fromkeys(grown, self._clock.monotonic()))

    def hold(self, batch: Batch, key: RunKey) -> bool:
        """Hold back a batch whose run is not loaded, and load that run; returns whether it was
        held.

        Later batches are held back, too: the run is read again up to the offset that the store
        knows, and continues with the first batch that was held.
        """
        view = self._views.get(key)
        if view is None or not view.data.unloaded:
            return False
        if not _has_rows(batch) and key not in self._held and key not in self._loading:
            return False  # only a note, a time, a size, or an exit status
        known = view.data.files.by_path.get(batch.source.path)
        if known is not None and batch.generation > known.generation:
            self._lost.add(key)  # what was read before is no longer in any file
        self._held.setdefault(key, []).append(batch)
        self.want(key)

        return True

    def want(self, key: RunKey) -> None:
        """Begin to load a run, if its files still have what was read."""
        data = self._views[key].data
        if not data.unloaded or key in self._loading:
            return
        batches = None
        if key not in self._lost:
            batches = self._reader.read_again(key, data.files.sources, data.files.generations)
        if batches is None:
            self._lost.add(key)
            self._note(key, _LOST)
            if key not in self._held:
                return  # the summary stays
            batches = iter(())
        self._loading[key] = _Load(batches, data.load(batches))

    def load(self, key: RunKey) -> list[Batch]:
        """Load a run at once; returns the batches that were held back."""
        held: list[Batch] = []
        for _ in range(_ATTEMPTS):
            self.want(key)
            while key in self._loading:
                held += self._step(key)
            if not self._views[key].data.unloaded or key in self._lost:
                break

        return held

    def step(self) -> tuple[RunKey | None, list[Batch]]:
        """Go on loading by one batch, if one is there. Returns the run that is loaded now, or
        None, and the batches that were held back for it."""
        if self._held and self._clock.monotonic() - self._tried >= _RETRY_S:
            self._tried = self._clock.monotonic()
            for key in self._held:
                self.want(key)  # its host could not be reached, perhaps
        ready = next((k for k, load in self._loading.items() if load.ready), None)
        held = [] if ready is None else self._step(ready)
        loaded = ready is not None and not self._views[ready].data.unloaded

        return (ready if loaded else None), held

    def _step(self, key: RunKey) -> list[Batch]:
        """Store the next batch of a run that is being loaded; returns the held batches that can be
        applied now: all once it is loaded, those without rows when it cannot be."""
        data = self._views[key].data
        held = self._held.get(key, [])
        try:
            next(self._loading[key].taken)
        except StopIteration:
            self._lost.discard(key)
            self._note(key, "")
            self._views[key].version += 1
            self._fresh.add(key)
            self._checked = self._read - self._budget  # others may have to make room
        except (VanishedError, UnreachableError) as error:
            data.give_up()
            if any(map(_has_rows, held)):
                held = []
            if isinstance(error, VanishedError):
                self._lost.add(key)
            else:
                self._note(key, f"{_OUT_OF_REACH}{error}")
        else:
            return []
        self._loading.pop(key)
        if held:
            del self._held[key]
        if key in self._lost:
            self.want(key)

        return held

    def _note(self, key: RunKey, message: str) -> None:
        """Note why a run cannot be loaded, in place of an older reason; "" for none."""
        data = self._views[key].data
        notes = data.files.notes
        notes[:] = [n for n in notes if not n.message.startswith(_OUT_OF_REACH)]
        if message and not any(n.message == message for n in notes):
            notes.append(Note(data.path, None, Level.WATCH, message))

    def release(self) -> None:
        """Return unused memory to the system, if much was read since the last time."""
        if self._read - self._released > _MUCH:
            self._released = self._read
            release()

    def enforce(self) -> bool:
        """Unload runs until the budget is met; returns whether any was unloaded."""
        self._checked = self._read
        held = {k: v.data.table.nbytes for k, v in self._views.items()}
        total = sum(held.values())
        asked = 0
        unloaded = False
        for key in sorted(self._views, key=lambda k: self._shown_at.get(k, -math.inf)):
            if total - asked <= self._budget:
                break
            view = self._views[key]
            may_go = key not in self._fresh and self._may_go(view)
            if may_go is None:
                asked += held[key]  # if the answer is yes
            elif may_go:
                headline = view.headline()
                view.data.unload([headline] if headline is not None else [])
                view.version += 1
                unloaded = True
                total += view.data.table.nbytes - held[key]
        self._undecided = asked > 0
        if not asked:
            self._fresh.clear()
        self.over = total > self._budget and not asked

        return unloaded

    def _may_go(self, view: JudgedRun) -> bool | None:
        """Whether a run may be unloaded; None while its host is asked whether it can be read
        again."""
        data = view.data
        now = self._clock.monotonic()
        if data.unloaded or data.files.reading or view.report is None:
            return False
        if now - self._shown_at.get(view.key, -math.inf) < _SHOWN_S:
            return False
        if view.is_live or now - self._grew_at.get(view.key, -math.inf) < _QUIET_S:
            return False  # the next row would cause it to be read again

        return self._reader.rereadable(view.key, data.files.sources, data.files.generations)


def _has_rows(batch: Batch) -> bool:
    return bool(batch.items) or batch.replaced
