"""Detects that a run has left the course of a reference run. Same contract as in ``levels``."""

from __future__ import annotations

import numpy as np

from rltui.health.detectors.registry import detector
from rltui.health.detectors.signal import Rows, Signal

#: Rows whose median is compared, of the run and of the reference alike.
COMPARED_ROWS = 5


@detector(
    roles=("low", "high", "spread", "reach", "worse"),
    facts=("usual", "beyond", "middle"),
    reference=True,
)
def off_course(rows: Rows, *, spreads: float, reach_share: float) -> Signal:
    """The median of five rows lies beyond where the reference run was at about the same place:
    its smoothed course, and the medians of its own five rows just there. By more than ``spreads``
    standard deviations of its rows and ``reach_share`` of the way that its curve went. Only in
    the direction that is worse, where there is one.

    The statistic is the distance from the course in such bands. Not judged where the reference
    has no rows. Two runs of one configuration differ by their seeds, hence both margins.
    """
    middle = rows.median(COMPARED_ROWS)
    low, high, spread, reach, worse = (
        rows.others.get(role, np.full(rows.count, np.nan))
        for role in ("low", "high", "spread", "reach", "worse")
    )
    band = spreads * spread + reach_share * reach
    with np.errstate(divide="ignore", invalid="ignore"):
        below = np.where(worse <= 0, low - middle, -np.inf)
        above = np.where(worse >= 0, middle - high, -np.inf)
        distance = np.maximum(np.maximum(below, above), 0.0)
        beyond = (distance > band) & np.isfinite(band)
        share = np.where(band > 0, distance / band, np.where(distance > 0, np.inf, 0.0))
    known = np.isfinite(band)
    return Signal(
        beyond=beyond,
        statistic=np.where(known, share, np.nan),
        threshold=np.where(known, 1.0, np.nan),
        name="distance from the reference in bands",
        low=np.where(known & (worse <= 0), low - band, np.nan),
        high=np.where(known & (worse >= 0), high + band, np.nan),
        window=COMPARED_ROWS,
        facts={
            "usual": np.where(below > above, low, high),
            "beyond": share,
            "middle": middle,
        },
        silent=not known.any(),
    )
