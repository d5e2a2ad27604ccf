"""Which dialect reads which line of a piece of a log.

A dialect only gets lines that contain one of its markers, which are searched in the whole piece
at once: most pieces are text without any row, so this is what reading them costs. A marker that
contains another one, or a byte that is rare in text, is only sought in the lines that have it.
After some rows only the dialects that found any remain.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from rltui.core.yaml_document import Node, Table, shipped_table
from rltui.formats.console.console_dialect import ConsoleRows, Dialect, Rank, Row
from rltui.formats.console.console_line import NUMBER, plain, wall_time
from rltui.formats.console.console_line import number as number_of
from rltui.formats.console.generic import Generic
from rltui.formats.console.logger_record import LoggerRecord, Verl
from rltui.formats.console.progress_bar import ProgressBar
from rltui.formats.console.tables import BoxedTable, ColumnTable
from rltui.formats.console.transformers import Transformers

#: Bytes without any row after which weak dialects are dropped.
_GUESSED = 1 << 25
#: Rows after which the dialects without any are dropped.
_SETTLED = 20
#: Bytes that are rare in most text; memchr finds them many times as fast as a word.
_RARE = (b"\xe2", b"{", b"%", b"|", b"+")
#: Lines are few enough to be searched one by one when there is at most one in this many bytes (a
#: power of two), and a byte is rare.
_FEW, _FEW_RARE = 8, 10

Line = tuple[int, int]
"""Where a line begins and ends, without the end of the line."""
#: Groups of a pattern that are numbers of steps, and those that are no values.
_STEPS = ("step", "total", "done", "base")
_NO_VALUES = {*_STEPS, "label", "name", "of"}
#: Rows that wait for the first step, and lines below a heading.
_MAX_EARLY, _MAX_LINES = 4096, 300
#: Tags remembered at most.
_MAX_TAGS = 10_000


def dialects(rows: ConsoleRows) -> list[Dialect]:
    """Fresh ones, in the order in which they see a line; guesses last."""
    return [
        Verl(rows),
        Transformers(rows),
        LoggerRecord(rows),
        BoxedTable(rows),
        *(DescribedDialect(rows, description) for description in descriptions()),
        ProgressBar(rows),
        ColumnTable(rows),
        Generic(rows),
    ]


class LineDispatch:
    """Passes the lines of one log to its dialects."""

    def __init__(self, rows: ConsoleRows) -> None:
        self._rows = rows
        self._dialects = dialects(rows)
        self._found: set[Dialect] = set()
        self._best: int = len(Rank)
        """The surest rank of these."""
        self._hits = 0

    @property
    def found(self) -> bool:
        """Whether any dialect has found a row, even one that still waits for its step."""
        return bool(self._found)

    def read(self, text: bytes, prefixes: Mapping[int, bytes], offset: int) -> int | None:
        """Read whole lines that begin at ``offset`` in the file; ``prefixes``: begin of a line ->
        what stood in front of it. Returns where the last line that completed a row ends."""
        left = _GUESSED - offset
        if self._found or left >= len(text):
            return self._read(text, prefixes)
        limit = text.find(b"\n", left) + 1 if left >= 0 else 0
        first = self._read(text[:limit], prefixes)
        if not self._found:
            self._dialects = [d for d in self._dialects if d.rank is not Rank.GUESS]
        last = self._read(text[limit:], {at - limit: p for at, p in prefixes.items()})

        return first if last is None else limit + last

    def close(self) -> None:
        """Take the rows that wait for a line, now that no more come."""
        for dialect in tuple(self._dialects):
            if dialect in self._dialects:
                count = self._rows.count
                dialect.close()
                if self._rows.count > count:
                    self._find(dialect)

    def _read(self, text: bytes, prefixes: Mapping[int, bytes]) -> int | None:
        """Read line by line where a dialect is open, else only the lines with markers."""
        known, rows, size, last = tuple(self._dialects), self._rows, len(text), None
        marked = marked_lines(text, known)
        opened = [dialect for dialect in known if dialect.open]
        at = nth = 0
        while at < size and (opened or nth < len(marked)):
            until = marked[nth][0] if nth < len(marked) else size
            at = at if opened else until
            end = text.find(b"\n", at)
            count, rows.stamp = rows.count, prefixes.get(at, b"")
            if at < until:
                for dialect in opened:
                    self._pass(dialect, dialect.follow, text[at:end])
            else:
                markers = []
                while nth < len(marked) and marked[nth][0] == at:
                    markers.append(known[marked[nth][1]])
                    nth += 1
                self._marked(opened, markers, text[at:end])
                fresh = [d for d in markers if d not in opened and d.open]
                opened = sorted([*opened, *fresh], key=known.index) if fresh else opened
            if opened:
                opened = [d for d in opened if d.open and d in self._dialects]
            if rows.count > count:
                last = end
            at = end + 1

        return last

    def _marked(self, opened: list[Dialect], markers: list[Dialect], line: bytes) -> None:
        """Pass a line to the open dialects, and to those with a marker in it until one takes it;
        an open one that guesses waits whether a surer one does."""
        for dialect in opened:
            if dialect.rank is not Rank.GUESS:
                self._pass(dialect, dialect.follow, line)
        for dialect in markers:
            fresh = dialect not in opened or not dialect.open or dialect.rank is Rank.GUESS
            if fresh and self._pass(dialect, dialect.read, line):
                return
        for dialect in opened:
            if dialect.rank is Rank.GUESS and dialect not in markers:
                self._pass(dialect, dialect.follow, line)

    def _pass(self, dialect: Dialect, read: Callable[[bytes], bool | None], line: bytes) -> bool:
        """Pass a line to a dialect; returns whether it takes it for itself."""
        if len(line) > dialect.longest or dialect not in self._dialects:
            return False
        count = self._rows.count
        taken = read(line)
        if taken or self._rows.count > count:
            self._find(dialect)
        return bool(taken)

    def _find(self, dialect: Dialect) -> None:
        """Remember that a dialect has found a row, and drop those that get no lines any more."""
        self._hits += 1
        if self._hits <= _SETTLED or dialect not in self._found:
            self._found.add(dialect)
            self._best = min(self._best, dialect.rank)
            self._dialects = [d for d in self._dialects if self._wanted(d)]

    def _wanted(self, dialect: Dialect) -> bool:
        """Whether a dialect still gets lines: only while no surer one has found a row."""
        if dialect in self._found:
            return dialect.rank <= self._best
        if dialect.rank is Rank.SURE:
            return self._hits < _SETTLED
        return dialect.rank < self._best


class _Search(NamedTuple):
    needle: bytes
    any_case: bool
    numbers: tuple[int, ...]
    """Of the dialects with this marker; none for a byte that others contain."""
    root: int | None
    """Position of the search in whose lines this one is done."""


def marked_lines(text: bytes, dialects: Sequence[Dialect]) -> list[tuple[int, int]]:
    """Where the lines with markers begin, in order, each with the number of every dialect that has
    a marker in it; ``text`` ends with the end of a line."""
    searches = _plan(tuple((dialect.markers, dialect.words) for dialect in dialects))
    lower = text.lower() if any(search.any_case for search in searches) else b""
    lines: list[list[Line] | None] = []
    """Begin and end of the lines of each search; None: given up, because there are too many."""
    marked: list[set[Line]] = [set() for _ in dialects]
    for needle, any_case, numbers, root in searches:
        within = lines[root] if root is not None else None
        if within is not None and len(within) <= len(text) >> _FEW:
            find = text.find
            found: list[Line] | None = [
                line for line in within if find(needle, line[0], line[1] + 1) >= 0
            ]
        else:
            most = len(text) if numbers else len(text) >> _FEW_RARE
            found = _lines(lower if any_case else text, needle, most)
        lines.append(found)
        for number in numbers:
            marked[number].update(found or ())

    return sorted((begin, n) for n, known in enumerate(marked) for begin, _ in known)


def _lines(text: bytes, needle: bytes, most: int) -> list[Line] | None:
    """The lines with ``needle``; None when there are more than ``most``."""
    find, rfind = text.find, text.rfind
    lines = []
    pos = find(needle)
    while pos >= 0:
        end = find(b"\n", pos)
        lines.append((rfind(b"\n", 0, pos) + 1, end))
        if len(lines) > most:
            return None
        pos = find(needle, end + 1)

    return lines


@lru_cache(maxsize=256)
def _plan(markers: tuple[tuple[tuple[bytes, ...], tuple[bytes, ...]], ...]) -> list[_Search]:
    """The searches for the markers and words of the dialects, roots first."""
    owners: dict[tuple[bytes, bool], list[int]] = {}
    for number, (exact, words) in enumerate(markers):
        for marker in exact:
            owners.setdefault((marker, False), []).append(number)
        for word in words:
            owners.setdefault((word, True), []).append(number)
    for byte in _RARE:
        if len(owners) > len(_RARE) and any(byte in marker for marker, _ in owners):
            owners.setdefault((byte, False), [])
    searches: list[_Search] = []
    for needle, any_case in sorted(owners, key=lambda owner: (len(owner[0]), not owner[1])):
        root = _root(needle, any_case, searches)
        searches.append(_Search(needle, any_case, tuple(owners[needle, any_case]), root))

    return searches


def _root(needle: bytes, any_case: bool, searches: list[_Search]) -> int | None:
    """The search whose lines are likely the fewest of those that ``needle`` can be in."""
    if any_case:
        return None
    roots = [
        (search.needle not in _RARE, -len(search.needle), at)
        for at, search in enumerate(searches)
        if search.needle in (needle.lower() if search.any_case else needle)
    ]
    return min(roots)[2] if roots else None


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
            value = number_of(text) if text else None
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
