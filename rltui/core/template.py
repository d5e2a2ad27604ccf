"""Texts with fields: ``val {source}``, ``{share:%} of the answers``."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import NamedTuple

from rltui.core.yaml_document import Node, nearest

#: A field of a template.
_FIELD = re.compile(r"\{([a-z][a-z0-9_]*)(?::([^{}:]*))?\}")


class Field(NamedTuple):
    """One field of a template."""

    name: str
    spec: str = ""


@lru_cache(maxsize=4096)
def parts_of(template: str) -> tuple[str | Field, ...]:
    """The literal texts and fields of ``val {source}``, ``{share:%} of the answers``, in order.

    A field is ``{name}`` or ``{name:spec}``; what a spec means is the caller's business. There is
    no escape: raises ValueError for a brace that begins no field.
    """
    parts: list[str | Field] = []
    at = 0
    for found in (*_FIELD.finditer(template), None):
        literal = template[at : found.start() if found else len(template)]
        if "{" in literal or "}" in literal:
            raise ValueError("a field looks like {name} or {name:format}")
        if literal:
            parts.append(literal)
        if found:
            parts.append(Field(found[1], found[2] or ""))
            at = found.end()

    return tuple(parts)


def fill(template: str, show: Callable[[str, str], str]) -> str:
    """``template`` with each field replaced by ``show(name, spec)``."""
    if "{" not in template:
        return template
    return "".join(p if isinstance(p, str) else show(*p) for p in parts_of(template))


def read_template(node: Node, names: Collection[str], specs: Collection[str]) -> str:
    """The template at ``node``; ``specs`` are the formats a field may have besides none.

    Raises DocumentError for stray braces, unknown names and unknown formats.
    """
    text = node.text()
    try:
        parts = parts_of(text)
    except ValueError as error:
        node.fail(f"not a template: {error}")
    for part in parts:
        if isinstance(part, str):
            continue
        if part.name not in names:
            node.complain(f"unknown field {part.name!r}", hint=nearest(part.name, names))
        elif part.spec and part.spec not in specs:
            known = ", ".join(specs)
            node.complain(f"field {part.name!r}: format {part.spec!r} is not one of {known}")

    return text
