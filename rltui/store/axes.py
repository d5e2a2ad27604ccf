"""Which tags of one log count something else than most of it: seconds, episodes, epochs.

rsl_rl logs its return by iteration and, under another tag, by second; others number episodes
beside environment steps. The axis with most tags is that of the run; of several with about as
many, the finest. Two tags are on different axes when they have different steps at the same time;
where a log has no times, when both count from the beginning and reach different steps in as many
points.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from itertools import combinations, islice

import numpy as np

from rltui.core.block import IntArray
from rltui.store.branch import Reach
from rltui.store.lineage import Lineage, Scale
from rltui.store.merge import Agreement, agreement, same_in_order
from rltui.store.points import Points, choose
from rltui.store.series import Series

#: Points from which a tag is compared.
_POINTS = 5
#: Tags whose last steps differ by no more than this factor are not compared.
_NEAR = 1.1
#: At one time, a tag is that far ahead of another axis, or that far behind it (an evaluation
#: that runs beside the training lags, too).
_AHEAD, _BEHIND = 1.1, 0.5
#: Share of the later half of the points for which that holds.
_MOST_APART = 0.8
#: Share of the tags of the largest axis that a finer one needs to be that of the run.
_ENOUGH = 0.5
#: Without times: share of equally many points, and factor between the last steps.
_AS_MANY, _FARTHER = 0.8, 2.0


class MainAxis:
    """Compares the tags of a run while it is being read. Owned by one PointTable."""

    def __init__(self, lineages: Mapping[str, Lineage]) -> None:
        self._lineages = lineages
        self._rows = 0
        self._compare_at = _POINTS
        self.others: frozenset[str] = frozenset()
        """Tags that are on another axis than that of the run."""

    def count(self, rows: int) -> None:
        """Note that rows were read."""
        self._rows += rows

    def forget(self) -> None:
        """Compare everything anew: files have left, or come from another run."""
        self._compare_at = 0

    def settle(self) -> bool:
        """Compare again if the rows have doubled; returns whether other tags are off now."""
        if self._rows < self._compare_at:
            return False
        self._compare_at = max(_POINTS, 2 * self._rows)
        before = self.others
        self.others = frozenset(
            tag
            for lineage in self._lineages.values()
            if not lineage.trust.row_numbered
            for tag in tags_off_axis(lineage)
        )
        return self.others != before


def tags_off_axis(lineage: Lineage) -> frozenset[str]:
    """The tags of a log whose steps are not those of most tags."""
    reaches = {t: r for t, r in _reaches_of(lineage).items() if r.count >= _POINTS}
    groups = _by_last_step(reaches)
    if len(groups) < 2:
        return frozenset()
    axes: list[list[str]] = []
    clocks: list[Series] = []
    for group in sorted(groups, key=len, reverse=True):
        ranked = sorted(group, key=lambda t: reaches[t].count, reverse=True)
        clock = next((s for s in map(lineage.series, ranked) if s.count), None)
        if clock is None:
            continue  # a restart superseded all their points
        same = (i for i, known in enumerate(clocks) if not are_apart(clock, known))
        index = next(same, None)
        if index is None:
            axes.append(group)
            clocks.append(clock)
        else:
            axes[index] = [*axes[index], *group]
    if len(axes) < 2:
        return frozenset()
    enough = _ENOUGH * max(len(axis) for axis in axes)
    main = max(
        (i for i, axis in enumerate(axes) if len(axis) >= enough), key=lambda i: _end(clocks[i])
    )
    others = (t for i, axis in enumerate(axes) if i != main for t in axis)
    found = {t: lineage.series(t) for t in others}
    return frozenset(t for t, s in found.items() if s.count and are_apart(s, clocks[main]))


def _end(series: Series) -> int:
    return int(series.steps[-1])


def _reaches_of(lineage: Lineage) -> dict[str, Reach]:
    """From where to where each tag goes in all branches."""
    found: dict[str, Reach] = {}
    for branch in lineage.branches:
        for tag, reach in branch.reaches.items():
            known = found.get(tag)
            found[tag] = reach if known is None else known.joined(reach)
    return found


def _by_last_step(reaches: Mapping[str, Reach]) -> list[list[str]]:
    """The tags in groups with nearly the same last step."""
    groups: list[list[str]] = []
    last = -1.0
    for tag, reach in sorted(reaches.items(), key=lambda item: item[1].last):
        if not groups or reach.last > _NEAR * max(last, 1.0):
            groups.append([])
        groups[-1].append(tag)
        last = reach.last
    return groups


def are_apart(one: Series, other: Series) -> bool:
    """Whether two series count different things."""
    few, many = sorted((one, other), key=lambda s: s.count)
    points, clock = _timed(few), _timed(many)
    if min(len(points[0]), len(clock[0])) < _POINTS:
        return _reach_differs(few.steps, many.steps)
    steps, walls, _ = clock
    walls = np.maximum.accumulate(walls)
    meanwhile = (points[1] >= walls[0]) & (points[1] <= walls[-1])
    own, at, _ = choose(points, meanwhile)
    if len(own) < _POINTS:
        return False  # one after the other
    later = slice(len(own) // 2, None)
    expected = np.interp(at[later], walls, steps)
    slack = 2 * (steps[-1] - steps[0]) / len(steps)
    ahead = own[later] > _AHEAD * expected + slack
    behind = own[later] < _BEHIND * expected - slack
    return float(np.mean(ahead | behind)) >= _MOST_APART


def _timed(series: Series) -> Points:
    """The points with a time."""
    return choose(series.points, np.isfinite(series.wall_times))


def _reach_differs(few: IntArray, many: IntArray) -> bool:
    if len(few) < max(_POINTS, _AS_MANY * len(many)):
        return False
    low, high = sorted((int(few[-1]), int(many[-1])))
    return high > _FARTHER * low and _from_the_beginning((few, many))


def _from_the_beginning(axes: Iterable[IntArray]) -> bool:
    """Whether each begins within two strides of step 0."""
    return all(0 <= s[0] <= 2 * (s[-1] - s[0]) / (len(s) - 1) for s in axes)


#: At most this many tags are compared, and this many with values that prove something.
_TAGS, _TELLING = 48, 12


#: Rows from which two logs are compared.
_ROWS = 3


#: Steps between two rows, beyond which they are no steps.
_MOST = 1 << 40


_SIGNS = re.compile(r"[\W_]+")


class Axes(Enum):
    """How the x axes of two logs relate."""

    UNKNOWN = "unknown"
    """No tag shows it so far."""
    SAME = "same"
    """Not the same values at other steps."""
    OTHER = "other"


class AxisCheck:
    """Compares the log formats of a run while it is being read. Owned by one PointTable."""

    def __init__(self, lineages: Mapping[str, Lineage]) -> None:
        self._lineages = lineages
        self._rows: dict[str, int] = {}
        """Format -> rows read so far."""
        self._compared_at: dict[frozenset[str], float] = {}
        """Two formats -> rows that both had when they were last compared."""
        self._found: dict[frozenset[str], Axes] = {}
        self.doubles: frozenset[str] = frozenset()
        """Tags of logs that stand aside, with the values of a tag that the other log calls
        nearly the same."""

    def count(self, form: str, rows: int) -> None:
        """Note that rows were read."""
        self._rows[form] = self._rows.get(form, 0) + rows

    def forget(self) -> None:
        """Compare everything anew: files have left, or come from another run."""
        self._compared_at, self._found, self.doubles = {}, {}, frozenset()
        for lineage in self._lineages.values():
            lineage.trust.aside_of = lineage.trust.scale = None

    def between(self, one: Lineage, other: Lineage) -> Axes:
        """How the axes of two logs relate."""
        names = {id(s): form for form, s in self._lineages.items()}
        return self._found.get(frozenset((names[id(one)], names[id(other)])), Axes.UNKNOWN)

    def settle(self) -> bool:
        """Compare the logs whose rows have doubled; returns whether some stand aside now that
        did not, or have other doubles."""
        before = self._state()
        for names in combinations(self._lineages, 2):
            pair = frozenset(names)
            rows = min(self._rows.get(n, 0) for n in names)
            if rows >= max(_ROWS, self._compared_at.get(pair, 0)):
                self._compared_at[pair] = 2 * rows
                self._compare(*names)
        return before != self._state()

    def _state(self) -> object:
        trusts = [s.trust for s in self._lineages.values()]
        return self.doubles, [(t.aside_of, t.scale) for t in trusts]

    def _compare(self, name: str, other: str) -> None:
        pair, one, two = frozenset((name, other)), self._lineages[name], self._lineages[other]
        if one.trust.row_numbered or two.trust.row_numbered:
            return
        known = self._found.get(pair, Axes.UNKNOWN)
        if known is not Axes.OTHER:
            known = self._found[pair] = relation(one, two)
        if known is Axes.SAME:
            self._compared_at[pair] = max(self._compared_at[pair], 64)
        if known is not Axes.OTHER:
            return
        if one.trust.aside_of is None and two.trust.aside_of is None:
            loser, winner = sorted((name, other), key=lambda n: (_standing(self._lineages[n]), n))
            self._lineages[loser].trust.aside_of = winner
        for loser, winner in ((name, other), (other, name)):
            if self._lineages[loser].trust.aside_of == winner:
                aside, trusted = self._lineages[loser], self._lineages[winner]
                self.doubles |= {t for t in _doubles(aside, trusted) if not trusted.has(t)}
                aside.trust.scale = _scale(aside, trusted)


def relation(one: Lineage, other: Lineage) -> Axes:
    """Whether two logs have the same values in the same order at other steps."""
    rank = min(one.trust.precision_rank, other.trust.precision_rank)
    found = {Agreement.YES: 0, Agreement.NO: 0}
    same = 0
    for number, (tag, twin) in enumerate(_pairs(one, other)):
        if number >= _TAGS or same + sum(found.values()) >= _TELLING:
            break
        points, others = one.series(tag).points, other.series(twin).points
        if agreement(points, others, rank) is Agreement.YES:
            same += 1
            continue
        answer, _ = same_in_order(points[2], others[2], rank)
        if answer in found:
            found[answer] += 1
    if found[Agreement.YES] > same and found[Agreement.YES] >= found[Agreement.NO]:
        return Axes.OTHER
    return Axes.SAME if same or found[Agreement.NO] else Axes.UNKNOWN


def _pairs(one: Lineage, other: Lineage, *, by_last_part: bool = True) -> Iterator[tuple[str, str]]:
    """Tags of two logs with the same name, or nearly the same one, that have true steps.

    Where no two names are alike, ``by_last_part`` takes those that end alike: a trainer prints
    ``Average Reward`` and logs ``train/average_reward``.
    """
    found = list(_twins(one, other, _plain))
    if by_last_part and not found:
        found = list(_twins(one, other, _last_part))
    for tag, twin in found:
        if not one.guesses(tag) and not other.guesses(twin):
            yield tag, twin


def _twins(
    one: Lineage, other: Lineage, name_of: Callable[[str], str]
) -> Iterator[tuple[str, str]]:
    """Tags of two logs with the same name in the sense of ``name_of``, where only one has it."""
    by_name: dict[str, list[str]] = {}
    for tag in other.tags:
        by_name.setdefault(name_of(tag), []).append(tag)
    for tag in one.tags:
        twins = [tag] if other.has(tag) else by_name.get(name_of(tag), [])
        if len(twins) == 1:
            yield tag, twins[0]


def _last_part(tag: str) -> str:
    return _plain(tag.rpartition("/")[2])


def _plain(tag: str) -> str:
    """A tag without what logs write differently: ``Ep_Rew/Mean`` is ``eprewmean``."""
    return _SIGNS.sub("", tag.lower()) or tag


def _standing(lineage: Lineage) -> tuple[bool, int, int]:
    """What decides which of two axes counts, the higher one: true steps rather than row numbers,
    then precision, then the finer unit."""
    lasts = (b.last_step for b in lineage.branches if b.last_step is not None)
    return not _is_counted(lineage), lineage.trust.precision_rank, max(lasts, default=0)


def _is_counted(lineage: Lineage) -> bool:
    """Whether the steps of most tags rise by one from point to point."""
    steps = (lineage.series(t).steps for t in lineage.tags[:_TELLING])
    votes = [bool((np.diff(s) == 1).all()) for s in steps if len(s) > 1]
    return 2 * sum(votes) > len(votes)


def _doubles(aside: Lineage, trusted: Lineage) -> Iterator[str]:
    """Tags of a log that stands aside with the values of a tag of the trusted one."""
    rank = min(aside.trust.precision_rank, trusted.trust.precision_rank)
    for tag, twin in _pairs(aside, trusted):
        values, others = aside.series(tag).values, trusted.series(twin).values
        if same_in_order(values, others, rank, need_change=False)[0] is Agreement.YES:
            yield tag


def _scale(aside: Lineage, trusted: Lineage) -> Scale | None:
    """How the steps of a log become those of the trusted one: the same for all tags that prove
    anything. None when they are not in proportion, or when the log restarted."""
    if len(aside.branches) != 1:
        return None
    rank = min(aside.trust.precision_rank, trusted.trust.precision_rank)
    found: set[Scale | None] = set()
    for tag, twin in islice(_pairs(aside, trusted, by_last_part=False), _TAGS):
        points, others = aside.series(tag), trusted.series(twin)
        answer, start = same_in_order(points.values, others.values, rank)
        if answer is Agreement.YES:
            steps, to = points.steps[max(0, -start) :], others.steps[max(0, start) :]
            found.add(_line(steps[: len(to)], to[: len(steps)]))
    return found.pop() if len(found) == 1 else None


def _line(steps: IntArray, others: IntArray) -> Scale | None:
    """The line through the rows of two logs, if all lie on it and it meets no fraction."""
    rise, over = int(others[1] - others[0]), int(steps[1] - steps[0])
    if not (over > 0 and 0 < rise < _MOST) or rise % over:
        return None
    scale = Scale(int(steps[0]), int(others[0]), rise // over)
    return scale if np.array_equal(scale.of(steps), others) else None
