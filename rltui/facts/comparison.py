"""Runs side by side: which metrics are compared, the numbers of each run or group, the best."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rltui.catalogue.model import TagInfo
from rltui.core.batch import RunKey
from rltui.core.block import FloatArray
from rltui.core.level import Direction, Level, worst
from rltui.core.record import entity
from rltui.core.text import natural
from rltui.facts import numbers
from rltui.facts.cache import kept, per_version
from rltui.facts.groups import (
    LINES,
    Grouping,
    Marked,
    Sweep,
    difference,
    level_at_end,
    slot_of,
)
from rltui.facts.series_stats import episodes, newest_of
from rltui.facts.x_axis import Axis, axis_of_kind, compared_tag
from rltui.health.model import Finding
from rltui.session import JudgedRun
from rltui.session.limits import session_limits

#: What a row of the comparison is: a run, or a group by its name.
RowId = RunKey | str
#: Lines that go to the last of many rows; the others go to the best.
_LAST = 2
#: States that are an alarm by themselves, and others that are worth a word.
_ALARMING = frozenset({"stalled", "crashed", "cancelled", "log deleted"})
_OVER = frozenset({"finished", "stopped"})

ORDERS = ("metric", "name", "verdict")
#: Runs whose last steps differ by more than this factor are said to end apart.
_APART = 1.1
#: Points before a crosshair that an average counts; the weight of older ones is next to nothing.
_AVERAGED = 2_000


class Crosshair(NamedTuple):
    """A place at which curves are read: a step of one run, and where it lies on an axis."""

    step: int
    x: float
    axis: str = "step"
    """Quantity on the axis: step, relative, wall, tokens or a metric."""
    kind: str = "step"
    grows: bool = True

    @classmethod
    def at(cls, step: int, axis: Axis, name: str) -> Crosshair:
        """The crosshair at a step on the axis of this name."""
        return cls(step, axis.place(step), name, axis.kind, axis.grows)


class Reading(NamedTuple):
    """Values of a run at a crosshair."""

    recent: FloatArray
    """(n,) the values up to there, NaN included, as many as an average may count."""
    seen: int
    """The step of the newest of them."""
    is_over: bool
    """Whether the crosshair lies beyond the newest point."""
    level: Level
    """The worst of what the rules found at that step."""
    x: float | None = None
    """Where that step lies on an axis that does not grow."""

    @property
    def value(self) -> float:
        """Newest value at or before the crosshair; may be NaN."""
        return float(self.recent[-1])

    @property
    def seen_words(self) -> str:
        """The step of that point, and whether it is the last one of the run; on an axis that does
        not grow where it lies."""
        if self.x is not None:
            return f"x {numbers.value(self.x)}"
        return numbers.step(self.seen) + (", end" if self.is_over else "")


def reading_at(run: JudgedRun, tag: str, cross: Crosshair, factor: float = 1.0) -> Reading | None:
    """The reading of a tag, times ``factor``; None before its first point, and for a run without
    what the axis counts."""
    series = run.shown(tag)
    axis = axis_of_kind(run, series, cross.axis, cross.kind)
    if axis is None:
        return None
    place = axis.place
    if not (cross.grows and axis.grows):  # runs are read at the same step
        cross = cross._replace(x=cross.step)
        axis = Axis()
    # a search by place: to map every step of a long run takes longer than a key may
    steps = series.steps
    x = cross.x
    end = bisect_right(range(len(steps)), x, key=lambda n: axis.place(float(steps[n])))
    if not end:
        return None
    recent = series.values[max(0, end - _AVERAGED) : end].astype(np.float64) * factor
    seen = int(steps[end - 1])
    levels = (e[2] for e in episodes(run, tag) if e[0] <= seen and (e[1] is None or seen <= e[1]))

    is_over = end == len(steps) and axis.place(seen) < x
    own = None if cross.grows else place(seen)
    return Reading(recent, seen, is_over, worst(levels), own)


@entity
class MetricColumn:
    """One metric of all runs."""

    info: TagInfo
    """Tag of the first run that has the metric."""
    tags: dict[RunKey, str]
    """Its tag in each run that has it."""

    @property
    def title(self) -> str:
        """Name on screen."""
        return self.info.title

    def at_end(self, run: JudgedRun) -> float | None:
        """Where a run got to, in the unit of the column: see
        :func:`~rltui.facts.groups.level_at_end`."""
        tag = self.tags.get(run.key)
        if tag is None:
            return None
        value = kept(run, ("at end", tag), lambda: level_at_end(run.shown(tag)))
        return None if value is None else value * run.infos[tag].factor_to(self.info)

    def reading(self, run: JudgedRun, cross: Crosshair) -> Reading | None:
        """Values of a run at a crosshair, in the unit of the column."""
        tag = self.tags.get(run.key)
        if tag is None:
            return None
        return reading_at(run, tag, cross, run.infos[tag].factor_to(self.info))


@entity
class RunRow:
    """A run, or a group of runs."""

    id: RowId
    name: str
    runs: tuple[JudgedRun, ...]
    slot: int
    """Names its line in the chart; the same in every order."""

    @property
    def level(self) -> Level:
        """The worst verdict of its runs."""
        return worst(r.verdict.level for r in self.runs)


class Comparison:
    """Some runs as they are now, side by side or in groups."""

    def __init__(
        self,
        runs: Sequence[JudgedRun],
        marked: Sequence[Marked] = (),
        by: str = "",
        tag: tuple[JudgedRun, str] | None = None,
        reference: JudgedRun | None = None,
        before: Comparison | None = None,
    ) -> None:
        """``by``: title of the grouping, empty for none; ``tag``: a run and one of its tags,
        which becomes the first column if it is not among the vital signs; ``before``: an earlier
        comparison, whose knowledge of the hyperparameters, colours and order of columns are kept
        where they hold."""
        self.runs = tuple(r for r in runs if r.infos)
        known = None if before is None else before.sweep
        self.sweep: Sweep = known if known and known.holds_for(self.runs) else Sweep(self.runs)
        """How the runs differ in their hyperparameters."""
        groupings = [*self.sweep.groupings, *(self.sweep.tables if by else ())]
        self.grouping: Grouping | None = next((g for g in groupings if g.title == by), None)
        earlier = before.columns if before is not None and before.runs == self.runs else []
        self.columns: list[MetricColumn] = _columns(self.runs, tag, earlier)
        self._best: dict[MetricColumn, float | None] = {}
        self._numbers: dict[tuple[RowId, MetricColumn], FloatArray] = {}
        self.reference = reference
        self.cross: Crosshair | None = None
        """Where values are read; None: where the runs got to."""

        slots = [slot_of(marked, r) for r in self.runs]
        if self.grouping is not None:
            rows = [RunRow(g.name, g.name, g.runs, 0) for g in self.grouping.groups]
        else:
            rows = [
                RunRow(r.key, r.name, (r,), s or 0) for r, s in zip(self.runs, slots, strict=True)
            ]

        self.rows = rows
        if self.grouping is not None or None in slots:
            self._choose_lines(() if before is None else before.rows)

    def _choose_lines(self, before: Sequence[RunRow]) -> None:
        """Give a colour to every row, or of many to the best and the last of the first column;
        those that had one ``before`` keep it."""
        order = self.rows
        if len(order) > LINES and self.columns:
            shown = self.columns[0]
            ranked = [r for r in self.ordered("metric", shown) if self.numbers_of(r, shown).size]
            leading = [*ranked[: LINES - _LAST], *ranked[max(LINES, len(ranked)) - _LAST :]]
            order = list(dict.fromkeys([*leading, *order]))

        drawn = {r.id for r in order[:LINES]}
        slots = {r.id: r.slot for r in before if r.slot < LINES and r.id in drawn}
        free = iter(n for n in range(len(order)) if n not in slots.values())
        for row in order:
            if row.id not in slots:
                slots[row.id] = next(free)

        self.rows = [replace(r, slot=slots[r.id]) for r in self.rows]

    def index_of(self, column: MetricColumn | None) -> int:
        """Where the metric of a column of an earlier comparison stands; 0 where it does not."""
        tags = set() if column is None else column.tags.items()
        return next((n for n, c in enumerate(self.columns) if c.tags.items() & tags), 0)

    def read_at(self, cross: Crosshair | None) -> None:
        """Take what the runs have at a crosshair for their values, or (None) where they got to."""
        if cross != self.cross:
            self.cross = cross
            self._best.clear()
            self._numbers.clear()

    def numbers_of(self, row: RunRow, column: MetricColumn) -> FloatArray:
        """(n,) for each run that has the metric where it got to, or at the crosshair, in the unit
        of the column."""
        key = row.id, column
        if key not in self._numbers:
            found = (self.value_of(run, column) for run in row.runs)
            self._numbers[key] = np.array([x for x in found if x is not None], dtype=np.float64)
        return self._numbers[key]

    def value_of(self, run: JudgedRun, column: MetricColumn) -> float | None:
        """Where a run got to, or its value at the crosshair, in the unit of the column."""
        tag = column.tags.get(run.key)
        onsets = (f.since_step or 0 for f in run.firing() if f.rule == "nan" and f.tag == tag)
        onset = next(onsets, math.inf)
        if self.cross is None:
            found = column.at_end(run)
            newest = newest_of(run, run.shown(tag)) if tag else None
            is_lost = onset < math.inf and not (newest and math.isfinite(newest))
        else:
            reading = column.reading(run, self.cross)
            found = reading and reading.value
            is_lost = not found and onset <= self.cross.step
        return math.nan if is_lost else found  # some trainers print NaN as 0

    def value(self, row: RunRow, column: MetricColumn) -> float | None:
        """Where a run got to, or the mean of that over a group; None where there is none."""
        found = self.numbers_of(row, column)
        return float(found.mean()) if len(found) else None

    def best(self, column: MetricColumn) -> float | None:
        """The best value of the rows; None where no direction is better or all are equal."""
        if column not in self._best:
            values = [self.value(r, column) for r in self.rows]
            found = {v for v in values if v is not None and math.isfinite(v)}
            better = {Direction.UP: max, Direction.DOWN: min}.get(column.info.direction)
            self._best[column] = better(found) if better is not None and len(found) > 1 else None
        return self._best[column]

    def base(self, column: MetricColumn) -> tuple[float | None, str]:
        """Value that differences are counted from, and its word: the reference run, else the
        best."""
        known = self.reference
        if known and self.grouping is None:
            for row in self.rows:
                run = row.runs[0]
                # what the command line names is a copy
                is_copy = known.key.logdir < 0 and run.data.path == known.data.path
                if is_copy or run.key == known.key:
                    return self.value(row, column), "to reference"
        return self.best(column), "to best"

    def ordered(self, order: str, column: MetricColumn | None) -> list[RunRow]:
        """The rows by ``order``: metric (the best first), name or verdict."""
        if order == "verdict":
            return sorted(self.rows, key=lambda r: (-int(r.level), natural(r.name)))
        if order != "metric" or column is None:
            return sorted(self.rows, key=lambda r: natural(r.name))
        sign = 1.0 if column.info.direction is Direction.DOWN else -1.0

        def place(row: RunRow) -> float:
            value = self.value(row, column)
            return sign * value if value is not None and math.isfinite(value) else math.inf

        return sorted(self.rows, key=place)

    def spread_words(self, row: RunRow, column: MetricColumn) -> str:
        """The standard deviation over the runs of a group; empty for one run."""
        found = self.numbers_of(row, column)
        return f"± {numbers.value(float(found.std(ddof=1)))}" if len(found) > 1 else ""


def window_words(cross: Crosshair | None = None) -> str:
    """Describe how the numbers of a comparison are taken."""
    if cross is not None:
        return f"value at step {numbers.step(cross.step)}"
    return f"mean of the last {numbers.percent(session_limits().groups.last_share)} of each run"


def _alarms(run: JudgedRun) -> list[Finding]:
    """List the firing findings about a metric, without those about the state of the run."""
    return [f for f in run.firing() if f.tag is not None]


def verdict_words(row: RunRow) -> str:
    """The verdict of a row: since when a run is not ok, and its state where that says more; how
    many of a group are not."""
    level_word = "not judged" if row.level is Level.UNKNOWN else row.level.word
    if len(row.runs) > 1:
        worst_runs = [r for r in row.runs if r.verdict.level is row.level]
        states = {"" if _alarms(r) else r.verdict.state_word for r in worst_runs}
        word = states.pop() if len(states) == 1 and states <= _ALARMING else level_word
        count = f"{len(worst_runs)} of {len(row.runs)} "
        return word if len(worst_runs) == len(row.runs) else count + word

    (run,) = row.runs
    state = run.verdict.state_word
    found = _alarms(run)
    if found:
        level = worst(f.level for f in found)
        since = [f.since_step for f in found if f.level is level and f.since_step is not None]
        words = f"{level.word} since {numbers.step(min(since))}" if since else level.word
        return f"{words}, {state}" if state in _ALARMING | _OVER else words

    if state in _ALARMING:
        return state
    return f"{level_word}, {state}" if state in _OVER else level_word


def compared_runs(
    runs: Sequence[JudgedRun], marks: Sequence[Marked], reference: JudgedRun | None
) -> list[JudgedRun]:
    """The marked runs if there are two at least, else all; and the reference."""
    marked = [m.run for m in marks if any(m.run is r for r in runs)]
    found = marked if len(marked) > 1 else [r for r in runs if r.infos]
    if reference is None or any(r.key == reference.key for r in found):
        return found
    return [*found, reference]


def _columns(
    runs: Sequence[JudgedRun], tag: tuple[JudgedRun, str] | None, before: Sequence[MetricColumn]
) -> list[MetricColumn]:
    """The vital signs of all runs: the headline, if half of them log it, then those in which the
    runs differ. The same columns stay in the order that they had ``before``: finding it takes time,
    and columns that move cannot be read."""
    columns: dict[
        tuple[RunKey, str], MetricColumn
    ] = {}  # by a run and a tag that no other column has
    seen: set[tuple[RunKey, str]] = set()
    wanted = [tag] if tag is not None and tag[1] in tag[0].infos else []
    wanted += [(run, t) for run in runs for t in _vital_tags(run)]

    for run, vital in wanted:
        if (run.key, vital) not in seen:
            tags = {r.key: t for r in runs if (t := compared_tag(run, vital, r)) is not None}
            if tags:  # the filter may leave no run that has it
                columns[next(iter(tags.items()))] = MetricColumn(run.infos[vital], tags)
            seen.update(tags.items())

    found = list(columns.values())
    if tag is None:
        found.sort(key=lambda c: 2 * len(c.tags) < len(runs))
    places = {next(iter(c.tags.items())): n for n, c in enumerate(before)}
    if found and places.keys() == columns.keys() and before[0].tags == found[0].tags:
        return [columns[name] for name in sorted(columns, key=places.__getitem__)]
    return [*found[:1], *sorted(found[1:], key=lambda c: not _differs(c, runs))]


def _differs(column: MetricColumn, runs: Sequence[JudgedRun]) -> bool:
    """Whether two of the runs have other numbers on screen."""
    known = (v for r in runs if (v := column.at_end(r)) is not None)
    first = next(known, None)
    return first is not None and any(numbers.value(v) != numbers.value(first) for v in known)


@per_version
def _vital_tags(run: JudgedRun) -> tuple[str, ...]:
    """The headline, then the tags that answer the questions of the scenario."""
    if run.recognition is None:
        return ()
    found = [run.headline() or ""]
    for question in run.recognition.scenario.questions:
        found += run.tags_of_metrics(question.metrics)
    return tuple(t for t in dict.fromkeys(found) if t in run.infos)


def group_words(
    comparison: Comparison, rows: Sequence[RunRow], metric: MetricColumn, here: RunRow | None
) -> str:
    """Whether the group at the cursor differs from the best one (the best from the second), in
    words; empty without groups."""
    ranked = [r for r in rows if len(comparison.numbers_of(r, metric))]
    grouped = any(len(r.runs) > 1 for r in ranked)
    if here is None or len(ranked) < 2 or here not in ranked or not grouped:
        return ""
    other = ranked[0] if here is not ranked[0] else ranked[1]
    first, second = (here, other) if here is ranked[0] else (other, here)
    a = comparison.numbers_of(first, metric)
    b = comparison.numbers_of(second, metric)
    found = difference(a, b)
    if found is None:
        return ""
    size = numbers.signed(found.difference) if found.difference else "no difference"
    facts = f"{first.name} against {second.name}: {size} in {metric.title}"
    chance = f"p = {numbers.plain(found.chance)}, by permutation"
    runs = f"{len(a)} and {len(b)} runs"
    if found.is_real:
        verdict = f"larger than the spread over runs explains ({chance}; {runs})"
    elif found.can_tell:
        verdict = f"no larger than the spread over runs ({chance}; {runs})"
    elif found.chance <= found.rarest * 1.001 and len(a) + len(b) > 2:
        verdict = f"the runs do not overlap, but {runs} are too few to be sure ({chance})"
    else:
        verdict = f"{runs} are too few to tell"

    return f"{facts}; {verdict}"


def ends_words(comparison: Comparison) -> str:
    """Say that the runs did not get equally far; "" when they did."""
    last = [r.progress.last_step for r in comparison.runs if r.progress is not None]
    known = [s for s in last if s]
    if not known or max(known) < _APART * min(known):
        return ""
    return f"the runs are at steps {numbers.step(min(known))} to {numbers.step(max(known))}"
