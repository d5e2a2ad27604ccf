"""Values as trainers write them: JSON with NaN and Infinity tokens and integers of any size, and
numbers as text (durations, percentages, fractions, dates).
"""

from __future__ import annotations

import json
import math
import re
from datetime import datetime
from typing import Any

import orjson

#: Shorter documents and lines are parsed whatever is in them.
SHORT = 1 << 20
#: Bytes that a parsed document may take, beside those per byte of it: real ones of 20 MB are read.
_BASE_BYTES, _BYTES_PER_BYTE = 256 << 20, 6
#: Bytes of an element, a name, a list and an object, at most: the parser's own tree and the
#: values. Names that many objects share are kept once, those of one huge object are not.
_ELEMENT_BYTES, _NAME_BYTES, _LIST_BYTES, _OBJECT_BYTES = 52, 46, 72, 200
_FEW_NAMES, _OWN_NAME_BYTES = 2048, 250
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


def fits_memory(data: bytes | memoryview) -> bool:
    """Whether parsing is sure to take little memory for the size of the data: a document of
    nothing but ``[],[],`` takes thirty times its size."""
    if len(data) <= SHORT:
        return True
    data = bytes(data)
    names, objects = data.count(b":"), data.count(b"{")
    size = data.count(b",") * _ELEMENT_BYTES + data.count(b"[") * _LIST_BYTES
    size += names * (_OWN_NAME_BYTES if names > _FEW_NAMES * objects else _NAME_BYTES)
    size += objects * _OBJECT_BYTES
    return size <= _BASE_BYTES + len(data) * _BYTES_PER_BYTE


def parsed(data: bytes) -> Any:
    """The value of a document; NaN and Infinity are accepted. Raises ValueError."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        try:
            return json.loads(data.decode("utf-8-sig", "replace"))
        except RecursionError as error:
            raise ValueError("nested too deeply") from error


def float_of(value: float) -> float:
    """A number, also an integer of any size, as a float."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


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
