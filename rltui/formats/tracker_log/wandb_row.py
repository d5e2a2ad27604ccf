"""Rows of wandb's records: names and values as JSON, split quickly, or value by value.

``HistoryItem`` and similar messages: ``key`` = 1 (older SDKs), ``nested_key`` = 2 repeated (newer
ones, for flat names, too), ``value_json`` = 16, and typed values 3 to 8 that may replace it
(wandb/proto/wandb_internal.proto). A key is kept as encoded, its *head*; its name is decoded
once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, islice
from struct import Struct
from typing import Any

import numpy as np

from rltui.core.block import FloatArray
from rltui.core.text import Names
from rltui.formats.base import clean_tag
from rltui.formats.json_value import parsed
from rltui.formats.row_sink import picker
from rltui.formats.tfevents.framing import (
    BYTES,
    FIXED64,
    VARINT,
    MalformedError,
    encoded,
    fields,
    integer_field,
    last_fields,
    varint,
)

#: The SDK's own names: the position of a row, not metrics.
STEP, TIME, RUNTIME = OWN = (b"_step", b"_timestamp", b"_runtime")
#: Name of a value, as parts: ``("train/loss",)``, or ``("hist", "bins")`` of a nested one.
Name = tuple[bytes, ...]

_DOUBLE = Struct("<d")
#: One item: its length, head, length of the value, value. JSON has no control characters, and
#: keys have none in practice; each row is checked to add up to its length. The repetitions are
#: bounded so that garbage cannot take quadratic time.
_ITEM = (
    rb"\n[\x80-\xff]?."
    rb"((?:[\n\x12][\x80-\xff]?.[ -\xff]+){1,16})"
    rb"\x82\x01[\x80-\xff]?."
    rb"([ -\xff]+)"
)
#: Faster, but misses heads with a length of 1 or of 128 and more.
_QUICK_ITEM = rb"\n[\x80-\xff]?.([^\x01]{1,250})\x82\x01[\x80-\xff]?.([ -\xff]+)"
#: Return (head, value) of each item between two positions, unchecked.
quick_cells = re.compile(_QUICK_ITEM, re.DOTALL).findall
all_cells = re.compile(_ITEM, re.DOTALL).findall
_MAX_STEP_BYTES = 13
#: Bytes of an item besides head and value, where all lengths are below 128.
_ITEM_BYTES = 5
#: Characters of numbers in JSON.
_NUMBER = b"0123456789+-.eE,"
NUMBERS = re.compile(rb"(?:(?:-?[0-9][-+0-9.eE]*|NaN|-?Infinity|true|false)(?:,|$))+")
#: Longest text of a value that is skipped unread.
_MAX_WORD = 16
#: Numbers that JSON lacks, as some writers quote them.
_QUOTED = {b'"NaN"': b"NaN", b'"Infinity"': b"Infinity", b'"-Infinity"': b"-Infinity"}

#: In a value that is drawn: no template may skip it.
_MEDIA = re.compile(rb'^\{.*"_type": ?"(?:histogram|image)')

_MAX_DEPTH = 8
#: Numbers read from one nested value.
_MAX_LEAVES = 1000
#: Three words or two lines: more than the name of a state or file.
_PROSE = re.compile(r"\S\s+\S+\s+\S|\S\n\S")


def item_bytes(cell: tuple[bytes, bytes]) -> int:
    """Bytes of an item as the pattern reads it."""
    head, value = cell
    inner = len(head) + len(value) + (3 if len(value) < 128 else 4)
    return inner + (2 if inner < 128 else 3)


def is_rest(data: bytes, stop: int, rest: int) -> bool:
    """Whether the last ``rest`` bytes before ``stop`` are one short field ``HistoryStep`` (2),
    or nothing, so that the items cover everything before."""
    if not rest:
        return True
    return (
        2 <= rest <= _MAX_STEP_BYTES
        and data[stop - rest] == 0x12
        and data[stop - rest + 1] == rest - 2
    )


def item_of(data: bytes, start: int, stop: int) -> tuple[bytes, bytes]:
    """(head, value as JSON) of one item. Raises MalformedError when it is not one."""
    head = b""
    value = b""
    for number, wire, a, b in fields(data, start, stop):
        if number in (1, 2) and wire == BYTES:
            head += bytes((number << 3 | 2,)) + encoded(b - a) + data[a:b]
        elif number in (8, 16) and wire == BYTES:
            value = data[a:b]
        elif (number, wire) == (7, BYTES):
            value = json.dumps(data[a:b].decode("utf-8", "replace")).encode()
        elif (number, wire) == (6, FIXED64):
            value = token_of(_DOUBLE.unpack_from(data, a)[0])
        elif number in (3, 4, 5) and wire == VARINT:
            typed = varint(data, a, b)[0]
            zigzag = b"%d" % (typed >> 1 ^ -(typed & 1))
            value = (b"null", b"true" if typed else b"false", zigzag)[number - 3]
    return head, value


def token_of(number: float) -> bytes:
    """A number as wandb writes it."""
    return json.dumps(number).encode()


@lru_cache(maxsize=1 << 14)
def name_of(head: bytes) -> Name:
    """The parts of a name; empty when the head is broken."""
    try:
        return tuple(head[a:b] for _, _, a, b in fields(head, 0, len(head)))
    except MalformedError:
        return ()


def leaves(value: Any, parts: Names, depth: int) -> Iterator[tuple[Names, Any]]:
    """(keys, value) of every leaf of nested dicts; media are skipped."""
    if not isinstance(value, dict):
        yield parts, value
    elif depth < _MAX_DEPTH and "_type" not in value:
        for key, inner in value.items():
            yield from leaves(inner, (*parts, str(key)), depth + 1)


# -- one row, value by value ------------------------------------------------------------------


@dataclass(slots=True)
class HistoryRow:
    """The content of a history record."""

    numbers: dict[bytes, bytes] = field(default_factory=dict)
    """Raw name -> number as JSON, ``_step`` and the like included."""
    texts: dict[bytes, str] = field(default_factory=dict)
    """Raw name -> text worth showing."""
    heads: dict[bytes, bytes] = field(default_factory=dict)
    """Raw name -> head, of the numbers."""
    words: list[bytes] = field(default_factory=list)
    """Heads of values that are neither number nor text."""
    plain: bool = True
    """Whether every value is a number or a word, as templates need."""
    broken: bool = False
    """Whether a value could not be read."""


def read_row(data: bytes, start: int, stop: int) -> HistoryRow:
    """Split a ``HistoryRecord``. Raises MalformedError when it is not one."""
    row = HistoryRow()
    cells = cells_of(data, start, stop)
    names = [name_of(head) for head, _ in cells]
    media = {name[:-1] for name in names if name[1:] and name[-1] == b"_type"}
    for name, (head, value) in zip(names, cells, strict=True):
        whole = b".".join(name)
        in_media = not media.isdisjoint(accumulate((part,) for part in name[:-1]))
        if in_media or not whole or name[0] == b"_wandb":  # a part of an image, the SDK's own
            row.plain = False
        elif NUMBERS.fullmatch(value) and b"," not in value:
            row.plain = row.plain and whole not in row.numbers
            row.numbers[whole] = value
            row.heads[whole] = head
        elif (value[:1] != b"{" and _is_word(value)) or not _other_value(row, whole, value):
            row.words.append(head)
            row.plain = row.plain and not _MEDIA.search(value)
        else:
            row.plain = False

    if STEP not in row.numbers:
        row.plain = False
        step = last_fields(data, start, stop).get((2, BYTES))
        if step is not None:  # older SDKs need not write it as an item
            row.numbers[STEP] = b"%d" % integer_field(data, *step, 1)
    return row


def cells_of(data: bytes, start: int, stop: int) -> list[tuple[bytes, bytes]]:
    """(head, value) of each item of a row. Raises MalformedError when it is none."""
    cells: list[tuple[bytes, bytes]] = all_cells(data, start, stop)
    if not is_rest(data, stop, stop - start - sum(map(item_bytes, cells))):
        items = fields(data, start, stop)
        cells = [item_of(data, a, b) for *key, a, b in items if key == [1, BYTES]]
    return cells


def _other_value(row: HistoryRow, name: bytes, value: bytes) -> bool:
    """A long text, a quoted number, or a dict that older SDKs did not flatten.

    Returns False for media, which are skipped.
    """
    if value in _QUOTED:
        row.numbers[name] = _QUOTED[value]
        return True

    try:
        found = parsed(value)
    except ValueError:
        row.broken = True
        return True

    if isinstance(found, str):
        if _PROSE.search(found):
            row.texts[name] = found
    elif isinstance(found, dict):
        if "_type" in found:
            return False
        for parts, leaf in islice(leaves(found, (), 0), _MAX_LEAVES):
            if isinstance(leaf, (bool, int, float)):
                key = ".".join(parts).encode("utf-8", "replace")
                row.numbers[name + b"." + key] = token_of(leaf)
    return True


def _is_word(value: bytes) -> bool:
    """Whether a value is certainly neither a number nor a text worth keeping."""
    kind = value[:1]
    if kind == b'"':
        return len(value) <= _MAX_WORD and value not in _QUOTED
    return kind in (b"[", b"n") or (kind == b"{" and b'"_type"' in value)


# -- rows with equal names --------------------------------------------------------------------


class Shape:
    """Rows with the numbers of these names, collected and converted to one matrix.

    ``names`` are raw, and distinct even when cleaned.
    """

    def __init__(self, names: list[bytes], *, system: bool) -> None:
        distinct: dict[str, bytes] = {}
        for name in names:
            distinct.setdefault(clean_tag(name), name)
        self.names = tuple(distinct.values())
        self.system = system
        self.column = {name: number for number, name in enumerate(self.names)}
        self.texts: list[bytes] = []
        """Texts of the rows: the values of each as JSON in the order of the names, joined by
        commas."""

    def values(self) -> FloatArray:
        """The rows since the last call (n, names); a row that is not JSON is all NaN."""
        texts = self.texts
        self.texts = []
        try:
            flat = np.array(parsed(b"[" + b",".join(texts) + b"]"), np.float64)
            return flat.reshape(len(texts), len(self.names))
        except (TypeError, ValueError, OverflowError):
            if len(texts) == 1:
                return np.full((1, len(self.names)), np.nan)

        rows = []
        for text in texts:
            self.texts = [text]
            rows.append(self.values())
        return np.concatenate(rows)


class RowTemplate:
    """Reads a row with exactly these heads, in any order, at once. The hot path."""

    def __init__(self, numbers: tuple[bytes, ...], words: tuple[bytes, ...], shape: Shape) -> None:
        """``numbers``: heads in the order of the shape; ``words``: heads of texts, lists and
        media, which are skipped."""
        self.shape = shape
        self.size = len(numbers) + len(words)
        # all heads, the bytes around each value, and no comma behind the last one
        self._fixed = sum(map(len, numbers + words)) + _ITEM_BYTES * self.size - len(numbers) + 1
        self._numbers = picker(numbers)
        self._words = picker(words)

    def pick(self, cells: dict[bytes, bytes]) -> tuple[bytes, int] | None:
        """(text of the numbers, bytes of all items), or None when the row has another form.

        The number of bytes is right if every length in the row takes one byte.
        Raises KeyError for other heads.
        """
        text = b",".join(self._numbers(cells))
        if text.translate(None, _NUMBER) and not NUMBERS.fullmatch(text):
            return None
        size = self._fixed + len(text)
        for value in self._words(cells):
            if not _is_word(value):
                return None
            size += len(value)

        return text, size
