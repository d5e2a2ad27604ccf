"""From the times in a log to the true ones: the newest cannot be later than the change of the file.

The change time of a copy is new, so it never moves a complete time, but by a difference of time
zones: where the last line of the log has the time, and that lies whole half hours off.
"""

from __future__ import annotations

import math

from rltui.core.batch import SourceInfo

_DAY_S = 86400.0
#: Zones differ by multiples of this, mostly of its double, and by less than that, seconds.
_QUARTER_S = 900.0
_FARTHEST_S = 14.5 * 3600
#: By so much the clock of a file server may be behind, seconds.
BEHIND_S = 60.0
#: Bars and sums of durations are as exact as this, seconds.
_ROUNDED_S = 2.0


def shift_of(source: SourceInfo, known: float | None) -> float:
    """Seconds from the times in a log to the true ones; ``known``: as of the newest batch before.
    NaN where they tell nothing."""
    newest = source.clock.newest
    unit = source.clock.unit
    if unit == 0 or (known is not None and math.isnan(known)):
        return known or 0.0
    if unit < 0 or not source.modified:
        return 0.0 if unit == _QUARTER_S else math.nan
    behind = source.modified - newest
    if known is not None and behind - known >= (-_ROUNDED_S if unit < _QUARTER_S else -BEHIND_S):
        return known
    if unit < _QUARTER_S:
        return behind

    shift = 0.0
    most = _FARTHEST_S
    if unit == _DAY_S:
        shift = quarters(behind, _DAY_S)
        most = _DAY_S
    zones = round((behind - shift) / (2 * _QUARTER_S)) * 2 * _QUARTER_S
    if behind - shift < -BEHIND_S:
        zones = quarters(behind)
    elif not source.clock.at_end or abs(behind - shift - zones) > BEHIND_S:
        zones = 0.0

    return shift + (zones if abs(zones) <= most else 0.0)


def quarters(behind: float, unit: float = _QUARTER_S) -> float:
    """The whole quarters of an hour, or other units, by which a clock is behind at least."""
    return math.floor((behind + BEHIND_S) / unit) * unit
