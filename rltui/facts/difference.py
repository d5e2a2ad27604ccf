"""Whether two groups of runs differ by more than their seeds explain."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from rltui.core.block import FloatArray
from rltui.session.limits import group_limits
from rltui.store import Series

#: All ways to share the runs out are tried up to this number, else this many at random.
_MOST_WAYS = 20_000
_SEED = 20_260_101
#: Of those at random no more are tried once this many differ as much: a large chance is known then.
_ENOUGH = 1_000
#: Random numbers that are drawn at once, and in all: fewer ways are tried for many runs.
_CHUNK, _MOST_NUMBERS = 1 << 17, 4_000_000


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
    if not len(first) or not len(second):
        return None
    return _difference(first.tobytes(), second.tobytes())


@lru_cache(maxsize=256)
def _difference(one: bytes, other: bytes) -> Difference:
    """Kept: screens ask again with every key, and it takes up to tenths of a second."""
    first, second = np.frombuffer(one), np.frombuffer(other)
    n, m = len(first), len(second)
    values = np.concatenate([first, second])
    found, total = float(first.mean() - second.mean()), float(values.sum())
    slack = 1e-9 * max(1e-300, float(np.abs(values).max()))
    ways = math.comb(n + m, n)
    tried = extreme = 0
    for sums in _sums(values, n, ways):
        differences = sums / n - (total - sums) / m
        extreme += int(np.count_nonzero(np.abs(differences) >= abs(found) - slack))
        tried += len(sums)
        if extreme >= _ENOUGH and ways > _MOST_WAYS:
            break
    return Difference(found, max(extreme, 1) / tried, (2 if n == m else 1) / ways)


def _sums(values: FloatArray, n: int, ways: int) -> Iterator[FloatArray]:
    """Sums of ``n`` of the values: of every choice of them, or of many at random, (k,) each."""
    if ways <= _MOST_WAYS:
        chosen = np.array(list(combinations(range(len(values)), n)))
        yield values[chosen].sum(axis=1)
        return
    random = np.random.default_rng(_SEED)
    most = max(1, _CHUNK // len(values))
    tries = min(_MOST_WAYS, max(_ENOUGH, _MOST_NUMBERS // len(values)))
    for begin in range(0, tries, most):
        count = min(most, tries - begin)
        draws = random.integers(0, 1 << 32, (count, len(values)), np.uint32)
        last = np.partition(draws, n - 1, axis=1)[:, n - 1, None]
        yield (draws <= last) @ values
