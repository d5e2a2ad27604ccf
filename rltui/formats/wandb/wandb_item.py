"""The items of wandb's records, a key and its value as JSON, split quickly.

``HistoryItem`` and similar messages: ``key`` = 1 (older SDKs), ``nested_key`` = 2 repeated (newer
ones, for flat names, too), ``value_json`` = 16, and typed values 3 to 8 that may replace it
(wandb/proto/wandb_internal.proto). A key is kept as encoded, its *head*; its name is decoded
once per file.
"""

from __future__ import annotations

import json
import math
import re
from struct import Struct

from rltui.formats.protobuf import BYTES, FIXED64, VARINT, MalformedError, encoded, fields, varint

#: Name of a value, as parts: ``("train/loss",)``, or ``("hist", "bins")`` of a nested one.
Name = tuple[bytes, ...]
Cells = list[tuple[bytes, bytes]]

_DOUBLE = Struct("<d")
_MAX_HEADS = 1 << 16
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
ITEM_BYTES = 5


def cells_of(data: bytes, start: int, stop: int) -> Cells:
    """(head, value) of each item of a message with items as field 1.

    Raises MalformedError when it is not a message.
    """
    cells: Cells = all_cells(data, start, stop)
    rest = stop - start - sum(map(item_bytes, cells))
    if is_rest(data, stop, rest):
        return cells
    return _careful(data, start, stop)


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


def _careful(data: bytes, start: int, stop: int) -> Cells:
    cells: Cells = []
    for number, wire, a, b in fields(data, start, stop):
        if number == 1 and wire == BYTES:
            cells.append(item_of(data, a, b))
    return cells


def item_of(data: bytes, start: int, stop: int) -> tuple[bytes, bytes]:
    """(head, value) of one item. Raises MalformedError when it is not one."""
    head, value = b"", b""
    for number, wire, a, b in fields(data, start, stop):
        if number in (1, 2) and wire == BYTES:
            head += bytes((number << 3 | 2,)) + encoded(b - a) + data[a:b]
        elif number in (8, 16) and wire == BYTES:
            value = data[a:b]
        elif number == 3 and wire == VARINT:
            value = b"null"
        elif number == 4 and wire == VARINT:
            value = b"true" if varint(data, a, b)[0] else b"false"
        elif number == 5 and wire == VARINT:
            zigzag = varint(data, a, b)[0]
            value = b"%d" % (zigzag >> 1 ^ -(zigzag & 1))
        elif number == 6 and wire == FIXED64:
            value = token_of(_DOUBLE.unpack_from(data, a)[0])
        elif number == 7 and wire == BYTES:
            value = json.dumps(data[a:b].decode("utf-8", "replace")).encode()
    return head, value


def token_of(number: float) -> bytes:
    """A number as wandb writes it."""
    if math.isfinite(number):
        return repr(number).encode()
    return b"NaN" if math.isnan(number) else b"Infinity" if number > 0 else b"-Infinity"


class Names:
    """head -> name, for one decoder."""

    def __init__(self) -> None:
        self._known: dict[bytes, Name] = {}

    def of(self, head: bytes) -> Name:
        """The parts of a name; empty when the head is broken."""
        name = self._known.get(head)
        if name is None:
            if len(self._known) >= _MAX_HEADS:
                self._known.clear()
            name = self._known[head] = _name(head)
        return name


def _name(head: bytes) -> Name:
    try:
        return tuple(head[a:b] for _, _, a, b in fields(head, 0, len(head)))
    except MalformedError:
        return ()
