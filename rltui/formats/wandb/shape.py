"""Rows of wandb's history with equal names, collected and converted to one matrix."""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import itemgetter

import numpy as np

from rltui.core.block import FloatArray
from rltui.formats.base import clean_tag
from rltui.formats.json_value import parsed
from rltui.formats.wandb.step_metric import STEP
from rltui.formats.wandb.wandb_item import ITEM_BYTES

TIME, RUNTIME = b"_timestamp", b"_runtime"
#: The SDK's own names: the position of a row, not metrics.
OWN = (STEP, TIME, RUNTIME)
#: Characters of numbers in JSON.
_NUMBER = b"0123456789+-.eE,"
NUMBERS = re.compile(rb"(?:(?:-?[0-9][-+0-9.eE]*|NaN|-?Infinity|true|false)(?:,|$))+")
#: Longest text of a value that is skipped unread.
_MAX_WORD = 16
#: Numbers that JSON lacks, as some writers quote them.
QUOTED = {b'"NaN"': b"NaN", b'"Infinity"': b"Infinity", b'"-Infinity"': b"-Infinity"}


class Shape:
    """Rows with exactly these numbers. ``names`` are raw, and distinct even when cleaned."""

    def __init__(self, names: tuple[bytes, ...], *, system: bool = False) -> None:
        self.names = names
        self.system = system
        self.column = {name: number for number, name in enumerate(names)}
        self._texts: list[bytes] = []

    def add(self, text: bytes) -> None:
        """Add a row: its values as JSON in the order of the names, joined by commas."""
        self._texts.append(text)

    def take(self) -> FloatArray:
        """The rows since the last call (n, names); a row that is not JSON is all NaN."""
        texts, self._texts = self._texts, []
        try:
            flat = _numbers(b"[" + b",".join(texts) + b"]")
            return flat.reshape(len(texts), len(self.names))
        except ValueError:
            return np.array([self._row(text) for text in texts])

    def _row(self, text: bytes) -> FloatArray:
        try:
            return _numbers(b"[" + text + b"]").reshape(len(self.names))
        except ValueError:
            return np.full(len(self.names), np.nan)


def _numbers(text: bytes) -> FloatArray:
    """The numbers of a JSON list; NaN and Infinity are accepted. Raises ValueError."""
    try:
        return np.array(parsed(text), np.float64)
    except (TypeError, OverflowError) as error:
        raise ValueError("no numbers") from error


def distinct(names: list[bytes]) -> tuple[bytes, ...]:
    """Those of ``names`` that stay distinct when cleaned."""
    found: dict[str, bytes] = {}
    for name in names:
        found.setdefault(clean_tag(name), name)
    return tuple(found.values())


class RowTemplate:
    """Reads a row with exactly these heads, in any order, at once. The hot path."""

    def __init__(self, numbers: tuple[bytes, ...], words: tuple[bytes, ...], shape: Shape) -> None:
        """``numbers``: heads in the order of the shape; ``words``: heads of texts, lists and
        media, which are skipped."""
        self.shape = shape
        self.size = len(numbers) + len(words)
        # all heads, the bytes around each value, and no comma behind the last one
        self._fixed = sum(map(len, numbers + words)) + ITEM_BYTES * self.size - len(numbers) + 1
        self._pick = _picker(numbers)
        self._words = _picker(words) if words else None

    def pick(self, cells: dict[bytes, bytes]) -> tuple[bytes, int] | None:
        """(text of the numbers, bytes of all items), or None when the row has another form.

        The number of bytes is right if every length in the row takes one byte.
        Raises KeyError for other heads.
        """
        text = b",".join(self._pick(cells))
        if text.translate(None, _NUMBER) and not NUMBERS.fullmatch(text):
            return None
        size = self._fixed + len(text)
        if self._words is not None:
            for value in self._words(cells):
                if not is_word(value):
                    return None
                size += len(value)
        return text, size


def _picker(heads: tuple[bytes, ...]) -> Callable[[dict[bytes, bytes]], tuple[bytes, ...]]:
    if len(heads) == 1:
        return lambda cells: (cells[heads[0]],)
    getter: Callable[[dict[bytes, bytes]], tuple[bytes, ...]] = itemgetter(*heads)
    return getter


def is_word(value: bytes) -> bool:
    """Whether a value is certainly neither a number nor a text worth keeping."""
    kind = value[:1]
    if kind == b'"':
        return len(value) <= _MAX_WORD and value not in QUOTED
    return kind in (b"[", b"n") or (kind == b"{" and b'"_type"' in value)
