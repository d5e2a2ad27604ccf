"""Reads a JSON record that a stranger may have written."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from rltui.core.batch import Note, RunKey
from rltui.core.level import Level
from rltui.core.text import kept_clean
from rltui.formats.json_value import fits_memory

T = TypeVar("T")

#: Longest text of a field; texts that a run logged may be longer.
_TEXT = 1 << 16
_LONG_TEXT = 1 << 24
_MOST_WHOLE = 1 << 62
MOST_SETTINGS = 1 << 16
MOST_WHOLE_SETTING = 1 << 64


class WireError(Exception):
    """What came is no stream of rltui, or a damaged one; the text says what is wrong."""


def dump(record: object) -> bytes:
    """A record, or a part of one, as JSON; NaN, infinities and undecodable names survive."""
    return json.dumps(record, separators=(",", ":"), default=str).encode()


class Record:
    """The fields of a record. Every method raises WireError for a value that cannot be."""

    def __init__(self, fields: object) -> None:
        if not isinstance(fields, dict):
            raise WireError("a record is not an object")
        self._fields = fields

    @classmethod
    def load(cls, data: bytes) -> Record:
        """The record of a JSON text, whose values must not take many times its size."""
        if not fits_memory(data):
            raise WireError("a record has too many values")
        try:
            return cls(json.loads(data))
        except (ValueError, RecursionError):
            raise WireError("a record is not JSON") from None

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    def get(self, name: str) -> object:
        """A value as it came; None where there is none."""
        return self._fields.get(name)

    def text(self, name: str, default: str = "") -> str:
        """A text, cleaned."""
        return text_of(self._fields.get(name, default))

    def path(self, name: str) -> Path:
        """A path on the other side, as it is."""
        return path_of(self._fields.get(name))

    def whole(self, name: str, default: int = 0, *, low: int = 0, high: int = _MOST_WHOLE) -> int:
        """A whole number."""
        return whole_of(self._fields.get(name, default), low, high)

    def maybe_whole(self, name: str, *, low: int = 0, high: int = _MOST_WHOLE) -> int | None:
        """A whole number, or None where there is none."""
        return None if self._fields.get(name) is None else self.whole(name, low=low, high=high)

    def number(self, name: str, default: float = 0.0) -> float:
        """A finite number."""
        return number_of(self._fields.get(name, default))

    def flag(self, name: str) -> bool:
        """Whether something is so; it is not where nothing is said."""
        value = self._fields.get(name, False)
        if not isinstance(value, bool):
            raise WireError(f"{name} is neither true nor false")
        return value

    def settings(self, name: str) -> dict[str, object]:
        """Flat settings: numbers, truth values, texts."""
        found = self._fields.get(name, {})
        if not isinstance(found, dict) or len(found) > MOST_SETTINGS:
            raise WireError("settings were expected, or there are too many")
        return {text_of(key): _setting(value) for key, value in found.items()}

    def items(self, name: str, read: Callable[[object], T], most: int = 1 << 20) -> tuple[T, ...]:
        """A list; none where there is nothing."""
        return tuple(map(read, list_of(self._fields.get(name, []), most)))


def list_of(value: object, most: int) -> list[object]:
    """A list of at most ``most`` entries."""
    if not isinstance(value, list) or len(value) > most:
        raise WireError("a list was expected, or it is too long")
    return value


def row_of(value: object, size: int) -> list[object]:
    """A list of ``size`` entries."""
    if not isinstance(value, list) or len(value) != size:
        raise WireError(f"a list of {size} entries was expected")
    return value


def text_of(value: object, most: int = _TEXT) -> str:
    """A text, cleaned."""
    if not isinstance(value, str) or len(value) > most:
        raise WireError("a text was expected, or it is too long")
    return kept_clean(value)


def long_text_of(value: object) -> str:
    """A text that a run logged: of several lines, perhaps."""
    if not isinstance(value, str) or len(value) > _LONG_TEXT:
        raise WireError("a text was expected, or it is too long")
    if value.isprintable():
        return value
    return "\n".join(map(kept_clean, value.split("\n")))


def _setting(value: object) -> object:
    if isinstance(value, str):
        return long_text_of(value)
    if isinstance(value, int) and abs(value) >= MOST_WHOLE_SETTING:
        raise WireError("a whole number is out of bounds")
    if value is None or isinstance(value, (bool, int, float)):
        return value
    raise WireError("a setting is no plain value")


def path_of(value: object) -> Path:
    """A path on the other side."""
    if not isinstance(value, str) or len(value) > _TEXT or "\0" in value:
        raise WireError("a path was expected")
    return Path(value)


def whole_of(value: object, low: int, high: int) -> int:
    """A whole number from ``low`` to ``high``."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise WireError("a whole number was expected, or it is out of bounds")
    return value


def number_of(value: object, *, finite: bool = True) -> float:
    """A number."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise WireError("a number was expected")
    try:
        number = float(value)
    except OverflowError:
        raise WireError("a number is too large") from None
    if finite and not math.isfinite(number):
        raise WireError("a finite number was expected")
    return number


def key_of(value: object) -> RunKey:
    """The key of a run, as ``[logdir, name]``."""
    number, name = row_of(value, 2)
    return RunKey(whole_of(number, 0, 1 << 20), text_of(name))


def level_of(value: object) -> Level:
    """A level, by its word."""
    try:
        return Level[str(value).upper()]
    except KeyError:
        raise WireError("no such level") from None


def note_row(note: Note) -> list[object]:
    """A note as a list."""
    return [str(note.path), note.offset, note.level.word, note.message]


def note_of(value: object) -> Note:
    """A note, as ``[path, offset, level, message]``."""
    path, offset, level, message = row_of(value, 4)
    place = None if offset is None else whole_of(offset, 0, _MOST_WHOLE)
    return Note(path_of(path), place, level_of(level), text_of(message))
