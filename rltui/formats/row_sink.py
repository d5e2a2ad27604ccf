"""Collects decoded rows and points and returns them as few blocks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import itemgetter
from typing import NamedTuple, TypeVar

import numpy as np

from rltui.core.batch import Restart
from rltui.core.block import Block, FloatArray, IntArray, ValueArray
from rltui.formats.base import clean_tag

_K = TypeVar("_K")
_V = TypeVar("_V")


@dataclass(frozen=True, eq=False)
class Layout:
    """The tags of a row, cleaned and distinct, and the type of their values."""

    tags: tuple[str, ...]
    dtype: type[np.floating]

    @cached_property
    def index(self) -> dict[str, int]:
        """tag -> column."""
        return {tag: column for column, tag in enumerate(self.tags)}


@lru_cache(maxsize=4096)
def layout_of(tags: tuple[bytes | str, ...], dtype: type[np.floating]) -> Layout:
    """The only Layout object of these tags: layouts are compared by identity."""
    return Layout(tuple(clean_tag(t) for t in tags), dtype)


def picker(keys: tuple[_K, ...]) -> Callable[[Mapping[_K, _V]], tuple[_V, ...]]:
    """Returns the values of these keys of a mapping; raises KeyError when one is missing."""
    if len(keys) < 2:
        return lambda row: tuple([row[key] for key in keys])
    getter: Callable[[Mapping[_K, _V]], tuple[_V, ...]] = itemgetter(*keys)
    return getter


class _Part(NamedTuple):
    layout: Layout
    steps: IntArray
    walls: FloatArray
    values: ValueArray


class RowSink:
    """Collects the rows of one call of ``feed``; owned by one decoder.

    Between two restarts every tag is in one block only, so its points keep the order of the
    file. Tags that occur in the same layouts share a block.
    """

    def __init__(self) -> None:
        self._items: list[Block | Restart] = []
        self._parts: list[_Part] = []
        self._loose: dict[str, None] = {}
        """Tags with single points, which get blocks of their own behind the others."""

    def rows(self, layout: Layout, steps: IntArray, walls: FloatArray, values: ValueArray) -> None:
        """Add n rows: steps and walls (n,), values (n, m)."""
        self._parts.append(_Part(layout, steps, walls, values))

    def row(self, layout: Layout, step: int, wall: float, values: Sequence[float]) -> None:
        """Add one row of m values."""
        self.rows(
            layout,
            np.array([step], np.int64),
            np.array([wall]),
            np.array([values], layout.dtype),
        )

    def point(self, layout: Layout, step: int, wall: float, value: float) -> None:
        """Add one value of the only tag of a layout."""
        self._loose[layout.tags[0]] = None
        self.row(layout, step, wall, (value,))

    def restart(self, step: int) -> None:
        """The writer starts again at ``step``; closes the blocks before that."""
        self._flush()
        self._items.append(Restart(step))

    def take(self) -> tuple[Block | Restart, ...]:
        """Everything since the last call, in file order."""
        self._flush()
        items, self._items = tuple(self._items), []
        return items

    def _flush(self) -> None:
        parts, self._parts = self._parts, []
        loose, self._loose = self._loose, {}
        groups = _groups(parts, loose)
        whole = _union(parts, groups) if len(groups) > 1 and not loose else None
        if whole is not None:
            self._items.append(whole)
            return

        where = _where(parts, {group[0] for group in groups})
        for tags in groups:
            own = where[tags[0]]
            values = [_columns(part, tags) for part in own]
            if len(own) == 1:
                self._items.append(Block(tags, own[0].steps, own[0].walls, values[0]))
                continue
            steps = np.concatenate([part.steps for part in own])
            walls = np.concatenate([part.walls for part in own])
            self._items.append(Block(tags, steps, walls, np.concatenate(values)))


def _where(parts: list[_Part], leaders: set[str]) -> dict[str, list[_Part]]:
    """tag -> the parts that contain it."""
    found: dict[str, list[_Part]] = {}
    chosen: dict[Layout, list[str]] = {}
    for part in parts:
        tags = chosen.get(part.layout)
        if tags is None:
            tags = chosen[part.layout] = [t for t in part.layout.tags if t in leaders]
        for tag in tags:
            found.setdefault(tag, []).append(part)
    return found


def _union(parts: list[_Part], groups: list[tuple[str, ...]]) -> Block | None:
    """One block of all rows with absent cells, or None when separate blocks are smaller."""
    dtype = parts[0].layout.dtype
    if any(p.layout.dtype is not dtype for p in parts):
        return None
    tags = tuple(tag for group in groups for tag in group)
    rows = sum(len(p.steps) for p in parts)
    size = np.dtype(dtype).itemsize
    if rows * (16 + len(tags) * (size + 1)) >= _bytes_apart(parts, groups, size):
        return None

    columns = {tag: column for column, tag in enumerate(tags)}
    values = np.zeros((rows, len(tags)), dtype)
    absent = np.ones((rows, len(tags)), bool)
    row = 0
    for part in parts:
        chosen, end = [columns[t] for t in part.layout.tags], row + len(part.steps)
        values[row:end, chosen] = part.values
        absent[row:end, chosen] = False
        row = end

    steps = np.concatenate([p.steps for p in parts])
    walls = np.concatenate([p.walls for p in parts])
    return Block(tags, steps, walls, values, absent)


def _bytes_apart(parts: list[_Part], groups: list[tuple[str, ...]], size: int) -> int:
    """Bytes of a block for each group; ``size``: of a value."""
    leaders = frozenset(group[0] for group in groups)
    layouts = {part.layout for part in parts}
    led = {layout: sum(tag in leaders for tag in layout.tags) for layout in layouts}
    return sum(16 * len(p.steps) * led[p.layout] + p.values.size * size for p in parts)


def _groups(parts: list[_Part], loose: Collection[str]) -> list[tuple[str, ...]]:
    """Tags grouped by the layouts that contain them; loose ones alone."""
    layouts = list(dict.fromkeys(p.layout for p in parts))
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


def _columns(part: _Part, tags: tuple[str, ...]) -> ValueArray:
    if part.layout.tags == tags:
        return part.values
    index = part.layout.index
    return part.values[:, [index[t] for t in tags]]
