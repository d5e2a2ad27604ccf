"""Numbers that logs write as text: durations, percentages, fractions, dates."""

from __future__ import annotations

import math
import re
from datetime import datetime

#: Names of the wall time in text logs.
TIME_KEYS = ("wall_time", "_timestamp", "timestamp", "time", "datetime", "ts")
#: Epoch seconds from 2001 to 5138, and the same in milliseconds. Other values under these names
#: are not wall times (seconds since the start, a duration).
_SECONDS = (1e9, 1e11)
_MILLISECONDS = (1e12, 1e14)
_DATE = re.compile(r"\d{4}-\d\d-\d\d[T _]\d\d:\d\d")
_CLOCK = re.compile(r"(?:(\d{1,6}) days?, )?(\d{1,6}):(\d\d):(\d\d(?:\.\d+)?)")
_UNITS = re.compile(
    r"(?=\d)(?:(\d{1,9})d ?)?(?:(\d{1,9})h ?)?(?:(\d{1,9})m ?)?(?:(\d{1,9}(?:\.\d+)?)s)?"
)
_FRACTION = re.compile(r"\s*(\d{1,18})\s*/\s*(\d{1,18})\s*")
_WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def wall_of(value: object) -> float | None:
    """Seconds since the epoch of a plausible wall time (number or ISO date), or None.

    A date without a zone is in that of this machine.
    """
    if isinstance(value, (int, float)):
        if _SECONDS[0] < value < _SECONDS[1]:
            return float(value)
        if _MILLISECONDS[0] < value < _MILLISECONDS[1]:
            return float(value) / 1000
    elif isinstance(value, str) and _DATE.match(value):
        try:
            return datetime.fromisoformat(value.strip().replace("Z", "+00:00")).timestamp()
        except (ValueError, OverflowError, OSError):
            return None
    return None


def fraction_of(value: object) -> tuple[int, int] | None:
    """``"5/200"`` as 5 and 200, or None."""
    found = _FRACTION.fullmatch(value) if isinstance(value, str) else None
    return (int(found[1]), int(found[2])) if found else None


def seconds_of(text: str) -> float | None:
    """``3 days, 17:51:32``, ``0:01:03`` (str of a timedelta) or ``1h 2m 3s`` in seconds."""
    found = _CLOCK.fullmatch(text) or _UNITS.fullmatch(text)
    if found is None:
        return None
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return 86400 * days + 3600 * hours + 60 * minutes + seconds


def number_of(text: str) -> float | None:
    """A number that a framework wrote as text (``0.5``, ``12.5%``, a duration), or None."""
    text = text.strip()
    try:
        # float() accepts 1_000, which is rather a name
        return float(text.removesuffix("%")) if "_" not in text else None
    except ValueError:
        return seconds_of(text)


def word_of(text: str) -> float | None:
    """NaN and the infinities as quoted in strict JSON; None for other texts."""
    return _WORDS.get(text)
