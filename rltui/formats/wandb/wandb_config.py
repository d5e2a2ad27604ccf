"""Settings of a run from wandb's config records, flat."""

from __future__ import annotations

import json
from collections.abc import Mapping

from rltui.formats.base import clean_tag, clean_text
from rltui.formats.json_value import parsed
from rltui.formats.protobuf import BYTES, fields, last_fields
from rltui.formats.wandb.wandb_item import Names, item_of
from rltui.formats.wandb.wandb_row import leaves

#: Settings kept in total, and characters of a text or list.
_MAX_SETTINGS = 10_000
_MAX_CHARS = 1000


class RunSettings:
    """Owned by one decoder."""

    def __init__(self) -> None:
        self._names = Names()
        self._new: dict[str, object] = {}
        self._known: set[str] = set()

    def update(self, data: bytes, start: int, stop: int) -> None:
        """Read a ``ConfigRecord``: update 1. Raises MalformedError when it is not one."""
        for number, wire, a, b in fields(data, start, stop):
            if number == 1 and wire == BYTES:
                head, value = item_of(data, a, b)
                name = self._names.of(head)
                if name and name[0] != b"_wandb":
                    self._flatten(b".".join(name), value)

    def _flatten(self, name: bytes, value: bytes) -> None:
        try:
            found = parsed(value)
        except ValueError:
            return
        for keys, leaf in leaves(found, (), 0):
            whole = b".".join((name, *(k.encode("utf-8", "replace") for k in keys)))
            self.add(clean_tag(whole), leaf)

    def add(self, name: str, value: object) -> None:
        """Keep a scalar, a text or a short list under a cleaned name."""
        if name not in self._known and len(self._known) >= _MAX_SETTINGS:
            return
        if isinstance(value, list):
            value = json.dumps(value)
        if isinstance(value, str):
            value = clean_text(value[:_MAX_CHARS])
        if isinstance(value, (str, bool, int, float)):
            self._known.add(name)
            self._new[name] = value

    def add_texts(self, names: Mapping[int, str], data: bytes, start: int, stop: int) -> None:
        """Keep the texts of some fields of a message: field number -> name."""
        for (number, wire), (a, b) in last_fields(data, start, stop).items():
            if wire == BYTES and number in names and b > a:
                self.add(names[number], data[a:b].decode("utf-8", "replace"))

    def take(self) -> dict[str, object]:
        """The settings since the last call; later ones win."""
        new, self._new = self._new, {}
        return new
