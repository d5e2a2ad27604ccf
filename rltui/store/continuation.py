"""Which of several attempts in one place a log goes on with: the one whose values it continues.

A folder may hold two attempts at one training and the log of one of them resumed. Its steps alone
fit both.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np

from rltui.core.block import FloatArray
from rltui.store.branch import Branch
from rltui.store.points import concatenate

#: Points on both sides of the seam that are compared, and the least of them.
_NEAR, _LEAST = 5, 3
#: Tags that are compared.
_TAGS = 64
#: Distances between points after which an attempt has ended too early to be continued.
_GAP = 3
#: How many times the noise two attempts must differ by, and how many times nearer one must be.
_APART, _NEARER = 3.0, 3.0


def attempts(branches: Sequence[Branch], newer: Sequence[Branch]) -> list[list[Branch]]:
    """The branches older than a log, parted where one begins as early as the first."""
    found: list[list[Branch]] = []
    for branch in branches:
        if branch.begin is None or branch in newer or branch.rank > newer[0].rank:
            continue
        if not found or branch.begin <= (found[0][0].begin or 0) + _spacing(branch):
            found.append([])
        found[-1].append(branch)
    return found


#: What :func:`continued` returns where a log goes on with none of several attempts, or with any.
NONE = -1


def continued(newer: Sequence[Branch], older: Sequence[Sequence[Branch]]) -> int | None:
    """The number of the attempt that a log continues, by the majority of its tags, or NONE; None
    where fewer than two reach to where it begins."""
    votes = [0] * len(older)
    compared = False
    for tag in islice(newer[0].columns, _TAGS):
        steps, _, values = newer[0].points(tag)
        if len(steps) < _LEAST:
            continue
        spacing = float(np.median(np.abs(np.diff(steps))))
        ends = [_before(a, tag, int(steps[0]), spacing) for a in older]
        known = [(n, e) for n, e in enumerate(ends) if e is not None and np.isfinite(e).all()]
        compared = compared or len(known) > 1
        winner = _nearest(values[:_NEAR].astype(float), known)
        if winner is not None:
            votes[winner] += 1
    if not compared:
        return None
    best = max(votes)
    return votes.index(best) if 2 * best > sum(votes) else NONE


def _spacing(branch: Branch) -> float:
    """The usual distance between two rows."""
    tag = next(iter(branch.columns))
    steps = branch.points(tag)[0]
    return float(np.median(np.abs(np.diff(steps)))) if len(steps) > 1 else 0.0


def _before(attempt: Sequence[Branch], tag: str, step: int, spacing: float) -> FloatArray | None:
    """The last values before a step; None where the attempt does not reach it."""
    held = [b.points(tag) for b in attempt if tag in b.columns]
    if not held:
        return None
    steps, _, values = concatenate(held)
    own = np.median(np.abs(np.diff(steps))) if len(steps) > 1 else 0
    kept = steps < step
    if np.count_nonzero(kept) < _LEAST or steps[kept].max() < step - _GAP * max(spacing, own, 1):
        return None
    order = np.argsort(steps[kept], kind="stable")[-2 * _NEAR :]
    return values[kept][order].astype(float)


def _nearest(first: FloatArray, ends: Sequence[tuple[int, FloatArray]]) -> int | None:
    """Which of some numbered courses the first values go on with; None where two would do."""
    if len(ends) < 2 or not np.isfinite(first).all():
        return None
    noise = max(float(np.median(np.abs(np.diff(end)))) for _, end in ends)
    noise = max(noise, float(np.median(np.abs(np.diff(first)))))
    centre = float(np.median(first))
    away = sorted((abs(centre - float(np.median(end[-_NEAR:]))), n) for n, end in ends)
    (near, winner), (far, _) = away[:2]
    return winner if far > _APART * noise and far > _NEARER * near and far > 0 else None
