"""Values made from series, kept until the series change."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from rltui.store.series import Series

T = TypeVar("T")

#: Entries beyond this are dropped all together.
_MOST = 4096


class SeriesCache(Generic[T]):
    """One value per tag and name, valid for one epoch and length of the series."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, Hashable], tuple[int, int, T]] = {}

    def get(
        self,
        series: Series,
        make: Callable[[Series], T],
        *,
        name: Hashable = None,
        extend: Callable[[T, Series], T] | None = None,
    ) -> T:
        """The value for a series, made when it is not known.

        ``name`` distinguishes several values of one tag. ``extend`` turns the value of a series
        into that of the same series with points appended; without it that is made anew.
        """
        key = (series.tag, name)
        kept = self._kept.get(key)
        if kept is not None and kept[0] == series.epoch:
            if kept[1] == series.count:
                return kept[2]
            value = make(series) if extend is None else extend(kept[2], series)
        else:
            value = make(series)
            if len(self._kept) >= _MOST:
                self._kept.clear()
        self._kept[key] = (series.epoch, series.count, value)
        return value
