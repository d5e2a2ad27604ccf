"""One training on two x axes: two logs with the same values at other steps.

OpenAI baselines writes ``total_timesteps`` into its table and numbers the rows of its event
file. Merged by step, each of the points would be there twice. The log whose steps are row
numbers stands aside then, and if neither is, the less precise one: it adds nothing to a tag of
the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from itertools import combinations, islice

import numpy as np

from rltui.core.block import IntArray
from rltui.store.lineage import Lineage
from rltui.store.merge import Agreement, agreement, same_in_order
from rltui.store.step_trust import Scale

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
