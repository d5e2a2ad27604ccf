"""Values as trainers write them: JSON with NaN and Infinity tokens and integers of any size, and
numbers as text (durations, percentages, fractions, dates).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import islice
from typing import Any, cast

import orjson

from rltui.core.later import regex
from rltui.formats.base import clean_tag, clean_text

#: Shorter documents and lines are parsed whatever is in them.
SHORT = 1 << 20
#: Bytes that a parsed document may take, beside those per byte of it: real ones of 20 MB are read.
_BASE_BYTES = 256 << 20
_BYTES_PER_BYTE = 6
#: Bytes of an element, a name, a list and an object, at most: the parser's own tree and the
#: values. Names that many objects share are kept once, those of one huge object are not.
_ELEMENT_BYTES = 52
_NAME_BYTES = 46
_LIST_BYTES = 72
_OBJECT_BYTES = 200
_FEW_NAMES = 2048
_OWN_NAME_BYTES = 250
#: Names of the wall time in text logs.
TIME_KEYS = ("wall_time", "_timestamp", "timestamp", "time", "datetime", "ts")
#: Epoch seconds from 2001 to 5138, and the same in milliseconds. Other values under these names
#: are not wall times (seconds since the start, a duration).
_SECONDS = (1e9, 1e11)
_MILLISECONDS = (1e12, 1e14)
_DATE = regex(r"\d{4}-\d\d-\d\d[T _]\d\d:\d\d")
_CLOCK = regex(r"(?:(\d{1,6}) days?, )?(\d{1,6}):(\d\d):(\d\d(?:\.\d+)?)")
_UNITS = regex(
    r"(?=\d)(?:(\d{1,9})d ?)?(?:(\d{1,9})h ?)?(?:(\d{1,9})m ?)?(?:(\d{1,9}(?:\.\d+)?)s)?"
)
#: NaN and the infinities as quoted in strict JSON, and by ``str``.
WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
WORDS |= {text: float(text) for text in ("nan", "inf", "-inf")}
#: Settings of one document, nesting, characters of a text, items of a list that are kept.
MOST_SETTINGS = 5000
_MAX_DEPTH = 16
_MAX_CHARS = 1000
_MAX_ITEMS = 100
Settings = dict[str, object]
_LISTS = (list, tuple, set, frozenset)
#: Bits of an integer that is written in decimal.
_MAX_BITS = 1024


def fits_memory(data: bytes | memoryview) -> bool:
    """Whether parsing is sure to take little memory for the size of the data: a document of
    nothing but ``[],[],`` takes thirty times its size."""
    if len(data) <= SHORT:
        return True
    data = bytes(data)
    names = data.count(b":")
    objects = data.count(b"{")
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


def json_or_none(data: bytes) -> Any:
    """The value of a document as :func:`parsed` reads it; None for what is none."""
    try:
        return parsed(data)
    except ValueError:
        return None


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


def flat_settings(document: Mapping[Any, object], joint: str = ".") -> Settings:
    """Name -> number, bool, text or None of a nested document, in its order. A list of plain
    values is one text; one of objects is numbered.

    >>> flat_settings({"actor": {"optim": {"lr": 1e-6}, "loads": ["model", 2]}})
    {'actor.optim.lr': 1e-06, 'actor.loads': '[model, 2]'}
    """
    found: Settings = {}
    _collect(document.items(), "", joint, 0, found)
    return found


def _collect(
    pairs: Iterable[tuple[object, object]], prefix: str, joint: str, depth: int, found: Settings
) -> None:
    for key, value in pairs:
        if len(found) >= MOST_SETTINGS:
            return
        name = f"{prefix}{_shown(key)}"
        inner: Iterable[tuple[object, object]] | None = None
        if isinstance(value, Mapping) and value:
            inner = value.items()
        elif isinstance(value, (list, tuple)) and any(isinstance(v, Mapping) for v in value):
            inner = enumerate(islice(value, _MAX_ITEMS))
        if inner is None:
            found[clean_tag(name)] = _plain(value)
        elif depth < _MAX_DEPTH:
            _collect(inner, f"{name}{joint}", joint, depth + 1, found)


def _plain(value: object) -> object:
    """A value as it is kept: a number, bool or None as it is, anything else as a text."""
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, int) and abs(value) < 1 << 64:
        return value
    if isinstance(value, Mapping):
        value = "{}"
    elif isinstance(value, _LISTS):
        items = [
            _shown(v)[:_MAX_CHARS]
            if not isinstance(v, (*_LISTS, Mapping))
            else "[…]"
            if v
            else "[]"
            for v in islice(value, _MAX_ITEMS)
        ]
        value = f"[{', '.join([*items, '…'] if len(value) > _MAX_ITEMS else items)}]"
    return clean_text(_shown(value)[:_MAX_CHARS])


def _shown(value: object) -> str:
    """A key or value as text. Python refuses to write an integer of thousands of digits."""
    huge = isinstance(value, int) and value.bit_length() > _MAX_BITS
    return hex(cast("int", value)) if huge else str(value)
