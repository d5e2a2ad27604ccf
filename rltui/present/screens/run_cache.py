"""What screens keep of a run between two paints. A cache lives as long as its runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from rltui.session import RunView
from rltui.store.series import SeriesCache

K = TypeVar("K")
V = TypeVar("V")


class RunCache(Generic[K, V]):
    """Values by key, dropped together when the version of the run changes."""

    def __init__(self) -> None:
        self._made = 0
        """Runs for which values were made anew since outdated ones were last dropped."""
        self._kept: WeakKeyDictionary[RunView, tuple[int, dict[K, V]]] = WeakKeyDictionary()

    def get(self, run: RunView, key: K, make: Callable[[], V]) -> V:
        """The value of ``key``, made when it is not known for this version of the run."""
        kept = self._kept.get(run)
        if kept is None or kept[0] != run.version:
            self._drop_outdated()
            kept = self._kept[run] = (run.version, {})
        values = kept[1]
        if key not in values:
            values[key] = make()
        return values[key]

    def _drop_outdated(self) -> None:
        """Drop the values of runs that have changed and are no longer shown, now and then."""
        self._made += 1
        if 4 * self._made > len(self._kept):
            self._made = 0
            for run in [r for r, kept in self._kept.items() if kept[0] != r.version]:
                del self._kept[run]

    def has(self, run: RunView, key: K) -> bool:
        """Whether the value of ``key`` is known for this version of the run."""
        kept = self._kept.get(run)
        return kept is not None and kept[0] == run.version and key in kept[1]


class RunSeriesCache(Generic[V]):
    """A :class:`SeriesCache` for each run."""

    def __init__(self) -> None:
        self._kept: WeakKeyDictionary[RunView, SeriesCache[V]] = WeakKeyDictionary()

    def of(self, run: RunView) -> SeriesCache[V]:
        """The cache of one run."""
        cache = self._kept.get(run)
        if cache is None:
            cache = self._kept[run] = SeriesCache()
        return cache
