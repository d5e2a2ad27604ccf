"""One history row, split value by value: numbers, texts, and neither."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rltui.formats.json_value import parsed
from rltui.formats.protobuf import BYTES, fields, integer_field
from rltui.formats.wandb.shape import NUMBERS, QUOTED, is_word
from rltui.formats.wandb.step_metric import STEP
from rltui.formats.wandb.wandb_item import Name, Names, cells_of, token_of

_MAX_DEPTH = 8
#: Numbers read from one nested value.
_MAX_LEAVES = 1000
#: Three words or two lines: more than the name of a state or file.
_PROSE = re.compile(r"\S\s+\S+\s+\S|\S\n\S")


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


def read_row(data: bytes, start: int, stop: int, names: Names) -> HistoryRow:
    """Split a ``HistoryRecord``. Raises MalformedError when it is not one."""
    row = HistoryRow()
    cells = [(head, names.of(head), value) for head, value in cells_of(data, start, stop)]
    media = {name[:-1] for _, name, _ in cells if len(name) > 1 and name[-1] == b"_type"}
    for head, name, value in cells:
        whole = b".".join(name)
        if not whole or name[0] == b"_wandb" or (media and _is_part(name, media)):
            row.plain = False
        elif NUMBERS.fullmatch(value) and b"," not in value:
            row.plain = row.plain and whole not in row.numbers
            row.numbers[whole], row.heads[whole] = value, head
        elif (value[:1] != b"{" and is_word(value)) or not _other_value(row, whole, value):
            row.words.append(head)
        else:
            row.plain = False
    if STEP not in row.numbers:
        row.plain = False
        _number_row(row, data, start, stop)
    return row


def _is_part(name: Name, media: set[Name]) -> bool:
    """Whether a value is part of a histogram, an image or the like."""
    return any(name[:size] in media for size in range(1, len(name)))


def _number_row(row: HistoryRow, data: bytes, start: int, stop: int) -> None:
    """The step from ``HistoryStep``: older SDKs need not write it as an item."""
    for number, wire, a, b in fields(data, start, stop):
        if number == 2 and wire == BYTES:
            row.numbers[STEP] = b"%d" % integer_field(data, a, b, 1)


def _other_value(row: HistoryRow, name: bytes, value: bytes) -> bool:
    """A long text, a quoted number, or a dict that older SDKs did not flatten.

    Returns False for media, which are skipped.
    """
    if value in QUOTED:
        row.numbers[name] = QUOTED[value]
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
        for number, (parts, leaf) in enumerate(leaves(found, (), 0)):
            if number >= _MAX_LEAVES:
                break
            if isinstance(leaf, (bool, int, float)):
                key = ".".join(parts).encode("utf-8", "replace")
                row.numbers[name + b"." + key] = _token(leaf)
    return True


def _token(leaf: float) -> bytes:
    return token_of(leaf) if isinstance(leaf, float) else b"%d" % leaf


def leaves(value: Any, parts: tuple[str, ...], depth: int) -> Iterator[tuple[tuple[str, ...], Any]]:
    """(keys, value) of every leaf of nested dicts; media are skipped."""
    if not isinstance(value, dict):
        yield parts, value
    elif depth < _MAX_DEPTH and "_type" not in value:
        for key, inner in value.items():
            yield from leaves(inner, (*parts, str(key)), depth + 1)
