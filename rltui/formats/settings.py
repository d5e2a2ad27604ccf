"""Settings of a run as flat names: nested objects joined, texts cleaned, everything bounded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, cast

from rltui.formats.base import clean_tag, clean_text

#: Settings of one document, nesting, characters of a text, items of a list that are kept.
MOST_SETTINGS = 5000
_MAX_DEPTH = 16
_MAX_CHARS = 1000
_MAX_ITEMS = 100
#: Bits of an integer that is written in decimal.
_MAX_BITS = 1024


def flat_settings(document: Mapping[Any, object], joint: str = ".") -> dict[str, object]:
    """Name -> number, bool, text or None of a nested document, in its order. A list of plain
    values is one text; one of objects is numbered.

    >>> flat_settings({"actor": {"optim": {"lr": 1e-6}, "loads": ["model", 2]}})
    {'actor.optim.lr': 1e-06, 'actor.loads': '[model, 2]'}
    """
    found: dict[str, object] = {}
    _collect(document.items(), "", joint, 0, found)
    return found


def _collect(
    pairs: Iterable[tuple[object, object]],
    prefix: str,
    joint: str,
    depth: int,
    found: dict[str, object],
) -> None:
    for key, value in pairs:
        if len(found) >= MOST_SETTINGS:
            return
        name = f"{prefix}{_shown(key)}"
        if isinstance(value, Mapping) and value:
            if depth < _MAX_DEPTH:
                _collect(value.items(), f"{name}{joint}", joint, depth + 1, found)
        elif isinstance(value, (list, tuple)) and any(isinstance(v, Mapping) for v in value):
            if depth < _MAX_DEPTH:
                numbered = enumerate(islice(value, _MAX_ITEMS))
                _collect(numbered, f"{name}{joint}", joint, depth + 1, found)
        else:
            found[clean_tag(name)] = _plain(value)


def _plain(value: object) -> object:
    """A value as it is kept: a number, bool or None as it is, anything else as a text."""
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, int) and abs(value) < 1 << 64:
        return value
    if isinstance(value, (list, tuple, set, frozenset)):
        items = [_item(v) for v in islice(value, _MAX_ITEMS)]
        value = f"[{', '.join([*items, '…'] if len(value) > _MAX_ITEMS else items)}]"
    elif isinstance(value, Mapping):
        value = "{}"
    return clean_text(_shown(value)[:_MAX_CHARS])


def _item(value: object) -> str:
    if isinstance(value, (list, tuple, set, frozenset, Mapping)):
        return "[…]" if value else "[]"
    return _shown(value)[:_MAX_CHARS]


def _shown(value: object) -> str:
    """A key or value as text. Python refuses to write an integer of thousands of digits."""
    huge = isinstance(value, int) and value.bit_length() > _MAX_BITS
    return hex(cast("int", value)) if huge else str(value)
