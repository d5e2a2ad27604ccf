"""The dialects of trainers whose lines have a fixed form: ``data/console_lines.yaml``."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import NamedTuple

from rltui.core.yaml_document import Node, Table, shipped_table
from rltui.formats.console.console_dialect import ConsoleRows, Dialect
from rltui.formats.console.console_line import NUMBER, number, plain, wall_time

#: Groups of a pattern that are numbers of steps, and those that are no values.
_STEPS = ("step", "total", "done", "base")
_NO_VALUES = {*_STEPS, "label", "name", "of"}
#: Rows that wait for the first step, and lines below a heading.
_MAX_EARLY, _MAX_LINES = 4096, 300
#: Tags remembered at most.
_MAX_TAGS = 10_000


class _Field(NamedTuple):
    """Finds values."""

    pattern: re.Pattern[bytes]
    form: str
    """Of the names."""
    keys: tuple[str, ...]
    """Groups with values."""


class _Line(NamedTuple):
    """A line that a trainer prints; the document says what each part is for."""

    kind: str
    own: _Field
    fields: tuple[_Field, ...]
    until: re.Pattern[bytes] | None


class Description(NamedTuple):
    """The lines of a trainer."""

    markers: tuple[bytes, ...]
    lines: tuple[_Line, ...]
    names: tuple[tuple[re.Pattern[str], str], ...]
    """Names as they are printed, and in other logs."""


@lru_cache(maxsize=1)
def descriptions() -> tuple[Description, ...]:
    """The dialects of the document, read once."""
    table = shipped_table("formats", "data", "console_lines.yaml")
    return tuple(_described(node.table()) for name, node in table.pairs() if name != "schema")


def _described(table: Table) -> Description:
    names = _texts(table, "names")
    printed = "|".join(names)

    def field(form: str, text: str) -> _Field:
        text = text.replace("{number}", NUMBER.decode()).replace("{names}", printed)
        pattern = re.compile(text.encode())
        return _Field(pattern, form, tuple(k for k in pattern.groupindex if k not in _NO_VALUES))

    def line(own: Table) -> _Line:
        kind = next(kind for kind in ("nearby", "heading", "row") if kind in own or kind == "row")
        fields = tuple(field(form, text) for form, text in _texts(own, "fields").items())
        until = own.read("until", Node.text)
        found = _Line(
            kind,
            field("{key}", own.need(kind).text()),
            fields,
            re.compile(until.encode()) if until else None,
        )
        own.finish()
        return found

    markers = tuple(text.encode() for text in table.need("markers").texts())
    lines = tuple(line(node.table()) for node in table.need("lines").items())
    table.finish()
    return Description(markers, lines, tuple((re.compile(k), v) for k, v in names.items()))


def _texts(table: Table, key: str) -> dict[str, str]:
    node = table.get(key)
    return {name: text.text() for name, text in node.table().pairs()} if node else {}


class DescribedDialect(Dialect):
    """The dialect of one trainer of the document."""

    def __init__(self, description: Description) -> None:
        super().__init__()
        self.markers, self._lines, self._names = description
        self._step: int | None = None
        """Of the newest row."""
        self._base: int | None = None
        """Steps before those that a row counts."""
        self._heading: tuple[int, int | None] | None = None
        """Step and planned steps of the next row without a step."""
        self._single = 0
        """Headings so far that were the first of one."""
        self._block: _Line | None = None
        """The heading whose block is open."""
        self._cells: dict[bytes, float] = {}
        """The values of the block."""
        self._left = 0
        """Lines for which it stays open."""
        self._label: bytes | None = None
        """The first label, which is no part of names."""
        self._early: list[dict[bytes, float]] = []
        """Rows that wait for the first step."""
        self._tags: dict[tuple[str, bytes, str, bytes], bytes] = {}
        """Tags by what they are made of."""

    @property
    def open(self) -> bool:
        """Whether a block continues."""
        return self._block is not None

    def take(self, line: bytes, rows: ConsoleRows) -> bool:
        text = plain(line.rsplit(b"\x08", 1)[-1])
        for known in self._lines:
            found = known.own.pattern.search(text)
            if found:
                break
        else:
            return False
        groups = found.groupdict(b"")
        steps = {key: int(groups[key]) for key in _STEPS if groups.get(key)}
        if known.kind == "heading":
            self._heading = (steps["step"], steps.get("total")) if "step" in steps else None
            self._base = steps.get("base", self._base)
            if known.until is not None:
                self._block, self._cells, self._left = known, {}, _MAX_LINES
                rows.total = steps.get("total", rows.total)
            return self.open
        cells = self._values(known.own, found, b"")
        for field in known.fields:
            for one in field.pattern.finditer(text, found.end()):
                cells |= self._values(field, one, groups.get("name", b""))
        if "label" in groups:
            cells = self._labelled(groups["label"].rpartition(b"] ")[2].strip(), cells)
        if known.kind == "nearby":
            return self._nearby(cells, rows)
        return self._row(steps, cells, wall_time(text), rows)

    def follow(self, line: bytes, rows: ConsoleRows) -> None:
        """A line of a block; the row is complete where the block ends."""
        text, block = plain(line), self._block
        self._left -= 1
        if block is None or block.until is None or not self._left:
            self._block = None
            return
        if self._cells and block.until.match(text):
            self.close(rows)
            return
        for field in block.fields:
            found = field.pattern.search(text)
            if found:
                self._cells |= self._values(field, found, b"")
                return
        if not self._cells:
            self.take(line, rows)

    def close(self, rows: ConsoleRows) -> None:
        """The end of a block."""
        if self.open:
            self._row({"done": 0}, self._cells, math.nan, rows)
        self._block = None

    def _row(
        self, steps: dict[str, int], cells: dict[bytes, float], wall: float, rows: ConsoleRows
    ) -> bool:
        """A row of its own step, or of one that the lines before it give."""
        step, total = steps.get("step", self._step), steps.get("total")
        if "done" in steps and self._base is not None:
            step = self._base + steps["done"]
        elif "done" in steps:
            if self._heading is None or not cells:
                return False
            (step, total), self._heading = self._heading, None
            if total == 1:  # one call after another, each of one epoch
                self._single += 1
                step, total = self._single, None
        if step is None:
            return False
        self._step = step
        if total:
            rows.total = total
        for early in self._early:
            rows.guess(tuple(early), step, tuple(early.values()))
        self._early.clear()
        self._add_cells(rows, step, cells, wall)
        return bool(cells)

    def _nearby(self, cells: dict[bytes, float], rows: ConsoleRows) -> bool:
        """A row without a step of its own."""
        if self._step is not None:
            rows.guess(tuple(cells), self._step, tuple(cells.values()))
        elif len(self._early) < _MAX_EARLY:
            self._early.append(cells)
        return self._step is not None

    def _labelled(self, label: bytes, cells: dict[bytes, float]) -> dict[bytes, float]:
        self._label = label if self._label is None else self._label
        if label == self._label:
            return cells
        return {label + b"/" + name: value for name, value in cells.items()}

    def _values(self, field: _Field, found: re.Match[bytes], name: bytes) -> dict[bytes, float]:
        """The numbers of a field; ``name``: where it has none of its own."""
        groups = found.groupdict(b"")
        values = ((key, number(groups[key])) for key in field.keys)
        name, of = groups.get("name", name), groups.get("of", b"")
        return {self._tag(field.form, name, k, of): v for k, v in values if v is not None}

    def _tag(self, form: str, name: bytes, key: str, of: bytes) -> bytes:
        """The name of a value in other logs, and of what it is one of several."""
        known = self._tags.get((form, name, key, of))
        if known is not None:
            return known
        text = name.decode("utf-8", "surrogateescape")
        text = text if key == "value" else form.format(name=text, key=key)
        for pattern, logged in self._names:
            found = pattern.fullmatch(text)
            if found:
                text = found.expand(logged)
                break
        tag = text.encode("utf-8", "surrogateescape") + (b" #" + of if of.strip(b"0") else b"")
        if len(self._tags) < _MAX_TAGS:
            self._tags[form, name, key, of] = tag
        return tag
