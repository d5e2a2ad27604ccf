"""Reads records from YAML documents: a NamedTuple or dataclass says which keys there are and what
each holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from rltui.core.errors import DocumentError
from rltui.core.yaml_document import IncompleteError, Node, Table, note, shipped_table

T = TypeVar("T")


def shipped_record(kind: type[T], *parts: str) -> T:
    """A NamedTuple from the shipped document at ``parts``, read once, see :func:`read_record`.
    Raises DocumentError."""
    found: T = _shipped(kind, *parts)  # type: ignore[arg-type]
    return found


@cache
def _shipped(kind: Any, *parts: str) -> Any:
    table = shipped_table(*parts)
    found = record_of(table, kind)
    table.finish()
    return found


class Keyed(NamedTuple):
    """``Annotated[type, Keyed(...)]``: a field of a record whose key in the document is ``key``
    instead of its name, or whose value ``read`` takes from the node."""

    key: str = ""
    read: Callable[[Node], Any] | None = None


def _with_reason(read: Callable[[Node], T]) -> Callable[[Node], T]:
    def read_both(node: Node) -> T:
        table = node.table()
        value = read(table.need("value"))
        reason = table.need("source")
        if not reason.text().strip():
            reason.fail("the reason is missing")
        table.finish()
        return value

    return read_both


#: Numbers for which a document gives the reason: ``{value: 3, source: why}``.
Limit = Annotated[float, Keyed(read=_with_reason(Node.number))]
Count = Annotated[int, Keyed(read=_with_reason(Node.integer))]


def read_record(node: Node, kind: type[T], **given: Any) -> T:
    """A record from a mapping that has a key for each field: read as the type of the field
    says, and needed unless the field has a default. ``given`` are fields that no key holds.

    Raises DocumentError for a missing, unknown or wrong key. Where reading goes on behind errors, a
    field that is wrong has its default, or an empty value.
    """
    table = node.table()
    try:
        found = record_of(table, kind, **given)
    except IncompleteError:
        table.finish()
        raise
    table.finish()
    return found


def record_of(table: Table, kind: type[T], **given: Any) -> T:
    """Read a record, as :func:`read_record`, from a mapping that may have other keys, too."""
    record: Any = kind
    values = dict(given)
    incomplete = False
    for name, key, read, empty in fields_of(record):
        if name in given:
            continue
        is_needed = empty is not _OPTIONAL
        try:
            node = table.need(key) if is_needed else table.get(key)
            if node is not None:
                values[name] = read(node)
        except DocumentError as error:
            note(error)
            if is_needed:
                values[name] = empty
                incomplete = incomplete or empty is None
    if incomplete:
        raise IncompleteError("a part of it is wrong", path=table.node.path)
    return kind(**values)


#: In place of an empty value: the field has a default.
_OPTIONAL = object()
_EMPTY = {str: "", float: 0.0, int: 0, bool: False, tuple: ()}


@cache
def fields_of(kind: Any) -> tuple[tuple[str, str, Callable[[Node], Any], object], ...]:
    """(name, key, reader, value that stands for a wrong one) of each field of a record."""
    found = []
    if is_dataclass(kind):
        none = (MISSING, MISSING)
        optional = {f.name for f in fields(kind) if (f.default, f.default_factory) != none}
    else:
        optional = set(kind._field_defaults)
    for name, hint in get_type_hints(kind, include_extras=True).items():
        key = hint.__metadata__[0].key if get_origin(hint) is Annotated else ""
        plain = hint.__origin__ if get_origin(hint) is Annotated else hint
        empty = _EMPTY.get(get_origin(plain) or plain)
        if isinstance(plain, type) and issubclass(plain, Enum):
            empty = next(iter(plain))
        empty = _OPTIONAL if name in optional else empty
        found.append((name, key or name, _reader(hint), empty))
    return tuple(found)


_READERS: dict[Any, Callable[[Node], Any]] = {
    str: Node.text, float: Node.number, int: Node.integer, bool: Node.boolean, Node: lambda n: n,
    tuple[str, ...]: Node.texts, re.Pattern[str]: Node.pattern,
}  # fmt: skip


def _reader(hint: Any) -> Callable[[Node], Any]:
    """Make the reader of values of a type: of a scalar, a record, an enumeration, or those in a
    tuple, a mapping, or an optional field."""
    if hint in _READERS:
        return _READERS[hint]
    origin = get_origin(hint)
    arguments = get_args(hint)
    if origin is None:
        words = [member.value for member in hint] if issubclass(hint, Enum) else []
        return lambda node: hint(node.choice(words)) if words else read_record(node, hint)
    if origin is Annotated and arguments[1].read is not None:
        read: Callable[[Node], Any] = arguments[1].read
        return read
    inner = _reader(arguments[1] if origin is Mapping else arguments[0])
    if origin is tuple:
        return lambda node: tuple(node.each(inner))
    if origin is Mapping:
        return lambda node: node.table().each(inner)
    return inner  # of an optional or annotated type
