"""What moved first: which metrics left their usual level around a symptom, in order.

This is what people do by eye when they compare curves around the step at which a run went wrong.
The usual level of a metric (median and median absolute deviation) is that of the rows just before;
it moved at the first row near the symptom that leaves this level by a wide margin.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rltui.core.level import Level
from rltui.health.model import Finding, FindingState
from rltui.store import Series

#: Rows before and after the symptom that are searched for a move.
_BEFORE, _NEAR = 3, 5
#: Rows before that window that give the usual level, and the fewest that will do.
_USUAL, _LEAST = 20, 4
#: A move leaves the usual level by this many robust standard deviations ...
_SIGMAS = 8.0
#: ... and by this share of it: both large and certain (a quiet metric has no deviation at all).
_SHARE = 0.25
#: 1.4826 makes the median absolute deviation an estimate of sigma for a normal distribution.
_MAD = 1.4826


@dataclass(frozen=True, slots=True)
class Move:
    """A metric that left its usual level."""

    tag: str
    step: int
    before: float
    """Value of the row before."""
    after: float
    """Value farthest from the usual level in the rows that follow."""

    @property
    def size(self) -> float:
        """How large the move is, as the absolute logarithm of the factor (infinite from zero)."""
        if self.before == 0 or self.after == 0:
            return float("inf")
        return float(abs(np.log(abs(self.after / self.before))))


def anchor(findings: Iterable[Finding]) -> int | None:
    """The step to search around: where bad findings first begin together.

    A resolved finding counts too: a spike is often the cause of what fires now. The first group
    wins; without firing bad findings, that of the watch ones. None when nothing fires.
    """
    firing: list[tuple[Level, int]] = []
    over: list[tuple[Level, int]] = []
    for finding in findings:
        if finding.since_step is not None:
            group = firing if finding.state is FindingState.FIRING else over
            group.append((finding.level, finding.since_step))
    for level in (Level.BAD, Level.WATCH):
        steps = [step for own, step in firing if own is level]
        if steps:
            # a resolved spike counts when what fires now began right after it
            cause = [s for own, s in over if own >= level and _leads(s, steps)]
            return _first_group(sorted(steps + cause))
    return None


def _leads(step: int, others: list[int]) -> bool:
    return any(0 <= other - step <= _NEAR for other in others)


def _first_group(steps: list[int]) -> int:
    """The first of the steps with another one within ``_NEAR`` after it; else the first step.

    The first group, not the largest: what a failure causes keeps firing and must not distract from
    where it began.
    """
    for step, after in pairwise(steps):
        if after - step <= _NEAR:
            return step
    return steps[0]


def moved_first(
    series: Iterable[Series], step: int, causes: frozenset[str] = frozenset()
) -> list[Move]:
    """The metrics that moved around ``step``, in order.

    Among moves at the same step, tags in ``causes`` (set by a person or a schedule) come first,
    then the larger move.
    """
    found = [m for m in (_move(s, step) for s in series) if m is not None]
    return sorted(found, key=lambda m: (m.step, m.tag not in causes, -m.size, m.tag))


def _move(series: Series, step: int) -> Move | None:
    steps, values = series.finite()
    at = int(np.searchsorted(steps, step))
    begin, end = max(0, at - _BEFORE), min(len(values), at + _NEAR + 1)
    usual = values[max(0, begin - _USUAL) : begin]
    if len(usual) < _LEAST or begin >= end:
        return None
    centre = float(np.median(usual))
    spread = _MAD * float(np.median(np.abs(usual - centre)))
    drift = float(np.max(np.abs(np.diff(usual)))) if len(usual) > 1 else 0.0
    limit = max(_SIGMAS * spread, _SHARE * abs(centre), 2.0 * drift)
    far = np.flatnonzero(np.abs(values[begin:end] - centre) > limit)
    if not len(far):
        return None
    row = begin + int(far[0])
    after = values[row:end]
    farthest = after[int(np.argmax(np.abs(after - centre)))]
    return Move(series.tag, int(steps[row]), float(values[row - 1]), float(farthest))
