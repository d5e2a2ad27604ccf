"""Reads records from YAML documents: a NamedTuple says which keys there are and what each
holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum
from functools import lru_cache
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from rltui.core.yaml_document import Node, Table, shipped_table

T = TypeVar("T")


def shipped_record(kind: type[T], *parts: str) -> T:
    """A NamedTuple from the shipped document at ``parts``, see :func:`read_record`. Raises
    DocumentError."""
    table = shipped_table(*parts)
    found = record_of(table, kind)
    table.finish()
    return found


class Keyed(NamedTuple):
    """``Annotated[type, Keyed(...)]``: a field of a record whose key in the document is ``key``
    instead of its name, or whose value ``read`` takes from the node."""

    key: str = ""
    read: Callable[[Node], Any] | None = None


def read_record(node: Node, kind: type[T], **given: Any) -> T:
    """A NamedTuple from a mapping that has a key for each field: read as the type of the field
    says, and needed unless the field has a default. ``given`` are fields that no key holds.

    Raises DocumentError for a missing, unknown or wrong key.
    """
    table = node.table()
    found = record_of(table, kind, **given)
    table.finish()
    return found


def record_of(table: Table, kind: type[T], **given: Any) -> T:
    """As :func:`read_record`, from a mapping that may have other keys, too."""
    record: Any = kind
    values = dict(given)
    for name, key, read, is_needed in _fields_of(record):
        if name not in given:
            node = table.need(key) if is_needed else table.get(key)
            if node is not None:
                values[name] = read(node)
    return kind(**values)


@lru_cache(maxsize=256)
def _fields_of(kind: Any) -> tuple[tuple[str, str, Callable[[Node], Any], bool], ...]:
    """(name, key, reader, whether it is needed) of each field of a NamedTuple."""
    found = []
    for name, hint in get_type_hints(kind, include_extras=True).items():
        key = hint.__metadata__[0].key if get_origin(hint) is Annotated else ""
        found.append((name, key or name, _reader(hint), name not in kind._field_defaults))
    return tuple(found)


_READERS: dict[Any, Callable[[Node], Any]] = {
    str: Node.text, float: Node.number, int: Node.integer, bool: Node.boolean,
    tuple[str, ...]: Node.texts, re.Pattern[str]: Node.pattern,
}  # fmt: skip


def _reader(hint: Any) -> Callable[[Node], Any]:
    """What reads a value of a type: of a scalar, a record, an enumeration, or those in a tuple, a
    mapping, or an optional field."""
    if hint in _READERS:
        return _READERS[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is None:
        words = [member.value for member in hint] if issubclass(hint, Enum) else []
        return lambda node: hint(node.choice(words)) if words else read_record(node, hint)
    if origin is Annotated and arguments[1].read is not None:
        read: Callable[[Node], Any] = arguments[1].read
        return read
    inner = _reader(arguments[1] if origin is Mapping else arguments[0])
    if origin is tuple:
        return lambda node: tuple(map(inner, node.items()))
    if origin is Mapping:
        return lambda node: {name: inner(value) for name, value in node.table().pairs()}
    return inner  # of an optional or annotated type
