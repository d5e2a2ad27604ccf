"""Step axes: which tags are on another x axis than their run, and which logs are.

Tags of one log may count something else than most of it: seconds, episodes, epochs. rsl_rl logs its
return by iteration and, under another tag, by second; others number episodes beside environment
steps. The axis with most tags is that of the run; of several with about as many, the finest. Two
tags are on different axes when they have different steps at the same time; where a log has no
times, when both count from the beginning and span different steps in as many points.

Two logs may have the same values at other steps: OpenAI baselines writes ``total_timesteps`` into
its table and numbers the rows of its event file. Merged by step, each of the points would be there
twice. The log whose steps are row numbers is set aside then, and if neither is, the less precise
one: it adds nothing to a tag of the other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import combinations, islice

import numpy as np

from rltui.store.branch import StepSpan
from rltui.store.lineage import Lineage, Scale
from rltui.store.merge import agreement, same_in_order
from rltui.store.points import choose
from rltui.store.series import Series

#: Points from which a tag is compared.
_POINTS = 5
#: Tags whose last steps differ by no more than this factor are not compared.
_NEAR = 1.1
#: At one time, a tag is that far ahead of another axis, or that far behind it (an evaluation
#: that runs beside the training lags, too).
_AHEAD = 1.1
_BEHIND = 0.5
#: One clock is that much faster than another one.
_PACE = 1.5
#: Share of the later half of the points for which that holds.
_MOST_APART = 0.8
#: Share of the tags of the largest axis that a finer one needs to be that of the run.
_ENOUGH = 0.5
#: Without times: share of equally many points, and factor between the last steps.
_AS_MANY = 0.8
_FARTHER = 2.0
#: At most this many tags are compared, and this many with values that prove something.
_TAGS = 48
_TELLING = 12
#: Rows from which two logs are compared.
_ROWS = 3
#: Steps between two rows, beyond which they are no steps.
_MOST = 1 << 40
_SIGNS = re.compile(r"[\W_]+")


def tags_off_axis(lineage: Lineage) -> frozenset[str]:
    """The tags of a log whose steps are not those of most tags."""
    axes = _axes_of(lineage)
    if len(axes) < 2:
        return frozenset()
    enough = _ENOUGH * max(len(tags) for _, tags in axes)
    main = max((s for s, tags in axes if len(tags) >= enough), key=lambda s: int(s.steps[-1]))
    others = [lineage.series(t) for clock, tags in axes if clock is not main for t in tags]

    return frozenset(s.tag for s in others if s.count and are_apart(s, main))


def _axes_of(lineage: Lineage) -> list[tuple[Series, list[str]]]:
    """The axes of a log: the longest series of each, and its tags; the one with the largest group
    of tags that end together first."""
    spans: dict[str, StepSpan] = {}
    for branch in lineage.branches:
        for tag, span in branch.spans.items():
            spans[tag] = span.joined(spans.get(tag))
    groups: list[list[str]] = []
    last = -1.0

    for tag, span in sorted(spans.items(), key=lambda item: item[1].last):
        if span.size < _POINTS:
            continue
        if not groups or span.last > _NEAR * max(last, 1.0):
            groups.append([])
        groups[-1].append(tag)
        last = span.last

    axes: list[tuple[Series, list[str]]] = []
    # a single group needs no comparison
    for group in sorted(groups, key=len, reverse=True) if len(groups) > 1 else ():
        longest = sorted(group, key=lambda t: spans[t].size, reverse=True)
        clock = next((s for s in map(lineage.series, longest) if s.count), None)
        if clock is None:
            continue  # a restart superseded all their points
        tags = next((tags for known, tags in axes if not are_apart(clock, known)), None)
        if tags is None:
            axes.append((clock, group))
        else:
            tags += group

    return axes


def are_apart(one: Series, other: Series) -> bool:
    """Whether two series count different things."""
    few, many = sorted((one, other), key=lambda s: s.count)
    points, clock = (choose(s.points, np.isfinite(s.wall_times)) for s in (few, many))
    if min(len(points[0]), len(clock[0])) < _POINTS:
        if few.count < max(_POINTS, _AS_MANY * many.count):
            return False
        low, high = sorted((int(few.steps[-1]), int(many.steps[-1])))
        # each begins within two strides of step 0
        ends = ((s[0], 2 * (s[-1] - s[0]) / (len(s) - 1)) for s in (few.steps, many.steps))
        return all(0 <= begin <= most for begin, most in ends) and high > _FARTHER * low
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
    # two clocks that cross go at different paces
    rise = float(own[later][-1] - own[later][0])
    passed = float(expected[-1] - expected[0])
    other_pace = rise > _PACE * passed + slack or passed > _PACE * rise + slack

    return other_pace or float(np.mean(ahead | behind)) >= _MOST_APART


class AxisCheck:
    """Compares the tags and the log formats of a run while it is being read. Owned by one
    PointTable."""

    def __init__(self, lineages: Mapping[str, Lineage]) -> None:
        self._lineages = lineages
        self._rows: dict[str, int] = {}
        """Format -> rows read so far."""
        self._compare_tags_at = _POINTS
        """Rows from which tags are compared again."""
        self._compared_at: dict[frozenset[str], float] = {}
        """Two formats -> rows that both had when they were last compared."""
        self._found: dict[frozenset[str], bool | None] = {}
        """Two formats -> what :func:`_are_on_two_axes` says of them."""
        self.off_axis: frozenset[str] = frozenset()
        """Tags that are on another axis than that of the run."""
        self.doubles: frozenset[str] = frozenset()
        """Tags of logs that are set aside, with the values of a tag that the other log calls
        nearly the same."""

    def count(self, form: str, rows: int) -> None:
        """Note that rows were read."""
        self._rows[form] = self._rows.get(form, 0) + rows

    def forget(self) -> None:
        """Compare everything anew: files have left, or come from another run."""
        self._compared_at, self._found, self.doubles = {}, {}, frozenset()
        for lineage in self._lineages.values():
            lineage.trust.aside_of = lineage.trust.scale = None
        self._compare_tags_at = 0
        self.settle_tags()

    def on_one_axis(self, one: Lineage, other: Lineage) -> bool:
        """Whether two logs are known to have the same steps."""
        names = {id(s): form for form, s in self._lineages.items()}
        return self._found.get(frozenset((names[id(one)], names[id(other)]))) is False

    def settle_tags(self) -> bool:
        """Compare the tags if the rows have doubled; returns whether other tags are off now."""
        rows = sum(self._rows.values())
        if rows < self._compare_tags_at:
            return False
        self._compare_tags_at = max(_POINTS, 2 * rows)
        logs = [s for s in self._lineages.values() if not s.trust.row_numbered]
        before = self.off_axis
        self.off_axis = frozenset().union(*map(tags_off_axis, logs))

        return self.off_axis != before

    def settle_logs(self) -> bool:
        """Compare the logs whose rows have doubled; returns whether other logs are set aside now,
        or have other doubles."""
        trusts = [s.trust for s in self._lineages.values()]
        before = self.doubles, [(t.aside_of, t.scale) for t in trusts]
        for names in combinations(self._lineages, 2):
            pair = frozenset(names)
            rows = min(self._rows.get(n, 0) for n in names)
            if rows >= max(_ROWS, self._compared_at.get(pair, 0)):
                self._compared_at[pair] = 2 * rows
                self._compare(*names)

        return before != (self.doubles, [(t.aside_of, t.scale) for t in trusts])

    def _compare(self, name: str, other: str) -> None:
        pair = frozenset((name, other))
        one = self._lineages[name]
        two = self._lineages[other]
        if one.trust.row_numbered or two.trust.row_numbered:
            return
        if not self._found.get(pair):
            self._found[pair] = _are_on_two_axes(one, two)
        if self._found[pair] is False:
            self._compared_at[pair] = max(self._compared_at[pair], 64)
        if not self._found[pair]:
            return
        if one.trust.aside_of is None and two.trust.aside_of is None:
            loser, winner = sorted((name, other), key=lambda n: (_authority(self._lineages[n]), n))
            self._lineages[loser].trust.aside_of = winner

        for aside, trusted, winner in ((one, two, other), (two, one, name)):
            if aside.trust.aside_of != winner:
                continue
            rank = min(aside.trust.precision_rank, trusted.trust.precision_rank)
            same = [
                tag
                for tag, other_tag in _pairs(aside, trusted)
                if not trusted.has(tag)
                and same_in_order(
                    aside.series(tag).values,
                    trusted.series(other_tag).values,
                    rank,
                    need_change=False,
                )[0]
            ]
            self.doubles |= set(same)
            aside.trust.scale = _scale(aside, trusted, rank)


def _are_on_two_axes(one: Lineage, other: Lineage) -> bool | None:
    """Whether two logs have the same values in the same order at other steps; None while no tag
    shows it."""
    rank = min(one.trust.precision_rank, other.trust.precision_rank)
    same = 0
    elsewhere = 0
    different = 0
    for tag, other_tag in islice(_pairs(one, other), _TAGS):
        if same + elsewhere + different >= _TELLING:
            break
        points = one.series(tag).points
        others = other.series(other_tag).points
        if agreement(points, others, rank):
            same += 1
            continue
        answer, _ = same_in_order(points[2], others[2], rank)
        elsewhere += answer is True
        different += answer is False
    if elsewhere > same and elsewhere >= different:
        return True

    return False if same or different else None


def _pairs(one: Lineage, other: Lineage, *, by_last_part: bool = True) -> list[tuple[str, str]]:
    """Tags of two logs with the same name, or nearly the same one that no second tag has, and true
    steps: ``Ep_Rew/Mean`` is ``eprewmean``.

    Where no two names are alike, ``by_last_part`` takes those that end alike: a trainer prints
    ``Average Reward`` and logs ``train/average_reward``.
    """
    found: list[tuple[str, str]] = []
    for last_part in (False, True) if by_last_part else (False,):
        by_name: dict[str, list[str]] = {}
        for tag in other.tags:
            by_name.setdefault(_plain(tag, last_part=last_part), []).append(tag)
        for tag in one.tags:
            known = by_name.get(_plain(tag, last_part=last_part), [])
            alike = [tag] if other.has(tag) else known
            if len(alike) == 1:
                found.append((tag, alike[0]))
        if found:
            break

    return [(t, u) for t, u in found if not one.guesses(t) and not other.guesses(u)]


def _plain(tag: str, *, last_part: bool) -> str:
    """A tag without what logs write differently."""
    part = tag.rpartition("/")[2] if last_part else tag
    return _SIGNS.sub("", part.lower()) or part


def _authority(lineage: Lineage) -> tuple[bool, int, int]:
    """A key by which the axis that counts is the greater one: true steps rather than row numbers,
    then precision, then the finer unit."""
    # row numbers: the steps of most tags rise by one from point to point
    steps = (lineage.series(t).steps for t in lineage.tags[:_TELLING])
    votes = [bool((np.diff(s) == 1).all()) for s in steps if len(s) > 1]
    counted = 2 * sum(votes) > len(votes)
    lasts = (b.whole.last for b in lineage.branches if b.whole is not None)

    return not counted, lineage.trust.precision_rank, max(lasts, default=0)


def _scale(aside: Lineage, trusted: Lineage, precision_rank: int) -> Scale | None:
    """How the steps of a log become those of the trusted one: the line through the rows of both,
    the same for all tags that prove anything. None when they do not lie on a line, when it meets a
    fraction, or when the log restarted."""
    if len(aside.branches) != 1:
        return None
    found: set[Scale | None] = set()
    for tag, other_tag in islice(_pairs(aside, trusted, by_last_part=False), _TAGS):
        points = aside.series(tag)
        others = trusted.series(other_tag)
        answer, start = same_in_order(points.values, others.values, precision_rank)
        if not answer:
            continue
        steps = points.steps[max(0, -start) :]
        to = others.steps[max(0, start) :]
        steps, to = steps[: len(to)], to[: len(steps)]
        rise = int(to[1] - to[0])
        over = int(steps[1] - steps[0])
        scale = None
        if over > 0 and 0 < rise < _MOST and not rise % over:
            line = Scale(int(steps[0]), int(to[0]), rise // over)
            scale = line if np.array_equal(line.of(steps), to) else None
        found.add(scale)

    return found.pop() if len(found) == 1 else None
