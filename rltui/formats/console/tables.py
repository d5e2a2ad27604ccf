"""Tables: boxes of keys and values, and rows under a header."""

from __future__ import annotations

from rltui.core.later import regex
from rltui.formats.console.console_dialect import ConsoleRows, Dialect, Rank, Row, RowForms
from rltui.formats.console.console_line import amount, is_rule, plain, simplified, ungrouped, whole
from rltui.formats.console.pair_line import (
    Rises,
    StepCounter,
    are_settings,
    is_metric,
    pairs_of,
    position_of,
    rank_of_counter,
    unprefixed,
)
from rltui.formats.words import words

_MAX_ROWS = 500
#: Bytes of a row of a panel that goes on over several lines.
_MAX_PANEL = 4000
#: Boxes that wait while they have several counters, and at most.
_DOUBTED = 3
_MOST_HELD = 8
#: Bytes of a line above a box.
_MAX_HEADING = 300
#: Lines of other output allowed inside a box.
_MAX_FOREIGN = 200
_FIRST = (b"|", b"-")
#: The sides of frames drawn with other characters, and what their rules end with.
_SIDES = regex("│|┃|║".encode())
_CORNERS = tuple((side + "\n").encode() for side in ("─╮", "─┐", "━┓", "═╕", "═╗"))
#: A rule that a bar stands in, as rich redraws one in a file.
_BARRED = regex(rb"-{12,}(?=\s*(?:\xe2\x94|\d{1,3}%))|(?<=\])\s*-{12,}$")
_GLUED = (b"--\x1b[", b"--\xe2\x94\x81", b"]---", b"m---")
_TOPS = tuple(corner.encode() for corner in "╭┌┏╒╔")
_DASHES = (b"------\n", b"-+\n")
_ENDS = tuple(marker[:-1] for marker in (*_DASHES, *_CORNERS))
#: A name and a number, which may have a unit.
_COLUMNS = regex(
    rb"\s*(\S+(?: \S+){0,5}?(?<!:)):?(?:\s{2,}|\t\s*)(\S+)(?: [a-zA-Z%][\w%/]{0,11})?\s*"
)
_CATEGORY = regex(rb"\s{0,3}(\S{1,60})\s{2,}(?=\S+: )")
_HEADING = regex(rb"(?:[Ss]tep|[Ee]poch|[Ii]teration|[Uu]pdate)s?[ :#\[(]{1,4}\d")
_MAX_COLUMNS = 64
#: Lines of other output between two rows.
_BETWEEN = 20
#: Bytes of the sides of a frame, and blanks.
_FRAME = " |│┃║".encode()
_BARS = regex(r"\s*(?:\||│|┃|║|\t)\s*".encode())
_BLANKS = regex(rb"\s{2,}")
_NAME = regex(rb"[A-Za-z_\x80-\xff%#][\w ./%()#@\x80-\xff+\[\]-]{0,60}")
_UNIT = regex(rb"\s*\[[^\[\]]{0,20}\]$")
#: Cells of a row that have no number yet.
_EMPTY = (b"", b"-", b"--", b"n/a", b"N/A", b"None")


class BoxedTable(Dialect):
    """The dialect of boxed tables: stable-baselines3, its predecessors, Spinning Up, garage, rlkit,
    AReaL, open-instruct.

    ``| rollout/ | |`` opens a group, whose keys stand indented below it
    (stable_baselines3/common/logger.py: HumanOutputFormat; three significant digits, long keys are
    cut and end with ``...``). The step is a row of the box or stands on a line above it. Lines of
    other output inside the box are skipped. Frames may be dashes or the characters of rich and
    tabulate; a line may hold several pairs, or, in a frame of one column, many names with colons.
    """

    markers = (*_DASHES, *_CORNERS, *_GLUED, b"tep ", b"poch ", b"Iteration ", b"pdate ")

    def __init__(self, rows: ConsoleRows) -> None:
        super().__init__(rows)
        self._foreign = 0
        """Lines of other output since the last line of the box."""
        self._group = b""
        self._cells: dict[bytes, bytes] = {}
        self._panel: list[tuple[bytes, bytes]] = []
        """Category and text of the lines of a frame with one column."""
        self._counter = StepCounter()
        self._above: int | None = None
        """The step on a line above the box."""
        self._rises = Rises()
        self._none: frozenset[bytes] = frozenset()
        """Counters that count nothing."""
        self._held: list[tuple[int | None, list[tuple[int, bytes]], dict[bytes, float]]] = []
        """Boxes that wait: the step above, ranks and names of the counters, and the values."""
        self._sure = False
        self._counters = words().box_steps
        self._key = self._counters[0]
        """The counter of the newest box."""

    def read(self, line: bytes) -> bool:
        """A rule may begin a box; the following lines show whether it does."""
        if b"\xe2" in line or b"\x1b" in line or line.endswith(_ENDS):
            text = ungrouped(plain(line))
            if is_rule(text) or text.startswith(_TOPS) or _BARRED.search(text):
                self._begin(text)
                return False
        self._heading(line)
        return False

    def follow(self, line: bytes) -> None:
        """Read a line below a rule: a cell, the end of the box, or other output."""
        first = line[:1]
        if first not in _FIRST:
            line = plain(line)
            first = line[:1]
        if first == b"|":
            self._foreign = 0
            self._cell(ungrouped(line).split(b"|"))
        elif first == b"\xe2":
            self._framed(ungrouped(line))
        elif first in (b"-", b"+") and is_rule(line):
            self._rule()
        elif self._column(line):
            self._foreign = 0
        elif line:
            self._heading(line)
            self._foreign += 1
            self.open = bool(self._cells) and self._foreign < _MAX_FOREIGN

    def close(self) -> None:
        """End a box without its last line, where the counter of the log is in it."""
        if self._key in self._cells:
            self._rule()

    def _begin(self, top: bytes) -> None:
        """Begin a box with its first line, which may have a title with the step."""
        self._heading(top)
        self.open = True
        self._foreign = 0
        self._group = b""
        self._cells = {}
        self._panel = []

    def _heading(self, line: bytes) -> None:
        if b"\x1b" in line or _HEADING.search(line):
            text = ungrouped(plain(line))
            fits = len(text) < _MAX_HEADING and _HEADING.search(text)
            position = position_of(text) if fits else None
            if position is not None:
                self._above, _ = self._counter.step_of(position)

    def _column(self, text: bytes) -> bool:
        """Whether a text is two columns, which are a cell."""
        columns = _COLUMNS.fullmatch(simplified(text))
        if not columns or amount(columns[2]) is None or len(self._cells) >= _MAX_ROWS:
            return False
        self._cells[columns[1]] = columns[2]
        return True

    def _framed(self, line: bytes) -> None:
        """A line in a frame of box-drawing characters."""
        sides = _SIDES.split(line)
        if len(sides) == 1:
            if line.startswith(_TOPS) and not is_rule(line):
                self._begin(line)
            elif is_rule(line) and not line.startswith("├".encode()):
                self._rule()
            return

        self._foreign = 0
        if len(sides) > 3:
            self._cell(sides)
        elif len(sides) == 3 and len(self._panel) < _MAX_ROWS and not self._column(sides[1]):
            category = _CATEGORY.match(sides[1])
            text = sides[1].strip()
            if category:
                self._panel.append((category[1], sides[1][category.end() :].strip()))
            elif self._panel:
                name, begun = self._panel[-1]
                if text and len(begun) < _MAX_PANEL:
                    self._panel[-1] = name, begun + b" " + text
            else:
                self._pairs(text)

    def _pairs(self, text: bytes) -> None:
        """Pairs in a frame without inner columns."""
        found = pairs_of(text, alone=True) or ()
        if len(self._cells) + len(found) <= _MAX_ROWS:
            for pair in found:
                number = b"%r" % pair.value if pair.whole is None else b"%d" % pair.whole
                self._cells[pair.name] = number

    def _cell(self, sides: list[bytes]) -> None:
        if len(sides) < 4 or len(sides) % 2 or sides[-1].strip():
            return
        for at in range(1, len(sides) - 1, 2):
            raw = sides[at]
            value = sides[at + 1].strip()
            key = raw.strip()
            if not value:
                self._group = key if key.endswith(b"/") else self._group
            elif len(self._cells) < _MAX_ROWS:
                self._cells[self._group + key if raw.startswith(b"    ") else key] = value

    def _rule(self) -> None:
        """A rule: the end of the box when there are cells."""
        cells = self._cells
        self._cells = {}
        panel = self._panel
        self._panel = []
        self._foreign = 0
        self._group = b""
        for category, text in panel:
            for pair in text.split(b" | "):
                name, _, value = pair.rpartition(b": ")
                cells[name if category == b"other" else category + b"/" + name] = value

        values: dict[bytes, float] = {}
        for name, text in cells.items():
            known = amount(text)
            if known is not None:
                values[name] = known
        for key in self._counters:  # of a framework
            if key in values and values[key].is_integer():
                self._key, step = key, int(values.pop(key))
                if values:
                    self.add(Row.of(step, values))
                return
        if values:
            self._other_box(cells, values)

    def _other_box(self, cells: dict[bytes, bytes], values: dict[bytes, float]) -> None:
        """A box with another counter, or below a line with one."""
        ranks = [(rank_of_counter(k), k) for k in values if whole(cells[k]) is not None]
        known = [(rank, key) for rank, key in ranks if rank is not None]
        none = self._rises.see({key: values[key] for _, key in known}) if known else frozenset()
        self._held.append((self._above, sorted(known), values))
        if known and len(values) == 1:  # a frame with a rule between all cells
            self._above = int(values[known[0][1]])
        shared = any(held.keys() & values.keys() for _, _, held in self._held[:-1])
        if not self._sure and shared and len(self._held) > (_DOUBTED if len(known) > 1 else 1):
            self._sure = True
        if self._sure:
            self._none |= none
            self._give()
        self._held = self._held[-_MOST_HELD:]

    def _give(self) -> None:
        """Add the boxes that wait."""
        for above, known, values in self._held:
            key = min((pair for pair in known if pair[1] not in self._none), default=(0, b""))[1]
            self._key = key or self._key
            step = int(values.pop(key)) if key else above
            if step is not None and values:
                self.add(Row.of(step, values))
        self._held = []


class ColumnTable(Dialect):
    """The dialect of tables with a header: ``Iter   Loss   Reward`` above ``10   0.52   12.5``, and
    the same between bars, as Markdown or prettytable print it.

    A header names a counter and a usual metric; two rows with rising counters make it a table.
    """

    markers = (b"tep ", b"poch ", b"Iter ", b"iter ", b"pisode ", b"tep\t", b"poch\t")
    rank = Rank.SHAPE
    longest = 2000

    def __init__(self, rows: ConsoleRows) -> None:
        super().__init__(rows)
        self._columns: tuple[bytes, ...] = ()
        self._at = 0
        """Column of the counter."""
        self._splits = _BARS
        self._left = 0
        """Lines for which the table stays open."""
        self._forms = RowForms()

    def read(self, line: bytes) -> bool:
        """A header opens a table; a repeated one changes nothing."""
        text = _inner(plain(line))
        if b":" in text or b"=" in text:
            return False
        for splits, parts in ((_BARS, None), (_BLANKS, None), (_BLANKS, text.split())):
            columns = tuple([_UNIT.sub(b"", name) for name in parts or splits.split(text)])
            if 3 <= len(columns) <= _MAX_COLUMNS and all(map(_NAME.fullmatch, columns)):
                break
        else:
            return False

        counters = [(r, i) for i, c in enumerate(columns) if (r := rank_of_counter(c)) is not None]
        if counters and any(map(is_metric, columns)) and not are_settings(columns):
            self._columns, self._at, self._splits = columns, min(counters)[1], splits
            self._left = _BETWEEN
            self.open = True
        return False

    def follow(self, line: bytes) -> None:
        """Read a line below the header."""
        self._left -= 1
        text = ungrouped(plain(line))
        if text and not is_rule(text):
            text = _inner(text) if not text[:1].isdigit() else text
            cells = self._splits.split(text) if self._splits is _BARS else text.split()
            if len(cells) != len(self._columns):  # a number of the row, or units
                numbered = len(cells) == len(self._columns) + 1 and cells[0].isdigit()
                cells = cells[1:] if numbered else self._splits.split(text)
            step = whole(cells[self._at]) if len(cells) == len(self._columns) else None
            if step is None:
                self.read(line)
            else:
                self._row(step, cells)
        self.open = self._left > 0

    def _row(self, step: int, cells: list[bytes]) -> None:
        found: dict[bytes, float] = {}
        for at, (name, cell) in enumerate(zip(self._columns, cells, strict=True)):
            value = amount(cell.partition(b" ")[0].rstrip(b"%s"))
            if value is not None and at != self._at:
                found[name] = value
            elif value is None and cell not in _EMPTY and self._splits is _BLANKS:
                return
        if found:
            self._left = _BETWEEN
            # the form is the header: cells without a number differ from row to row
            row = Row.of(step, found, self.rows.clock.stamp())
            self.add_believed(self._forms.add(self._columns, row))


def _inner(line: bytes) -> bytes:
    """A line without a prefix and the sides of its frame."""
    return unprefixed(line).strip(_FRAME)
