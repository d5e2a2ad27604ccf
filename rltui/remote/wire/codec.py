"""Encodes messages as JSON, and decodes JSON from untrusted hosts by the types of dataclass fields.

A message is an object of its fields, without those that have their defaults; a class within it is
a list of its fields. Sizes are bounded and text is cleaned. Unknown names are skipped.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Hashable, Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from sys import float_info
from types import UnionType
from typing import Annotated, Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from rltui.core.batch import Batch, MediaPlace, SourceInfo, TextPoint
from rltui.core.text import kept_clean
from rltui.formats.json_value import fits_memory
from rltui.sources.options import Intervals

T = TypeVar("T", bound=Hashable)
_Read = Callable[[Any], Any]


class Bounds(NamedTuple):
    """Least and greatest value of a number, or number of characters or entries."""

    least: float
    most: float


#: A text of a field, and one that a run logged, perhaps of several lines.
_TEXT = Bounds(0, 1 << 16)
_LONG_TEXT = Bounds(0, 1 << 24)
_WHOLE = Bounds(0, 1 << 62)
_ENTRIES = Bounds(0, 1 << 20)
MOST_SETTINGS = 1 << 16
MOST_WHOLE_SETTING = 1 << 64
Int64 = Annotated[int, Bounds(-(1 << 63), (1 << 63) - 1)]
Signed = Annotated[int, Bounds(-(1 << 20), 1 << 20)]
#: Also NaN and infinities.
AnyFloat = Annotated[float, Bounds(-math.inf, math.inf)]
LongText = Annotated[str, _LONG_TEXT]
#: Fields of classes that are no messages, where they have other bounds than usual.
_BOUNDED: dict[type, dict[str, Any]] = {
    # their items are decoded apart
    Batch: {"items": tuple[object, ...], "exit_code": Int64 | None},
    SourceInfo: {"order": Signed, "precision_rank": Signed},
    MediaPlace: {"step": Int64},
    TextPoint: {"step": Int64, "wall_time": AnyFloat, "text": LongText},
    Intervals: dict.fromkeys(
        ("fast_s", "slow_s", "rescan_s", "remote_s"), Annotated[float, Bounds(0.01, 1e9)]
    ),
}


class WireError(Exception):
    """The bytes are no stream of rltui, or a damaged one; the text says what is wrong."""


def dump_json(value: object) -> bytes:
    """A record, or a part of one, as JSON; NaN, infinities and undecodable names survive."""
    return json.dumps(value, separators=(",", ":"), default=str).encode()


def dump(message: Any) -> bytes:
    """A message as JSON."""
    return dump_json(record_of(message))


def record_of(message: Any) -> dict[str, object]:
    """The fields of a message that differ from their defaults, as values of JSON."""
    values = ((name, getattr(message, name), usual) for name, usual in _usual(message.__class__))
    return {name: plain(value) for name, value, usual in values if value != usual}


@cache
def _usual(kind: type) -> tuple[tuple[str, object], ...]:
    """Name and default of each field of a message."""
    missing = dataclasses.MISSING
    return tuple(
        (f.name, f.default if f.default_factory is missing else f.default_factory())
        for f in dataclasses.fields(kind)
    )


def plain(value: Any) -> object:
    """A value of a field as one of JSON."""
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, (str, int, float, Path)):
        return str(value) if isinstance(value, Path) else value
    if isinstance(value, Mapping):
        large = {n for n, v in value.items() if isinstance(v, int) and abs(v) >= MOST_WHOLE_SETTING}
        return {name: f"{v:#x}" if name in large else v for name, v in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(x) for x in value]
    if isinstance(value, frozenset):
        return sorted(value)

    return [plain(getattr(value, name)) for name, _ in _usual(value.__class__)]


def load(kind: type[T], data: bytes) -> T:
    """Decode a message from JSON. Raises WireError, also for values that would take many times the
    size of the text in memory."""
    return message_of(kind, load_json(data))


def load_json(data: bytes) -> dict[str, object]:
    """The object of a JSON text. Raises WireError."""
    if not fits_memory(data):
        raise WireError("a record has too many values")
    try:
        found = json.loads(data or b"{}")
    except (ValueError, RecursionError):
        raise WireError("a record is not JSON") from None
    if not isinstance(found, dict):
        raise WireError("a record is not an object")
    return found


def message_of(kind: type[T], record: Mapping[str, object]) -> T:
    """The message of a record. Raises WireError."""
    read = _fields(kind)
    try:
        return kind(**{name: read[name](record[name]) for name in read.keys() & record.keys()})
    except TypeError:
        raise WireError("a record lacks a field") from None


@cache
def _fields(kind: type) -> dict[str, _Read]:
    """Name -> reader for each field of a dataclass or named tuple, in their order."""
    names = getattr(kind, "_fields", None) or [f.name for f in dataclasses.fields(kind)]
    hints = get_type_hints(kind, include_extras=True) | _BOUNDED.get(kind, {})
    return {name: _reader(hints[name]) for name in names}


def _reader(hint: Any) -> _Read:  # noqa: PLR0911 - one for each sort of type
    """A function that checks a JSON value and converts it to a type."""
    bounds: Bounds | None = None
    if get_origin(hint) is Annotated:
        hint, bounds = get_args(hint)
    origin = get_origin(hint)
    inner = get_args(hint)
    if hint is object:
        return lambda value: value
    if origin in (Union, UnionType):
        read = _reader(next(x for x in inner if x is not type(None)))
        return lambda value: None if value is None else read(value)
    if hint in _PLAIN:
        plain_reader, usual = _PLAIN[hint]
        return lambda value: plain_reader(value, bounds or usual)
    if origin is tuple and inner[-1] is not ...:
        return _row_reader(list(map(_reader, inner)), lambda *values: values)
    if origin in (tuple, frozenset):
        return _list_reader(origin, _reader(inner[0]), bounds or _ENTRIES)
    if origin is dict:
        return _settings
    if issubclass(hint, Enum):
        return _enum_reader(hint)

    return _row_reader(list(_fields(hint).values()), hint)


def _row_reader(reads: list[_Read], make: Callable[..., Any]) -> _Read:
    def read(value: object) -> Any:
        if not isinstance(value, list) or len(value) != len(reads):
            raise WireError(f"a list of {len(reads)} entries was expected")
        return make(*(read(x) for read, x in zip(reads, value, strict=True)))

    return read


def _list_reader(make: Callable[..., Any], read_entry: _Read, bounds: Bounds) -> _Read:
    def read(value: object) -> Any:
        if not isinstance(value, list) or len(value) > bounds.most:
            raise WireError("a list was expected, or it is too long")
        return make(map(read_entry, value))

    return read


def _enum_reader(kind: type[Enum]) -> _Read:
    def read(value: object) -> Any:
        try:
            return kind(value)
        except ValueError:
            raise WireError(f"no such {kind.__name__.lower()}") from None

    return read


def _text(value: object, bounds: Bounds) -> str:
    """A text, cleaned; line by line where it may have several."""
    if not isinstance(value, str) or len(value) > bounds.most:
        raise WireError("a text was expected, or it is too long")
    if value.isprintable():
        return value
    lines = value.split("\n") if bounds is _LONG_TEXT else [value]
    return "\n".join(map(kept_clean, lines))


def _path(value: object, bounds: Bounds) -> Path:
    """A path on the other side, as it is."""
    if not isinstance(value, str) or len(value) > bounds.most or "\0" in value:
        raise WireError("a path was expected")
    return Path(value)


def _flag(value: object, _: Bounds) -> bool:
    if not isinstance(value, bool):
        raise WireError("neither true nor false")
    return value


def _whole(value: object, bounds: Bounds) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise WireError("a whole number was expected")
    if not bounds.least <= value <= bounds.most:
        raise WireError("a whole number is out of bounds")
    return value


def _number(value: object, bounds: Bounds) -> float:
    """A number; NaN only where infinities are accepted, too."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise WireError("a number was expected")
    try:
        number = float(value)
    except OverflowError:
        raise WireError("a number is too large") from None
    if bounds.most < math.inf and not bounds.least <= number <= bounds.most:
        raise WireError("a number is out of bounds")
    return number


def _settings(value: object) -> dict[str, object]:
    """Flat settings: numbers, truth values, texts."""
    if not isinstance(value, dict) or len(value) > MOST_SETTINGS:
        raise WireError("settings were expected, or there are too many")
    return {_text(name, _TEXT): _setting(setting) for name, setting in value.items()}


def _setting(value: object) -> object:
    if isinstance(value, str):
        return _text(value, _LONG_TEXT)
    if isinstance(value, int) and abs(value) >= MOST_WHOLE_SETTING:
        raise WireError("a whole number is out of bounds")
    if value is None or isinstance(value, (bool, int, float)):
        return value
    raise WireError("a setting is no plain value")


#: Reader and default bounds of each plain type.
_PLAIN: dict[Any, tuple[Callable[[object, Bounds], Any], Bounds]] = {
    str: (_text, _TEXT),
    Path: (_path, _TEXT),
    bool: (_flag, _WHOLE),
    int: (_whole, _WHOLE),
    float: (_number, Bounds(-float_info.max, float_info.max)),
}
