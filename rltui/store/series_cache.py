"""Values made from series, kept until the series change."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from rltui.store.series import Series

T = TypeVar("T")

#: Tags beyond this are dropped all together.
_MOST = 4096
#: Values of one tag: some names contain the last step, which moves on with each row.
_MOST_NAMES = 4


class SeriesCache(Generic[T]):
    """One value per tag and name, valid for one epoch and length of the series."""

    def __init__(self) -> None:
        self._kept: dict[str, dict[Hashable, tuple[int, int, T]]] = {}
        """Tag -> name -> epoch, length and value, the oldest first."""

    def get(
        self,
        series: Series,
        make: Callable[[Series], T],
        *,
        name: Hashable = None,
        extend: Callable[[T, Series], T] | None = None,
    ) -> T:
        """The value for a series, made when it is not known.

        ``name`` distinguishes several values of one tag, of which the newest few are kept.
        ``extend`` turns the value of a series into that of the same series with points appended;
        without it that is made anew.
        """
        values = self._kept.get(series.tag, {})
        kept = values.get(name)
        if kept is not None and kept[0] == series.epoch:
            if kept[1] == series.count:
                return kept[2]
            value = make(series) if extend is None else extend(kept[2], series)
        else:
            value = make(series)
        values.pop(name, None)
        while len(values) >= _MOST_NAMES:
            del values[next(iter(values))]
        values[name] = (series.epoch, series.count, value)
        if len(self._kept) >= _MOST and series.tag not in self._kept:
            self._kept.clear()
        self._kept[series.tag] = values
        return value
