"""Trainers that print lines of a fixed form, which ``data/console_lines.yaml`` describes."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from rltui.core.batch import Lanes
from rltui.core.later import regex
from rltui.core.yaml_document import Node, Table, shipped_table
from rltui.formats.console import console_line
from rltui.formats.console.console_dialect import ConsoleRows, Dialect, Row
from rltui.formats.console.logger_record import Pairs
from rltui.formats.row_times import StampReader

#: Groups of a pattern that are numbers of steps, and those that are no values.
_STEPS = ("step", "total", "done", "base")
_OWN_STEP = _STEPS[:1]
_NO_VALUES = {*_STEPS, "label", "name", "of", "whole"}
#: Rows that wait for the first step, and lines below a heading.
_MAX_EARLY = 4096
_MAX_LINES = 300
#: Tags remembered at most.
_MAX_TAGS = 10_000

Tags = tuple[tuple[int, bytes], ...]
"""Positions of the groups of a pattern that are values, each with its tag."""


class _Pattern:
    """Finds values, or a line with its steps."""

    def __init__(self, form: str, text: str, printed: str) -> None:
        """``form``: of the names; ``printed``: the pattern of all that the trainer prints."""
        text = text.replace("{number}", console_line.NUMBER.decode()).replace("{names}", printed)
        self.form, self.pattern = form, re.compile(f"(?:{text})()".encode())  # two groups at least
        self.search = self.pattern.match if text.startswith("^") else self.pattern.search
        groups = self.pattern.groupindex
        self.values = tuple((at - 1, key) for key, at in groups.items() if key not in _NO_VALUES)
        self.steps = tuple(key for key in _STEPS if key in groups)
        self.labelled = "label" in groups
        self.name_at, self.of_at = groups.get("name", 0) - 1, groups.get("of", 0) - 1
        self.whole_at = groups.get("whole", 0) - 1
        """Positions of these groups; -1 without one."""


class _Line(NamedTuple):
    """A line that a trainer prints; the document says what each part is for."""

    kind: str
    own: _Pattern
    fields: tuple[_Pattern, ...]
    until: re.Pattern[bytes] | None


class Description:
    """The lines of a trainer."""

    def __init__(self, table: Table) -> None:
        self._nodes = table.need("lines").items()
        names = _texts(table, "names")
        self._printed = "|".join(names)
        self.names = tuple((regex(k), v) for k, v in names.items())
        """Names as they are printed, and in other logs."""
        self.markers = tuple(text.encode() for text in table.need("markers").texts())
        most, total = (frozenset(table.read(k, Node.texts) or ()) for k in ("most", "total"))
        is_beside = "beside" in self._nodes[0].table()
        mean = frozenset(names.values()) - most - total if is_beside else frozenset()
        self.lanes = Lanes(mean, most, total)
        """The tags of rows that lie beside those of a training, apart from those of means."""
        table.finish()

    @cached_property
    def lines(self) -> tuple[_Line, ...]:
        """Its lines, read when a marker of the trainer is met."""
        lines = []
        for node in self._nodes:
            line = node.table()
            kinds = ("nearby", "heading", "beside", "row")
            kind = next(kind for kind in kinds if kind in line or kind == "row")
            until = line.read("until", Node.text)
            own = _Pattern("{key}", line.need(kind).text(), self._printed)
            texts = _texts(line, "fields").items()
            fields = tuple(_Pattern(form, t, self._printed) for form, t in texts)
            lines.append(_Line(kind, own, fields, re.compile(until.encode()) if until else None))
            line.finish()
        return tuple(lines)


@lru_cache(maxsize=1)
def descriptions() -> tuple[Description, ...]:
    """The dialects of the document, read once."""
    table = shipped_table("formats", "data", "console_lines.yaml")
    return tuple(Description(node.table()) for name, node in table.pairs() if name != "schema")


def _texts(table: Table, key: str) -> dict[str, str]:
    node = table.get(key)
    return {name: text.text() for name, text in node.table().pairs()} if node else {}


class DescribedDialect(Dialect):
    """The dialect of one trainer of the document."""

    def __init__(self, rows: ConsoleRows, description: Description, beside: ConsoleRows) -> None:
        """``beside``: takes the rows that lie beside those of a training."""
        super().__init__(rows)
        self._trainer = description
        self.markers = description.markers
        self._lanes = description.lanes
        self._beside, self._stamps = beside, StampReader()
        self._wall = math.nan
        """Time of the newest row beside the training."""
        self.aside = self._first = bool(self._lanes.tags)
        self._step: int | None = None
        """Step of the newest row."""
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
        self._early: list[Pairs] = []
        """Rows that wait for the first step."""
        self._tags: dict[tuple[_Pattern, bytes, bytes], Tags] = {}
        """By the pattern, the name found by it, and which of several it is."""

    def read(self, line: bytes) -> bool:
        text = console_line.ungrouped(
            console_line.plain(line.rsplit(b"\x08", 1)[-1] if b"\x08" in line else line)
        )
        for known in self._trainer.lines:
            found = known.own.search(text)
            if found:
                break
        else:
            return False

        own = known.own
        if known.kind == "beside":
            # the store places it by its time, or else behind the row of the training before it
            pairs = self._values(known, found, text)
            beside = self._beside
            moment = self._stamps.moment(self.rows.clock.prefix + text)
            self._wall = self._wall if moment is None else moment[1]
            newest = -1 if self.rows.newest is None else self.rows.newest
            beside.add(Row(newest, *pairs, self._wall))
            if self._first:
                self._first = False
                local = moment is not None and moment[0] > 0
                beside.lanes = beside.lanes.joined(self._lanes._replace(local=local))
            return bool(pairs[0])
        if known.kind == "row" and own.steps == _OWN_STEP:
            pairs = self._values(known, found, text)
            return self._add(int(found["step"]), pairs, self.rows.clock.stamp())

        steps = {key: int(step) for key in own.steps if (step := found[key])}
        if known.kind == "heading":
            self._heading = (steps["step"], steps.get("total")) if "step" in steps else None
            self._base = steps.get("base", self._base)
            self.open = known.until is not None
            if self.open:
                self._block = known
                self._cells = {}
                self._left = _MAX_LINES
                self.rows.total = steps.get("total", self.rows.total)
            return self.open

        pairs = self._values(known, found, text)
        if known.kind == "row":
            return self._row(steps, pairs, self.rows.clock.stamp())

        # a row without a step of its own
        if self._step is not None:
            self.rows.add(Row(self._step, *pairs), guessed=True)
        elif len(self._early) < _MAX_EARLY:
            self._early.append(pairs)
        return self._step is not None

    def _values(self, known: _Line, found: re.Match[bytes], text: bytes) -> Pairs:
        """The numbers of a row."""
        own = known.own
        cells: dict[bytes, float] = {}
        if own.values:
            self._add_values(own, (found.groups(b""),), b"", cells)
        name = found["name"] if own.name_at >= 0 else b""
        for field in known.fields:
            self._add_values(field, field.pattern.findall(text, found.end()), name, cells)
        if own.labelled:
            label = found["label"].rpartition(b"] ")[2].strip()
            self._label = label if self._label is None else self._label
            if label != self._label:
                cells = {label + b"/" + name: value for name, value in cells.items()}
        return tuple(cells), list(cells.values())

    def follow(self, line: bytes) -> None:
        """Read a line of a block; the row is complete where the block ends."""
        text = console_line.plain(line)
        block = self._block
        self._left -= 1
        self.open = self._left > 0
        if block is None or block.until is None or not self.open:
            return
        if block.until.match(text):
            if self._cells:
                self.close()
            return

        for field in block.fields:
            found = field.search(text)
            if found:
                self._add_values(field, (found.groups(b""),), b"", self._cells)
                return
        if not self._cells:
            self.read(line)

    def close(self) -> None:
        """End an open block, and add its row."""
        if self.open:
            self._row({"done": 0}, (tuple(self._cells), list(self._cells.values())), math.nan)
        self.open = False

    def _row(self, steps: dict[str, int], pairs: Pairs, wall: float) -> bool:
        """Add a row of its own step, or of one that the lines before it give."""
        step = steps.get("step", self._step)
        if len(steps) != 1 or "done" in steps:
            total = steps.get("total")
            if "done" in steps and self._base is not None:
                step = self._base + steps["done"]
            elif "done" in steps:
                if self._heading is None or not pairs[0]:
                    return False
                step, total = self._heading
                self._heading = None
                if total == 1:  # one call after another, each of one epoch
                    self._single += 1
                    step = self._single
                    total = None
            self.rows.total = total or self.rows.total
        if step is None:
            return False

        return self._add(step, pairs, wall)

    def _add(self, step: int, pairs: Pairs, wall: float) -> bool:
        """Add a row, and before the first one those that wait for a step."""
        self._step = step
        if self._early:
            for early in self._early:
                self.rows.add(Row(step, *early), guessed=True)
            self._early.clear()
        self.add(Row(step, *pairs, wall))
        return bool(pairs[0])

    def _add_values(
        self,
        field: _Pattern,
        found: Sequence[Sequence[bytes]],
        name: bytes,
        cells: dict[bytes, float],
    ) -> None:
        """Add the numbers among the groups of each match; ``name``: where they have none."""
        of = b""
        name_at = field.name_at
        of_at = field.of_at
        for groups in found:
            if name_at >= 0:
                name = groups[name_at]
            if of_at >= 0:
                of = groups[of_at]
            tags = self._tags.get((field, name, of))
            if tags is None:
                tags = tuple((at, self._tag(field.form, name, key, of)) for at, key in field.values)
                if len(self._tags) < _MAX_TAGS:
                    self._tags[field, name, of] = tags
            for at, tag in tags:
                text = groups[at]
                value = console_line.number(text) if text else None
                if value is not None:
                    whole = (
                        console_line.number(groups[field.whole_at]) if field.whole_at >= 0 else 1
                    )
                    cells[tag] = value / whole if whole else math.nan

    def _tag(self, form: str, name: bytes, key: str, of: bytes) -> bytes:
        """The name of a value in other logs, and of what it is one of several."""
        text = name.decode("utf-8", "surrogateescape")
        text = text if key == "value" else form.format(name=text, key=key)
        for pattern, logged in self._trainer.names:
            found = pattern.fullmatch(text)
            if found:
                text = found.expand(logged)
                break
        return text.encode("utf-8", "surrogateescape") + (b" #" + of if of.strip(b"0") else b"")
