"""Facts of a run that are asked for again and again, kept until the run changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from rltui.session import RunView
from rltui.store.series_cache import SeriesCache

P = ParamSpec("P")
K = TypeVar("K")
V = TypeVar("V")

#: Run -> its version, and what was made of that version.
_KEPT: WeakKeyDictionary[RunView, tuple[int, dict[Hashable, Any]]] = WeakKeyDictionary()
#: Runs of which something was made anew since outdated facts were last dropped.
_made = [0]


def per_version(
    make: Callable[Concatenate[RunView, P], V], /
) -> Callable[Concatenate[RunView, P], V]:
    """A function of a run and of hashable arguments that is called once for each version of the
    run. Callers share the result and must not change it."""

    @wraps(make)
    def kept(run: RunView, /, *args: P.args, **kwargs: P.kwargs) -> V:
        values = _values_of(run)
        key = (make, args, *kwargs.items()) if kwargs else (make, args)
        if key not in values:
            values[key] = make(run, *args, **kwargs)
        found: V = values[key]
        return found

    return kept


def _values_of(run: RunView) -> dict[Hashable, Any]:
    known = _KEPT.get(run)
    if known is None or known[0] != run.version:
        _drop_outdated()
        known = _KEPT[run] = (run.version, {})
    return known[1]


def _drop_outdated() -> None:
    """Drop the facts of runs that have changed and are no longer shown, now and then."""
    _made[0] += 1
    if 4 * _made[0] > len(_KEPT):
        _made[0] = 0
        for run in [r for r, (version, _) in _KEPT.items() if version != r.version]:
            del _KEPT[run]


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
    """A :class:`SeriesCache` for each run, which lives as long as the run."""

    def __init__(self) -> None:
        self._kept: WeakKeyDictionary[RunView, SeriesCache[V]] = WeakKeyDictionary()

    def of(self, run: RunView) -> SeriesCache[V]:
        """The cache of one run."""
        cache = self._kept.get(run)
        if cache is None:
            cache = self._kept[run] = SeriesCache()
        return cache
