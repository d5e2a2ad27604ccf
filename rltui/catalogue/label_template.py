"""Titles and units with labels in them: ``val {source}``, ``mean@{n}``.

``{name}`` is the last path part of the label, ``{name:words}`` the same as words (with the part
before it when it is only a statistic), ``{name:full}`` the whole label.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from rltui.catalogue.guess import short_title
from rltui.core.yaml_document import Node, nearest

_FIELD = re.compile(r"\{([a-z][a-z0-9_]*)(?::(words|full))?\}")


def check_template(node: Node, names: tuple[str, ...]) -> None:
    """Raise a DocumentError when a field names no label of the pattern."""
    text = node.text()
    for found in _FIELD.finditer(text):
        if found[1] not in names:
            node.fail(f"unknown label {found[1]!r}", hint=nearest(found[1], names))
    rest = _FIELD.sub("", text)
    if "{" in rest or "}" in rest:
        node.fail("a field looks like {name}, {name:words} or {name:full}")


def fill(text: str, labels: Mapping[str, str]) -> str:
    """``text`` with its fields filled in."""
    if "{" not in text:
        return text
    return _FIELD.sub(lambda found: _value(labels[found[1]], found[2]), text)


def _value(label: str, kind: str | None) -> str:
    if kind == "full":
        return label
    if kind == "words":
        return short_title(label)
    return label.rstrip("/").rpartition("/")[2] or label
