"""The dialects of trainers whose lines have a fixed form: ``data/console_lines.yaml``."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import NamedTuple

from rltui.core.yaml_document import Node, Table, shipped_table
from rltui.formats.console.console_dialect import ConsoleRows, Dialect, Row
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
    named: bool
    several: bool
    """Whether it has the groups ``name`` and ``of``."""


class _Line(NamedTuple):
    """A line that a trainer prints; the document says what each part is for."""

    kind: str
    own: _Field
    fields: tuple[_Field, ...]
    until: re.Pattern[bytes] | None
    steps: tuple[str, ...]
    """Groups with numbers of steps."""
    labelled: bool


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
        keys = pattern.groupindex
        values = tuple(key for key in keys if key not in _NO_VALUES)
        return _Field(pattern, form, values, "name" in keys, "of" in keys)

    def line(own: Table) -> _Line:
        kind = next(kind for kind in ("nearby", "heading", "row") if kind in own or kind == "row")
        fields = tuple(field(form, text) for form, text in _texts(own, "fields").items())
        until = own.read("until", Node.text)
        first = field("{key}", own.need(kind).text())
        groups = first.pattern.groupindex
        found = _Line(
            kind,
            first,
            fields,
            re.compile(until.encode()) if until else None,
            tuple(key for key in _STEPS if key in groups),
            "label" in groups,
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

    def __init__(self, rows: ConsoleRows, description: Description) -> None:
        super().__init__(rows)
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

    def read(self, line: bytes) -> bool:
        text = plain(line.rsplit(b"\x08", 1)[-1])
        for known in self._lines:
            found = known.own.pattern.search(text)
            if found:
                break
        else:
            return False
        steps = {key: int(found[key]) for key in known.steps if found[key]}
        if known.kind == "heading":
            self._heading = (steps["step"], steps.get("total")) if "step" in steps else None
            self._base = steps.get("base", self._base)
            if known.until is not None:
                self._block, self._cells, self._left = known, {}, _MAX_LINES
                self.rows.total = steps.get("total", self.rows.total)
            self._open = known.until is not None
            return self.open
        cells: dict[bytes, float] = {}
        self._add_values(known.own, found, b"", cells)
        name = found["name"] if known.own.named else b""
        for field in known.fields:
            for one in field.pattern.finditer(text, found.end()):
                self._add_values(field, one, name, cells)
        if known.labelled:
            label = found["label"].rpartition(b"] ")[2].strip()
            self._label = label if self._label is None else self._label
            if label != self._label:
                cells = {label + b"/" + name: value for name, value in cells.items()}
        if known.kind == "nearby":
            return self._nearby(cells)

        return self._row(steps, cells, wall_time(text))

    def follow(self, line: bytes) -> None:
        """A line of a block; the row is complete where the block ends."""
        text, block = plain(line), self._block
        self._left -= 1
        self._open = self._left > 0
        if block is None or block.until is None or not self._open:
            return
        if block.until.match(text):
            if self._cells:
                self.close()
            return
        for field in block.fields:
            found = field.pattern.search(text)
            if found:
                self._add_values(field, found, b"", self._cells)
                return
        if not self._cells:
            self.read(line)

    def close(self) -> None:
        """The end of a block."""
        if self.open:
            self._row({"done": 0}, self._cells, math.nan)
        self._open = False

    def _row(self, steps: dict[str, int], cells: dict[bytes, float], wall: float) -> bool:
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
        self.rows.total = total or self.rows.total
        for early in self._early:
            self.rows.add(Row(step, tuple(early), tuple(early.values())), guessed=True)
        self._early.clear()
        self.add_cells(step, cells, wall)

        return bool(cells)

    def _nearby(self, cells: dict[bytes, float]) -> bool:
        """A row without a step of its own."""
        if self._step is not None:
            self.rows.add(Row(self._step, tuple(cells), tuple(cells.values())), guessed=True)
        elif len(self._early) < _MAX_EARLY:
            self._early.append(cells)
        return self._step is not None

    def _add_values(
        self, field: _Field, found: re.Match[bytes], name: bytes, cells: dict[bytes, float]
    ) -> None:
        """Add the numbers of a field; ``name``: where it has none of its own."""
        name = found["name"] or b"" if field.named else name
        of = found["of"] if field.several else b"0"
        for key in field.keys:
            text = found[key]
            value = number(text) if text else None
            if value is not None:
                form = (field.form, name, key, of)
                tag = self._tags.get(form)
                cells[tag or self._new_tag(form)] = value

    def _new_tag(self, form: tuple[str, bytes, str, bytes]) -> bytes:
        """The name of a value in other logs, and of what it is one of several."""
        printed, name, key, of = form
        text = name.decode("utf-8", "surrogateescape")
        text = text if key == "value" else printed.format(name=text, key=key)
        for pattern, logged in self._names:
            found = pattern.fullmatch(text)
            if found:
                text = found.expand(logged)
                break
        tag = text.encode("utf-8", "surrogateescape") + (b" #" + of if of.strip(b"0") else b"")
        if len(self._tags) < _MAX_TAGS:
            self._tags[form] = tag

        return tag
