"""Whether two groups of runs differ by more than their seeds explain."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from rltui.core.block import FloatArray
from rltui.session.limits import group_limits
from rltui.store import Series

#: All ways to share the runs out are tried up to this number, else this many at random.
_MOST_WAYS = 20_000
_SEED = 20_260_101


@dataclass(frozen=True, slots=True)
class Difference:
    """The means of two groups, and how often chance makes them differ as much."""

    difference: float
    """Mean of the first minus mean of the second."""
    chance: float
    """Share of the ways to share the same runs out to two groups of these sizes in which the
    means differ at least as much: a permutation test, two-sided."""
    rarest: float
    """The smallest ``chance`` that groups of these sizes can have."""

    @property
    def is_real(self) -> bool:
        """Whether the difference is larger than the spread inside the groups explains."""
        return self.chance <= group_limits().chance

    @property
    def can_tell(self) -> bool:
        """Whether there are enough runs for any difference to count."""
        return self.rarest <= group_limits().chance


def level_at_end(series: Series) -> float | None:
    """Mean of the finite values in the last tenth of the points; None without any."""
    count = math.ceil(series.count * group_limits().last_share)
    values = series.values[series.count - count :].astype(np.float64)
    values = values[np.isfinite(values)]
    return float(values.mean()) if len(values) else None


def difference(first: FloatArray, second: FloatArray) -> Difference | None:
    """Compare two groups of one number per run, (n,) and (m,); None when one of them is empty."""
    n, m = len(first), len(second)
    if not n or not m:
        return None
    values = np.concatenate([first, second])
    found = float(first.mean() - second.mean())
    ways = math.comb(n + m, n)
    means = _means(values, n, ways)
    rest = (values.sum() - means * n) / m
    slack = 1e-9 * max(1e-300, float(np.abs(values).max()))
    chance = float(np.mean(np.abs(means - rest) >= abs(found) - slack))
    if ways > _MOST_WAYS:
        chance = max(chance, 1 / _MOST_WAYS)
    return Difference(found, chance, (2 if n == m else 1) / ways)


def _means(values: FloatArray, n: int, ways: int) -> FloatArray:
    """Mean of ``n`` of the values for every choice of them, or for many at random."""
    if ways <= _MOST_WAYS:
        chosen = np.array(list(combinations(range(len(values)), n)))
        picked: FloatArray = values[chosen].mean(axis=1)
        return picked
    random = np.random.default_rng(_SEED)
    order = np.argpartition(random.random((_MOST_WAYS, len(values)), np.float32), n - 1, axis=1)
    at_random: FloatArray = values[order[:, :n]].mean(axis=1)
    return at_random
