"""Collects decoded rows and points and returns them as few blocks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import itemgetter
from typing import NamedTuple, TypeVar

import numpy as np

from rltui.core.batch import Restart
from rltui.core.block import Block, FloatArray, IntArray, ValueArray
from rltui.core.text import Names
from rltui.formats.base import clean_tag

_K = TypeVar("_K")
_V = TypeVar("_V")


@dataclass(frozen=True, eq=False)
class Layout:
    """The tags of a row, cleaned and distinct, and the type of their values."""

    tags: Names
    dtype: type[np.floating]

    @cached_property
    def index(self) -> dict[str, int]:
        """tag -> column."""
        return {tag: column for column, tag in enumerate(self.tags)}


@lru_cache(maxsize=4096)
def layout_of(tags: tuple[bytes | str, ...], dtype: type[np.floating]) -> Layout:
    """The only Layout object of these tags: layouts are compared by identity."""
    return Layout(tuple(clean_tag(t) for t in tags), dtype)


class TagPoints(NamedTuple):
    """New points of one tag, in the order in which they were logged; arrays of (n,)."""

    tag: str
    """Cleaned; no two columns of one call have the same."""
    steps: IntArray
    walls: FloatArray
    """Seconds since the epoch."""
    values: FloatArray


def blocks_of(columns: Iterable[TagPoints]) -> tuple[Block, ...]:
    """Blocks that hold the columns.

    Metrics that were logged together have the same steps and times, and share a block: one matrix
    in place of a pair of axes for each tag.
    """
    groups: dict[tuple[bytes, bytes], list[TagPoints]] = {}
    for column in columns:
        key = column.steps.tobytes(), column.walls.tobytes()
        groups.setdefault(key, []).append(column)

    return tuple(
        Block(
            tuple(c.tag for c in group),
            group[0].steps,
            group[0].walls,
            np.stack([c.values for c in group], axis=1),
        )
        for group in groups.values()
    )


def picker(keys: tuple[_K, ...]) -> Callable[[Mapping[_K, _V]], tuple[_V, ...]]:
    """Returns the values of these keys of a mapping; raises KeyError when one is missing."""
    if len(keys) < 2:
        return lambda row: tuple([row[key] for key in keys])
    getter: Callable[[Mapping[_K, _V]], tuple[_V, ...]] = itemgetter(*keys)
    return getter


class _Rows(NamedTuple):
    """n rows with the m tags of a layout."""

    layout: Layout
    steps: IntArray
    walls: FloatArray
    values: ValueArray
    """(n, m)."""


class RowSink:
    """Collects the rows of one call of ``feed``; owned by one decoder.

    Between two restarts every tag is in one block only, so its points keep the order of the
    file. Tags that occur in the same layouts share a block.
    """

    def __init__(self) -> None:
        self._items: list[Block | Restart] = []
        self._rows: list[_Rows] = []
        self._loose: dict[str, None] = {}
        """Tags with single points, which get blocks of their own behind the others."""

    def rows(self, layout: Layout, steps: IntArray, walls: FloatArray, values: ValueArray) -> None:
        """Add n rows: steps and walls (n,), values (n, m)."""
        self._rows.append(_Rows(layout, steps, walls, values))

    def row(self, layout: Layout, step: int, wall: float, values: Sequence[float]) -> None:
        """Add one row of m values."""
        cells = np.array([values], layout.dtype)
        self.rows(layout, np.array([step], np.int64), np.array([wall]), cells)

    def point(self, layout: Layout, step: int, wall: float, value: float) -> None:
        """Add one value of the only tag of a layout."""
        self._loose[layout.tags[0]] = None
        self.row(layout, step, wall, (value,))

    def restart(self, step: int) -> None:
        """Close the blocks so far: the writer starts again at ``step``."""
        self._flush()
        self._items.append(Restart(step))

    def take(self) -> tuple[Block | Restart, ...]:
        """Everything since the last call, in file order."""
        self._flush()
        items = tuple(self._items)
        self._items = []
        return items

    def _flush(self) -> None:
        rows = self._rows
        self._rows = []
        loose = self._loose
        self._loose = {}
        groups = _groups(rows, loose)
        whole = _union(rows, groups) if len(groups) > 1 and not loose else None
        if whole is not None:
            self._items.append(whole)
            return

        own: dict[str, list[_Rows]] = {group[0]: [] for group in groups}
        chosen: dict[Layout, list[str]] = {}
        for some in rows:
            if some.layout not in chosen:
                chosen[some.layout] = [tag for tag in some.layout.tags if tag in own]
            for tag in chosen[some.layout]:
                own[tag].append(some)

        for tags in groups:
            found = own[tags[0]]
            values = [_columns(some, tags) for some in found]
            if len(found) == 1:
                self._items.append(Block(tags, found[0].steps, found[0].walls, values[0]))
                continue
            steps = np.concatenate([some.steps for some in found])
            walls = np.concatenate([some.walls for some in found])
            self._items.append(Block(tags, steps, walls, np.concatenate(values)))


def _columns(rows: _Rows, tags: Names) -> ValueArray:
    """(n, tags) values."""
    if rows.layout.tags == tags:
        return rows.values
    index = rows.layout.index
    return rows.values[:, [index[tag] for tag in tags]]


def _union(rows: list[_Rows], groups: list[Names]) -> Block | None:
    """One block of all rows with absent cells, or None when separate blocks are smaller."""
    dtype = rows[0].layout.dtype
    if any(some.layout.dtype is not dtype for some in rows):
        return None
    tags = tuple(tag for group in groups for tag in group)
    count = sum(len(some.steps) for some in rows)
    size = np.dtype(dtype).itemsize

    leaders = frozenset(group[0] for group in groups)
    led = {some.layout: 16 * len(leaders.intersection(some.layout.tags)) for some in rows}
    apart = sum(len(some.steps) * led[some.layout] + some.values.size * size for some in rows)
    if count * (16 + len(tags) * (size + 1)) >= apart:
        return None

    columns = {tag: column for column, tag in enumerate(tags)}
    values = np.zeros((count, len(tags)), dtype)
    absent = np.ones((count, len(tags)), bool)
    row = 0
    for some in rows:
        chosen = [columns[t] for t in some.layout.tags]
        end = row + len(some.steps)
        values[row:end, chosen] = some.values
        absent[row:end, chosen] = False
        row = end
    steps = np.concatenate([some.steps for some in rows])
    walls = np.concatenate([some.walls for some in rows])
    return Block(tags, steps, walls, values, absent)


def _groups(rows: list[_Rows], loose: Collection[str]) -> list[Names]:
    """Tags grouped by the layouts that contain them; loose ones alone."""
    layouts = list(dict.fromkeys(some.layout for some in rows))
    if len(layouts) == 1:
        return [layouts[0].tags]
    seen: dict[str, list[int]] = {}
    for number, layout in enumerate(layouts):
        for tag in layout.tags:
            seen.setdefault(tag, []).append(number)

    groups: dict[tuple[int, ...], list[str]] = {}
    for tag, numbers in seen.items():
        if tag not in loose:
            groups.setdefault(tuple(numbers), []).append(tag)
    return [tuple(g) for g in groups.values()] + [(tag,) for tag in loose]
