"""How far a run may be from good runs of the same job that differ in their seed.

The limits are a prediction interval for the next runs, mean ± t s √(1 + 1/n) of n good runs, with
Student's t at a chance that is divided by what is asked: each condition of each run to come (Hahn
1970, "Additional factors for calculating prediction intervals for samples from a normal
distribution", JASA 65, 1668-1676, by Bonferroni's inequality). Few good runs make it wide.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from rltui.core.block import FloatArray
from rltui.core.level import Direction
from rltui.session.limits import session_limits


class Interval(NamedTuple):
    """What is allowed, both ends included; None where it is open."""

    low: float | None = None
    high: float | None = None

    def __contains__(self, x: object) -> bool:
        assert isinstance(x, float)
        return (self.low is None or x >= self.low) and (self.high is None or x <= self.high)


def expected(values: FloatArray, direction: Direction, conditions: int) -> Interval:
    """Where the next runs will be, by the values (n,) of good runs, n >= 2.

    Of a metric that should go up only a low value is wrong, of one that should go down a high one.
    ``conditions``: how many are asked of each run. A few runs do not tell whether a positive
    quantity spreads by a difference or by a factor: its upper limit is the farther of both.
    """
    limits = session_limits().gate
    sides = 1 if direction in (Direction.UP, Direction.DOWN) else 2
    chance = limits.chance / (limits.runs * max(1, conditions) * sides)
    low, high = _predicted(values, chance)
    if (values > 0).all():
        with np.errstate(over="ignore"):
            high = max(high, float(np.exp(_predicted(np.log(values), chance)[1])))
    return Interval(
        None if direction is Direction.DOWN else low,
        None if direction is Direction.UP or not math.isfinite(high) else high,
    )


def _predicted(values: FloatArray, chance: float) -> tuple[float, float]:
    """The interval that the next value leaves on either side with this chance."""
    n, middle = len(values), float(values.mean())
    reach = student(chance, n - 1) * float(values.std(ddof=1)) * math.sqrt(1 + 1 / n)
    return middle - reach, middle + reach


@lru_cache(maxsize=256)
def student(chance: float, freedom: int) -> float:
    """The value that Student's t exceeds with a chance below a half; ``freedom``: 1 or more.

    Its distribution is a finite sum (Abramowitz and Stegun, 26.7.3 and 26.7.4), halved down here.
    """
    low, high = 0.0, math.pi / 2
    for _ in range(100):
        angle = (low + high) / 2
        if (1 - _within(angle, freedom)) / 2 > chance:
            low = angle
        else:
            high = angle
    return math.sqrt(freedom) * math.tan(low)


def _within(angle: float, freedom: int) -> float:
    """The chance that t lies within ± √freedom tan(angle)."""
    odd = freedom % 2
    term, total = (math.cos(angle) if odd else 1.0), 0.0
    for k in range(2 + odd, freedom + 1, 2):
        total += term
        term *= math.cos(angle) ** 2 * (k - 1) / k
    part = math.sin(angle) * total
    return (angle + part) * 2 / math.pi if odd else part
