"""How far runs differ that have another seed, and what is to be expected of the next ones."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from rltui.core.block import FloatArray
from rltui.core.level import Direction
from rltui.session.limits import session_limits

#: Directions in which a value cannot be wrong on both sides.
ONE_WAY = (Direction.UP, Direction.DOWN)
#: What is allowed, both ends included; None where it is open.
Interval = tuple[float | None, float | None]


def expected(values: FloatArray, direction: Direction, conditions: int) -> Interval:
    """Where the next runs will be, by the values (n,) of good runs that differ in their seed.

    The prediction interval mean ± t s √(1 + 1/n), with Student's t at a chance that is divided by
    all that is asked of the runs to come (Hahn 1970, "Additional factors for calculating prediction
    intervals for samples from a normal distribution", JASA 65, 1668-1676; Bonferroni's inequality):
    few runs make it wide. They do not tell whether a positive quantity spreads by a difference or
    by a factor: its upper limit is the farther of both. Of a metric that should go up only a low
    value is wrong, of one that should go down a high one. ``conditions``: asked of each run.
    """
    limits = session_limits().gate
    sides = 1 if direction in ONE_WAY else 2
    chance = limits.chance / (limits.runs * max(1, conditions) * sides)
    with np.errstate(all="ignore"):
        low, high = _predicted(values, chance)
        if (values > 0).all():
            high = max(high, float(np.exp(_predicted(np.log(values), chance)[1])))
    return (
        low if direction is not Direction.DOWN and math.isfinite(low) else None,
        high if direction is not Direction.UP and math.isfinite(high) else None,
    )


def _predicted(values: FloatArray, chance: float) -> tuple[float, float]:
    """The interval that the next value leaves on either side with this chance."""
    n = len(values)
    middle = float(values.mean())
    reach = student(chance, n - 1) * float(values.std(ddof=1)) * math.sqrt(1 + 1 / n)
    return middle - reach, middle + reach


@lru_cache(maxsize=256)
def student(chance: float, freedom: int) -> float:
    """The value that Student's t exceeds with a chance below a half; ``freedom``: 1 or more.

    Its distribution is a finite sum (Abramowitz and Stegun, 26.7.3 and 26.7.4), halved down here.
    """
    low = 0.0
    high = math.pi / 2
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
    term = math.cos(angle) if odd else 1.0
    total = 0.0
    for k in range(2 + odd, freedom + 1, 2):
        total += term
        term *= math.cos(angle) ** 2 * (k - 1) / k
    part = math.sin(angle) * total
    return (angle + part) * 2 / math.pi if odd else part
