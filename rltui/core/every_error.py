"""Every error of a YAML document at once.

Readers raise the first error that they find. Here each wrong place is mended (by the nearest valid
word, or a value of the right type) or taken out, and the document is read again, until no error is
left.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from rltui.core.errors import DocumentError, RltuiError
from rltui.core.yaml_document import Node, edited

Address = tuple[int | str, ...]
"""Place of a value: its position in its mapping or list, then that of the parent's ... from the
root on; a name instead of a position for a key that was filled in."""

#: Most errors that are reported of one document.
MOST = 100
_MISSING = re.compile(r"key '([^']*)' is missing")
_ONE_OF = re.compile(r"one of ([^,;]+)")
_EXPECTED = re.compile(r"expected (a whole number|a number|text|true or false|a list|a mapping)")
_VALUES: dict[str, object] = {
    "a whole number": 1, "a number": 1.0, "text": "missing", "true or false": True, "a list": [],
    "a mapping": {},
}  # fmt: skip


def every_error(path: Path, read: Callable[[], object]) -> list[RltuiError]:
    """The errors that ``read`` raises about the document ``path``, in the order of their places.

    What follows from another error only is left out. An error of another kind, or of another
    document, comes last: it ends the search.
    """
    document = _Document(path)
    found: list[DocumentError] = []
    for _ in range(4 * MOST):
        try:
            with edited(document.edit):
                read()
            break
        except RltuiError as raised:
            error = raised

        if not isinstance(error, DocumentError) or error.path != path:
            return [*sorted(found, key=_place_of), error]
        if not document.is_consequence(error):
            found.append(error)
        if not document.repair(error) or len(found) == MOST:
            break

    return [*sorted(found, key=_place_of)]


def _place_of(error: DocumentError) -> tuple[int, int]:
    return error.line or 0, error.column or 0


class _Place(NamedTuple):
    """A node of the newest reading. It is kept, so that no other has its identity."""

    node: Node
    address: Address
    is_key: bool = False


class _Document:
    """A document with its errors mended or taken out."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._removed: set[Address] = set()
        self._mended: dict[Address, object] = {}
        self._added: dict[Address, list[str]] = {}
        """Mapping -> keys that it lacks."""
        self._places: dict[int, _Place] = {}
        self._names: dict[Address, object] = {}
        """Value of a mapping -> its key."""

    def edit(self, root: Node) -> None:
        """Mend a document that was just parsed."""
        if root.path == self._path:
            self._edit(root, ())

    def _edit(self, node: Node, address: Address) -> None:
        self._places[id(node)] = _Place(node, address)
        if address in self._mended:
            node.value = self._mended[address]
        if isinstance(node.value, list):
            items = [(item, (*address, i)) for i, item in enumerate(node.value)]
            for item, place in items:
                self._edit(item, place)
            node.value = [item for item, place in items if place not in self._removed]
        elif isinstance(node.value, dict):
            pairs = [(k, v, (*address, i)) for i, (k, v) in enumerate(node.value.items())]
            for name in self._added.get(address, ()):
                filler = (
                    Node(text, node.path, node.line, node.column) for text in (name, "missing")
                )
                pairs.append((*filler, (*address, name)))  # type: ignore[arg-type]
            for key, value, place in pairs:
                self._names[place] = key.value
                self._places[id(key)] = _Place(key, place, is_key=True)
                self._edit(value, place)
            node.value = {k: v for k, v, place in pairs if place not in self._removed}

    def is_consequence(self, error: DocumentError) -> bool:
        """Whether an error comes from what was mended, filled in or taken out."""
        place = self._places.get(id(error.node))
        if place is None:
            return False
        address = place.address
        if address in self._mended or any(isinstance(part, str) for part in address):
            return True
        below = [a for a in self._removed if len(a) > len(address) and a[: len(address)] == address]
        missing = _MISSING.fullmatch(error.message)
        if missing is not None:
            return missing[1] in {self._names[a] for a in below if len(a) == len(address) + 1}

        return not place.is_key and bool(below)

    def repair(self, error: DocumentError) -> bool:
        """Mend or take out the place of an error; False when that cannot be done."""
        place = self._places.get(id(error.node))
        if place is None:
            return False
        address, missing = place.address, _MISSING.fullmatch(error.message)
        if missing is not None and missing[1] not in self._added.get(address, ()):
            self._removed -= {a for a in self._removed if a[:-1] == address and a[-1] == missing[1]}
            self._added.setdefault(address, []).append(missing[1])
            return True
        value = None if place.is_key or address in self._mended else _valid(error)
        if value is not None:
            self._mended[address] = value
            return True
        if not address or address in self._removed:
            return False
        self._removed.add(address)

        return True


def _valid(error: DocumentError) -> object:
    """A value that would do instead, or None."""
    if error.hint is not None:
        return error.hint
    one_of, expected = _ONE_OF.search(error.message), _EXPECTED.match(error.message)
    if one_of is not None:
        return one_of[1]
    return None if expected is None else _VALUES[expected[1]]
