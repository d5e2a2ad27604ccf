"""The columns of a table: step, wall time, metrics.

Decided by the header alone (and by the file name for Monitor files), so that all rows of a file
are read in the same way: :func:`columns_of`. Columns present in the same rows share a block, so
that sparse tables (Lightning: one row per metric) store no empty cells.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from rltui.core.batch import Restart
from rltui.core.block import Block, BoolArray, FloatArray
from rltui.core.record import state
from rltui.core.text import Names
from rltui.formats.base import clean_tag
from rltui.formats.json_value import TIME_KEYS, wall_of
from rltui.formats.words import (
    RAY_LEFT_OUT,
    is_ray_gap,
    is_ray_result,
    may_count,
    plain,
    ray_tag,
    step_names,
    words,
)

_TIME_NAMES = [*map(plain, TIME_KEYS), "walltime", "date"]
#: Files with these names hold one phase of a training (DrQ-v2), which becomes the prefix of
#: their tags, as in its event file.
_PHASES = re.compile(r"(train|eval|test|val|validation)\.(csv|tsv)")
_MONITOR_FILE = re.compile(r"(?:(?P<env>.*)\.)?monitor\.csv")
_MONITOR_COLUMNS = {"r", "l", "t"}
#: Steps are below this in absolute value.
_STEPS = float(1 << 63)
#: Times beyond this are milliseconds.
_MILLISECONDS_FROM = 1e12
#: Rows after which the choice of the step stands.
_ROWS = 200
#: A step that is the same in this many first rows is none.
_CONSTANT = 16
#: A step that has begun again this often is none.
_AGAIN = 2


class TableKind(Enum):
    """How the rows of a table are read."""

    PLAIN = "plain"
    RAY = "ray"
    """Ray Tune's progress.csv: the step is ``timesteps_total`` where that is not zero."""
    TIDY = "tidy"
    """One figure a row, named in another column; its metric is the column of the values."""
    MONITOR = "monitor"
    """SB3's Monitor: one row per episode; the step is the sum of the lengths so far."""


class Columns(NamedTuple):
    """The columns of a table, by position."""

    kind: TableKind
    names: Names
    """Names as in the header."""
    steps: tuple[int, ...]
    """Columns of the step, best first; empty when there is none."""
    wall: int
    """Column that may contain the wall time, -1 for none."""
    metrics: tuple[int, ...]
    tags: Names
    """Tags of the metrics; cleaned, no two equal."""
    candidates: tuple[int, ...] = ()
    """Columns that may be the step of a plain table, best first."""
    doubtful: frozenset[int] = frozenset()
    """Columns among them that are a step only if they count up."""
    naming: int = -1
    """Column with the names of the figures of a tidy table."""


def columns_of(
    names: Sequence[str], step_keys: Sequence[str], file_name: str = "", step: int | None = None
) -> Columns:
    """The columns of a table with this header; ``step`` is that of a plain table, -1 for none,
    when its rows have shown it."""
    names = tuple(n.strip() for n in names)
    if _MONITOR_COLUMNS.issubset(names):
        # monitor/r for the first environment (monitor.csv, 0.monitor.csv), with its name in
        # between for the others, so that the files of one run do not mix
        monitor = _MONITOR_FILE.fullmatch(file_name)
        env = (monitor["env"] or "") if monitor else ""
        prefix = "monitor/" if env in ("", "0") else f"monitor/{env}/"
        metrics = tuple(i for i, n in enumerate(names) if n and n != "t")
        tags = _distinct([prefix + names[i] for i in metrics])
        length = names.index("l")
        time = names.index("t")
        return Columns(TableKind.MONITOR, names, (length,), time, metrics, tags)

    if is_ray_result(names):
        return _ray(names)
    return _plain(names, step_names(names, step_keys), file_name, step)


def _ray(names: Names) -> Columns:
    known = ("timesteps_total", "training_iteration")
    steps = tuple(names.index(n) for n in known if n in names)
    left_out = [not n or n in RAY_LEFT_OUT or n.startswith("config/") for n in names]
    metrics = tuple(i for i, out in enumerate(left_out) if not out)
    tags = _distinct([ray_tag(names[i]) for i in metrics])
    wall = names.index("timestamp") if "timestamp" in names else -1
    return Columns(TableKind.RAY, names, steps, wall, metrics, tags)


def _plain(names: Names, sure: list[int], file_name: str, step: int | None) -> Columns:
    """``sure``: columns that are a step by their name."""
    maybe = [i for i, n in enumerate(names) if i not in sure and may_count(n)]
    candidates = (*sure, *maybe)
    if step is None:
        step = next(iter(candidates), -1)
    found = [plain(n) for n in names]
    wall = next((found.index(name) for name in _TIME_NAMES if name in found), -1)
    metrics = tuple(i for i, n in enumerate(names) if n and i != step)

    naming = next((found.index(key) for key in words().name_keys if key in found), -1)
    if naming >= 0 and sure and "value" in found:
        values = (found.index("value"),)
        return Columns(TableKind.TIDY, names, (step,), wall, values, ("value",), naming=naming)
    only_value = [found[i] for i in metrics if i != wall] == ["value"]
    named = _named_by_file([names[i] for i in metrics], file_name, only_value=only_value)
    steps = (step,) if step >= 0 else ()
    doubtful = frozenset(maybe)
    kind = TableKind.PLAIN
    return Columns(kind, names, steps, wall, metrics, _distinct(named), candidates, doubtful)


def _named_by_file(tags: Sequence[str], file_name: str, *, only_value: bool) -> list[str]:
    """Tags with what the name of the file says of them."""
    _, download, stem = file_name.rpartition(".")[0].rpartition("-tag-")
    if download and only_value:
        # of TensorBoard (run-NAME-tag-TAG.csv), which has a column that says just "Value"
        tags = [stem if plain(tag) == "value" else tag for tag in tags]
    phase = _PHASES.fullmatch(file_name)
    prefix = f"{phase[1]}/" if phase else ""
    return [tag if tag.startswith(prefix) else prefix + tag for tag in tags]


def _distinct(tags: Sequence[str]) -> Names:
    """Cleaned, and numbered where a name repeats."""
    out: dict[str, None] = {}
    for raw in tags:
        tag = clean_tag(raw)
        count = 1
        name = tag
        while name in out:
            count += 1
            name = f"{tag}~{count}"
        out[name] = None
    return tuple(out)


@state
class TableRows:
    """Rows below one header: the values of each numeric column, by position."""

    count: int
    values: dict[int, FloatArray]
    absent: dict[int, BoolArray]
    """Where a column has no value; missing for columns that are complete."""
    walls: FloatArray | None = None
    """Wall times, where the column has them as text."""
    names: Names = ()
    """Names of the figures of a tidy table."""

    def followed_by(self, rows: TableRows) -> TableRows | None:
        """These rows and others, in arrays of their own; None where they have different columns."""
        if rows.values.keys() != self.values.keys() or (rows.walls is None) != (self.walls is None):
            return None
        values = {i: np.concatenate([x, rows.values[i]]) for i, x in self.values.items()}
        absent = {
            i: np.concatenate([self._absent(i), rows._absent(i)])
            for i in self.absent.keys() | rows.absent.keys()
        }
        walls = None
        if self.walls is not None and rows.walls is not None:
            walls = np.concatenate([self.walls, rows.walls])

        return TableRows(self.count + rows.count, values, absent, walls)

    def _absent(self, column: int) -> BoolArray:
        absent = self.absent.get(column)
        return np.zeros(self.count, np.bool_) if absent is None else absent


class BlockCollector:
    """Makes the blocks of one table; owned by its decoder."""

    def __init__(self) -> None:
        self.items: list[Block | Restart] = []
        self._last_step: int | None = None
        self._again = False
        self._row = 0
        """Rows so far of a table without a step."""
        self._env_steps = 0.0
        self._began = math.nan
        self._clock = -math.inf
        """Clock of Monitor: steps so far, start of the environment, newest time since then."""

    def environment_began(self, comment: bytes) -> None:
        """Read the start of the environment off a comment; ``#{"t_start": 1.8e9, "env_id": ...}``
        begins the files of Monitor."""
        try:
            settings = json.loads(comment[1:]) if b"t_start" in comment else None
        except (ValueError, RecursionError):
            return
        began = wall_of(settings.get("t_start")) if isinstance(settings, dict) else None
        if began is not None:
            self._began = began
            self._clock = -math.inf

    def start_over(self, columns: Columns, kept: Sequence[tuple[bool, TableRows]]) -> None:
        """Store all rows so far once more, with another step; ``kept`` as in :class:`Axis`."""
        self.items = []
        self._last_step = None
        self._row = 0
        for again, rows in kept:
            self.store(columns, rows, again=again)

    def store(self, columns: Columns, rows: TableRows, *, again: bool) -> bool:
        """Store the rows as blocks; False when rows without a step were skipped. ``again``: the
        header was repeated, so that the training restarted if the steps go back."""
        self._again = self._again or again
        steps, has_step = self._steps_in(columns, rows)
        walls, timed = self._walls(columns, rows)
        if not has_step.any():
            return False
        first, last = (int(s) for s in steps[has_step][[0, -1]])
        if self._again:
            self._again = False
            if columns.steps and self._last_step is not None and first <= self._last_step:
                self.items.append(Restart(first))

        self._last_step = last
        for here, numbers in _groups(columns, rows, has_step, timed):
            chosen = [rows.values[columns.metrics[n]][here] for n in numbers]
            tags = tuple(columns.tags[n] for n in numbers)
            whole = steps[here].astype(np.int64)
            block = Block(tags, whole, walls[here], np.column_stack(chosen))
            self.items += _by_name(block, np.array(rows.names)[here]) if rows.names else [block]
        return bool(has_step.all())

    def _steps_in(self, columns: Columns, rows: TableRows) -> tuple[FloatArray, BoolArray]:
        """(count,) steps and (count,) whether the row has one."""
        if not columns.steps:
            begin = self._row + 1
            self._row += rows.count
            return np.arange(begin, begin + rows.count, dtype=np.float64), np.ones(rows.count, bool)

        steps = np.zeros(rows.count)
        has_step = np.zeros(rows.count, bool)
        for i in columns.steps:
            if i not in rows.values:
                continue
            values = rows.values[i]
            here = ~has_step & (np.abs(values) < _STEPS)
            if i in rows.absent:
                here &= ~rows.absent[i]
            if columns.kind is TableKind.RAY and i != columns.steps[-1]:
                here &= values != 0
            steps[here] = values[here]
            has_step |= here

        if columns.kind is TableKind.MONITOR:
            steps = np.cumsum(np.concatenate(([self._env_steps], steps)))[1:]
            self._env_steps = float(steps[-1])
            has_step &= np.abs(steps) < _STEPS
        return steps, has_step

    def _walls(self, columns: Columns, rows: TableRows) -> tuple[FloatArray, BoolArray]:
        """(count,) wall times, NaN for none, and (count,) whether the wall column has one."""
        if rows.walls is not None:
            return rows.walls, np.ones(rows.count, bool)
        walls = np.full(rows.count, math.nan)
        timed = np.zeros(rows.count, bool)
        if columns.wall not in rows.values:
            return walls, timed
        values = rows.values[columns.wall]
        if columns.kind is TableKind.MONITOR:
            # the start plus the time since then; unknown once that time falls back: another
            # process appended
            walls = self._began + values
            back = np.flatnonzero(values < np.concatenate(([self._clock], values[:-1])))
            if len(back):
                self._began = math.nan
                walls[back[0] :] = math.nan
            self._clock = float(values[-1])
            return walls, timed

        scaled = np.where(values > _MILLISECONDS_FROM, values / 1000, values)
        timed = (scaled > 1e9) & (scaled < 1e11)
        if columns.wall in rows.absent:
            timed &= ~rows.absent[columns.wall]
        walls[timed] = scaled[timed]
        return walls, timed


def _by_name(block: Block, names: np.ndarray[Any, np.dtype[np.str_]]) -> Iterator[Block]:
    """The figures of a block, each in a block of its own; ``names``: (n,) of its rows."""
    for name in dict.fromkeys(names.tolist()):
        own = names == name
        tags = (clean_tag(name.strip()),)
        yield Block(tags, block.steps[own], block.wall_times[own], block.values[own])


def _groups(
    columns: Columns, rows: TableRows, has_step: BoolArray, timed: BoolArray
) -> Iterable[tuple[BoolArray, list[int]]]:
    """(count,) rows, and the metrics (indices of ``columns.metrics``) present in all of them."""
    groups: dict[bytes, tuple[BoolArray, list[int]]] = {}
    for number, column in enumerate(columns.metrics):
        if column not in rows.values:
            continue
        here = has_step
        if column in rows.absent:
            here = here & ~rows.absent[column]
        if column == columns.wall:
            here = here & ~timed
        if columns.kind is TableKind.RAY and is_ray_gap(columns.tags[number], math.nan):
            here = here & ~np.isnan(rows.values[column])
        if here.any():
            groups.setdefault(here.tobytes(), (here, []))[1].append(number)
    return groups.values()


class Axis:
    """Which column is the step, as far as the first rows below a header show; owned by the decoder.

    A name alone is not enough: an episode that counts 0 to 7 again and again, a step that never
    moves or an epoch of 0.03 is no axis. Then the next column that may be one is taken, in the
    end the number of the row.
    """

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._candidates = list(columns.candidates)
        self.kept: list[tuple[bool, TableRows]] = []
        """The rows until the choice stands, and whether the header was repeated before."""
        self._count = 0

    @property
    def settled(self) -> bool:
        """Whether the choice stands."""
        plain = self._columns.kind is TableKind.PLAIN
        return not (plain and self._candidates) or self._count >= _ROWS

    @property
    def step(self) -> int:
        """The column; -1 when the steps are row numbers."""
        return self._candidates[0] if self._candidates else -1

    @property
    def rejected(self) -> frozenset[str]:
        """Names of the columns that have turned out to be no step."""
        names = self._columns.names
        return frozenset(names[i] for i in self._columns.candidates if i not in self._candidates)

    def add(self, rows: TableRows, *, again: bool) -> bool:
        """Add the next rows; returns whether they show another column to be the step."""
        while len(self.kept) > 1:
            # few pieces of many: a live log is read row by row, a row is an array for each column
            (began_again, older), (repeated, newer) = self.kept[-2:]
            both = None if repeated or older.count > 2 * newer.count else older.followed_by(newer)
            if both is None:
                break
            self.kept[-2:] = [(began_again, both)]

        self.kept.append((again, rows))
        before = self.step
        while self._candidates and not self._behaves(self._candidates[0]):
            del self._candidates[0]
        self._count += rows.count
        return self.step != before

    def _behaves(self, column: int) -> bool:
        """Whether the numbers of a column in the first rows are those of a step."""
        parts: list[FloatArray] = []
        breaks: list[int] = []
        left = _ROWS
        for again, rows in self.kept:
            if column not in rows.values:
                return False
            if again:
                breaks.append(sum(map(len, parts)))
            first = rows.values[column][:left]
            left -= len(first)
            known = np.isfinite(first)
            if column in rows.absent:
                known &= ~rows.absent[column][: len(first)]
            parts.append(first[known])

        values = np.concatenate(parts)
        rise = np.diff(values)
        rise[[b - 1 for b in breaks if 0 < b < len(values)]] = 1.0
        if column in self._columns.doubtful:
            return bool((values >= 0).all() and (rise > 0).all() and (values % 1 == 0).all())
        if (values % 1 != 0).any():
            return False
        # every test keeps its answer however many rows follow: pieces of any size agree
        restarts = np.count_nonzero((rise < 0) & (values[1:] <= values[:1]))
        constant = len(values) >= _CONSTANT and not rise[: _CONSTANT - 1].any()
        return bool(restarts < _AGAIN and not constant)
