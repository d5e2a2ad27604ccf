"""Facts of a run that are asked for again and again, kept until the run changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from rltui.session import JudgedRun
from rltui.store.series import SeriesCache

P = ParamSpec("P")
V = TypeVar("V")

#: Run -> its version, and what was made of that version.
_KEPT: WeakKeyDictionary[JudgedRun, tuple[int, dict[Hashable, Any]]] = WeakKeyDictionary()
#: Runs of which something was made anew since outdated facts were last dropped.
_made = [0]


def per_version(
    make: Callable[Concatenate[JudgedRun, P], V], /
) -> Callable[Concatenate[JudgedRun, P], V]:
    """A function of a run and of hashable arguments that is called once for each version of the
    run. Callers share the result and must not change it."""

    @wraps(make)
    def made(run: JudgedRun, /, *args: P.args, **kwargs: P.kwargs) -> V:
        key = (make, args, *kwargs.items()) if kwargs else (make, args)
        return kept(run, key, lambda: make(run, *args, **kwargs))

    return made


def kept(run: JudgedRun, key: Hashable, make: Callable[[], V]) -> V:
    """The value of ``key``, made when it is not known for this version of the run."""
    known = _KEPT.get(run)
    if known is None or known[0] != run.version:
        # Now and then the facts of runs that have changed and are no longer shown are dropped.
        _made[0] += 1
        if 4 * _made[0] > len(_KEPT):
            _made[0] = 0
            for old in [r for r, (version, _) in _KEPT.items() if version != r.version]:
                del _KEPT[old]
        known = _KEPT[run] = (run.version, {})

    values = known[1]
    if key not in values:
        values[key] = make()
    found: V = values[key]
    return found


def is_kept(run: JudgedRun, key: Hashable) -> bool:
    """Whether the value of ``key`` is known for this version of the run."""
    values = _KEPT.get(run)
    return values is not None and values[0] == run.version and key in values[1]


class RunSeriesCache(Generic[V]):
    """A :class:`SeriesCache` for each run, which lives as long as the run."""

    def __init__(self) -> None:
        self._kept: WeakKeyDictionary[JudgedRun, SeriesCache[V]] = WeakKeyDictionary()

    def of(self, run: JudgedRun) -> SeriesCache[V]:
        """The cache of one run."""
        cache = self._kept.get(run)
        if cache is None:
            cache = self._kept[run] = SeriesCache()
        return cache
