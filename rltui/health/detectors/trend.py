"""Detects that a value does not rise: rank trends with a band of equivalence. Same contract as in
``levels``."""

from __future__ import annotations

import numpy as np

from rltui.core.block import FloatArray
from rltui.health.detectors.registry import detector
from rltui.health.detectors.signal import Rows, Signal, constant
from rltui.health.detectors.windows import run_start

#: Most values that a rank trend compares in pairs; longer series are averaged in blocks.
_MOST_RANKED = 100


def rank_trend(x: FloatArray) -> float:
    """Mann-Kendall's z of a series, of block means when it is long: above 2 it rises."""
    if len(x) > _MOST_RANKED:
        edges = np.linspace(0, len(x), _MOST_RANKED + 1).astype(np.int64)
        x = np.add.reduceat(x, edges[:-1]) / np.diff(edges)
    n = len(x)
    if n < 3:
        return 0.0
    score = float(np.sign(x[np.newaxis, :] - x[:, np.newaxis])[np.triu_indices(n, 1)].sum())
    return score / float(np.sqrt(n * (n - 1) * (2 * n + 5) / 18))


@detector(roles=("length",), facts=("start", "late", "gain", "count"))
def no_gain(
    rows: Rows,
    *,
    noise_share: float,
    rise_share: float = 1.0,
    least_rows: int = 400,
    long_rows: int = 100,
    long_steps: float = np.inf,
    moved_rows: int = 20,
    moved_factor: float = np.inf,
    trend: float = 1.0,
    growth: float = 1.1,
) -> Signal:
    """The last third is not better than the first tenth: higher by less than ``noise_share`` of the
    spread of single rows (1.48 times the median distance from the median), without a rank trend
    upwards (Mann-Kendall z below ``trend``).

    Judged from ``least_rows`` on; from ``long_rows`` on if these cover ``long_steps`` steps; with a
    ``length``, from ``moved_rows`` on if that has changed by ``moved_factor`` from its first to its
    last third: then the policy moves, and the reward does not. A run that rose by ``rise_share`` of
    the spread in any tenth and fell again does not count. Evaluated each time the run has grown by
    the factor ``growth``; the answer holds until then.
    """
    x, n = rows.x, rows.count
    beyond = np.zeros(n, dtype=bool)
    start, late, gain = (np.full(n, np.nan) for _ in range(3))
    length = rows.others.get("length") if np.isfinite(moved_factor) else None
    look = least_rows
    if np.isfinite(long_steps):
        look = min(look, long_rows)
    if length is not None:
        look = min(look, moved_rows)
    while look <= n:
        following = max(look + 1, int(look * growth))
        here = slice(look - 1, min(n, following - 1))
        a, b, noise, top = _parts(x[:look])
        start[here], late[here] = a, b
        gain[here] = (b - a) / noise if noise > 0 else (np.inf if b > a else 0.0)
        span = rows.steps[look - 1] - rows.steps[0]
        sure = look >= least_rows or (look >= long_rows and span >= long_steps)
        flat = gain[look - 1] < noise_share and top - a < rise_share * max(noise, 1e-300)
        if flat and (sure or (length is not None and _moved(length[:look], moved_factor))):
            beyond[here] = rank_trend(x[:look]) < (trend if sure else 0.0)
        look = following
    return Signal(
        beyond=beyond,
        statistic=gain,
        threshold=constant(n, noise_share),
        name="gain in units of the spread",
        onset=run_start(beyond),
        facts={
            "start": start,
            "late": late,
            "gain": gain,
            "count": np.arange(1, n + 1, dtype=np.float64),
        },
    )


def _parts(x: FloatArray) -> tuple[float, float, float, float]:
    """Medians of the first tenth and the last third, spread of single rows, best block."""
    n = len(x)
    first, last = x[: max(3, n // 10)], x[n - n // 3 :]
    a, b = float(np.median(first)), float(np.median(last))
    noise = 1.4826 * max(float(np.median(np.abs(first - a))), float(np.median(np.abs(last - b))))
    blocks = np.array_split(x, min(10, max(1, n // 5)))
    return a, b, noise, max(float(np.median(block)) for block in blocks)


def _moved(length: FloatArray, factor: float) -> bool:
    """Whether the last third is ``factor`` times the first one, or less than the inverse."""
    known = length[np.isfinite(length)]
    third = len(known) // 3
    if third == 0:
        return False
    a, b = float(np.median(known[:third])), float(np.median(known[-third:]))
    return a > 0 and b > 0 and max(a / b, b / a) >= factor
