"""Which tags of one log count something else than most of it: seconds, episodes, epochs.

rsl_rl logs its return by iteration and, under another tag, by second; others number episodes
beside environment steps. The axis with most tags is that of the run; of several with about as
many, the finest. Two tags are on different axes when they have different steps at the same time;
where a log has no times, when both count from the beginning and reach different steps in as many
points.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from rltui.core.block import IntArray
from rltui.store.branch import Reach
from rltui.store.lineage import Lineage
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
_MOST = 0.8
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
    reaches = {t: r for t, r in _reaches(lineage).items() if r.count >= _POINTS}
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


def _reaches(lineage: Lineage) -> dict[str, Reach]:
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
    return float(np.mean(ahead | behind)) >= _MOST


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
