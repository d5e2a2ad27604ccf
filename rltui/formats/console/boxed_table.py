"""Boxes of keys and values: stable-baselines3, its predecessors, Spinning Up, garage, rlkit,
AReaL, open-instruct.

``| rollout/ | |`` opens a group, whose keys stand indented below it
(stable_baselines3/common/logger.py: HumanOutputFormat; three significant digits, long keys are
cut and end with ``...``). The step is a row of the box or stands on a line above it. Lines of
other output inside the box are skipped. Frames may be dashes or the characters of rich and
tabulate; a line may hold several pairs, or, in a frame of one column, many names with colons.
"""

from __future__ import annotations

import re

from rltui.formats.console.console_dialect import ConsoleRows, Dialect
from rltui.formats.console.console_line import amount, is_rule, plain, ungrouped, whole
from rltui.formats.console.pair_line import pairs_of, rank_of_counter
from rltui.formats.console.step_place import StepCounter, place_of
from rltui.formats.words import words

_MAX_ROWS = 500
#: Bytes of a row of a panel that goes on over several lines.
_MAX_PANEL = 4000
#: Headings that are read only when a box begins.
_MAX_LATER = 1000
#: Lines of other output allowed inside a box.
_MAX_FOREIGN = 200
_FIRST = (b"|", b"-")
#: The sides of frames drawn with other characters, and what their rules end with.
_SIDES = re.compile(b"(?:" + b"|".join(c.encode() for c in "│┃║") + b")")
_CORNERS = tuple((side + "\n").encode() for side in ("─╮", "─┐", "━┓", "═╕", "═╗"))
_TOPS = tuple(corner.encode() for corner in "╭┌┏╒╔")
_DASHES = (b"------\n", b"-+\n")
_ENDS = tuple(marker[:-1] for marker in (*_DASHES, *_CORNERS))
_COLUMNS = re.compile(rb"\s*(\S+(?: \S+){0,5}?)\s{2,}(\S+)\s*")
_CATEGORY = re.compile(rb"\s{0,3}(\S{1,60})\s{2,}(?=\S+: )")
_HEADING = re.compile(rb"(?:[Ss]tep|[Ee]poch|[Ii]teration|[Uu]pdate)s?[ :#\[(]{1,4}\d")


class BoxedTable(Dialect):
    """The dialect of boxed tables."""

    markers = (*_DASHES, *_CORNERS, b"tep ", b"poch ", b"Iteration ", b"pdate ")

    def __init__(self) -> None:
        super().__init__()
        self._open = self._dashes = False
        self._foreign = 0
        """Lines of other output since the last line of the box."""
        self._group = b""
        self._cells: dict[bytes, bytes] = {}
        self._panel: list[tuple[bytes, bytes]] = []
        """Category and text of the lines of a frame with one column."""
        self._counter = StepCounter()
        self._above: int | None = None
        """The step on a line above the box."""
        self._later: list[bytes] = []
        """Lines that may have it and were not read yet."""
        self._held: list[tuple[int, dict[bytes, float]]] = []
        """Boxes that wait for one of another step."""
        self._sure = False
        self._key = words().box_steps[0]
        """The counter of the newest box."""

    @property
    def open(self) -> bool:
        """Whether a box may continue."""
        return self._open

    def take(self, line: bytes, rows: ConsoleRows) -> bool:
        """A rule may begin a box; the following lines show whether it does."""
        if line[:1].isalnum() or not _may_be_rule(line):
            if not _HEADING.search(line):
                return False
            if self.markers is not _DASHES:
                self._later.append(line)
                if len(self._later) > _MAX_LATER:
                    self._read_later()
                return False
        text = ungrouped(plain(line))
        if self.markers is _DASHES and text[:1] not in (b"-", b"+"):
            return False  # found by a marker that is no longer one
        if is_rule(text) or text.startswith(_TOPS):
            self._begin(text)
        else:
            self._heading(text)
        return False

    def _begin(self, top: bytes) -> None:
        """The first line of a box, which may have a title with the step."""
        self._read_later()
        self._heading(top)
        self._open, self._dashes = True, top[:1] in (b"-", b"+")
        self._foreign, self._group = 0, b""
        self._cells, self._panel = {}, []

    def follow(self, line: bytes, rows: ConsoleRows) -> None:
        """A line below a rule: a cell, the end of the box, or other output."""
        first = line[:1]
        if first not in _FIRST:
            line = plain(line)
            first = line[:1]
        if first == b"|":
            self._foreign = 0
            self._cell(ungrouped(line).split(b"|"))
        elif first == b"\xe2":
            self._framed(ungrouped(line), rows)
        elif first in (b"-", b"+") and is_rule(line):
            self._rule(rows)
        elif line:
            self._other(line)

    def close(self, rows: ConsoleRows) -> None:
        """A box without its last line: only where the counter of the log is in it."""
        if self._key in self._cells:
            self._rule(rows)

    def _other(self, line: bytes) -> None:
        """Output that is in no frame: two columns, or of something else."""
        columns = _COLUMNS.fullmatch(line)
        if columns and amount(columns[2]) is not None and len(self._cells) < _MAX_ROWS:
            self._foreign = 0
            self._cells[columns[1]] = columns[2]
            return
        self._heading(line)
        self._foreign += 1
        self._open = bool(self._cells) and self._foreign < _MAX_FOREIGN

    def _heading(self, text: bytes) -> None:
        if len(text) < 300 and _HEADING.search(text):
            place = place_of(text)
            if place is not None:
                self._above, _ = self._counter.step_of(place)

    def _read_later(self) -> None:
        """Read the headings that were put off: most logs with such lines have no box."""
        lines, self._later = self._later, []
        for line in lines:
            self._heading(ungrouped(plain(line)))

    def _framed(self, line: bytes, rows: ConsoleRows) -> None:
        """A line in a frame of box-drawing characters."""
        parts = _SIDES.split(line)
        if len(parts) == 1:
            if line.startswith(_TOPS) and not is_rule(line):
                self._begin(line)
            elif is_rule(line) and not line.startswith("├".encode()):
                self._rule(rows)
            return
        self._foreign = 0
        if len(parts) > 3:
            self._cell(parts)
        elif len(parts) == 3 and len(self._panel) < _MAX_ROWS:
            columns = _COLUMNS.fullmatch(parts[1])
            if columns and amount(columns[2]) is not None:
                self._cells[columns[1]] = columns[2]
                return
            category = _CATEGORY.match(parts[1])
            if category:
                self._panel.append((category[1], parts[1][category.end() :].strip()))
            elif not self._panel:
                self._pairs(parts[1].strip())
            elif parts[1].strip() and len(self._panel[-1][1]) < _MAX_PANEL:
                name, text = self._panel[-1]
                self._panel[-1] = name, text + b" " + parts[1].strip()

    def _pairs(self, text: bytes) -> None:
        """Pairs in a frame without inner columns."""
        found = pairs_of(text, alone=True)
        if found is not None and len(self._cells) + len(found.names) <= _MAX_ROWS:
            self._cells.update(
                (name, b"%r" % value if whole is None else b"%d" % whole)
                for name, value, whole in zip(found.names, found.values, found.whole, strict=True)
            )

    def _rule(self, rows: ConsoleRows) -> None:
        """A rule: the end of the box when there are cells."""
        cells, self._cells = self._cells, {}
        panel, self._panel = self._panel, []
        self._foreign, self._group = 0, b""
        for category, text in panel:
            for pair in text.split(b" | "):
                name, _, value = pair.rpartition(b": ")
                cells[name if category == b"other" else category + b"/" + name] = value
        if cells:
            self._row(cells, rows)

    def _cell(self, parts: list[bytes]) -> None:
        if len(parts) < 4 or len(parts) % 2 or parts[-1].strip():
            return
        for at in range(1, len(parts) - 1, 2):
            raw, value = parts[at], parts[at + 1].strip()
            key = raw.strip()
            if not value:
                self._group = key if key.endswith(b"/") else self._group
            elif len(self._cells) < _MAX_ROWS:
                self._cells[self._group + key if raw.startswith(b"    ") else key] = value

    def _row(self, cells: dict[bytes, bytes], rows: ConsoleRows) -> None:
        for key in words().box_steps:
            step = amount(cells[key]) if key in cells else None
            if step is not None and step.is_integer():
                del cells[key]
                self._key = key
                if self._dashes:
                    self.markers = _DASHES
                self._give(int(step), _numbers(cells), rows)
                return
        self._guess(cells, rows)

    def _guess(self, cells: dict[bytes, bytes], rows: ConsoleRows) -> None:
        """A box with a counter of another name, or below a line with one."""
        ranks = {
            key: rank_of_counter(key) for key, text in cells.items() if whole(text) is not None
        }
        known = [(rank, key) for key, rank in ranks.items() if rank is not None]
        if known:
            key = min(known)[1]
            step = whole(cells.pop(key)) or 0
        elif self._above is not None:
            step = self._above
        else:
            return
        values = _numbers(cells)
        if self._sure:
            self._give(step, values, rows)
        elif values and (not self._held or step > self._held[-1][0]):
            self._held.append((step, values))
            shared = [v for _, v in self._held[:-1] if v.keys() & values.keys()]
            if shared:
                self._sure = True
                for held in self._held:
                    self._give(*held, rows)
            self._held = [] if shared else self._held[-4:]

    def _give(self, step: int, values: dict[bytes, float], rows: ConsoleRows) -> None:
        if values:
            self._add_cells(rows, step, values)


def _numbers(cells: dict[bytes, bytes]) -> dict[bytes, float]:
    found = ((name, amount(text)) for name, text in cells.items())
    return {name: value for name, value in found if value is not None}


def _may_be_rule(line: bytes) -> bool:
    """A cheap test whether a line may have a frame, or escape sequences that hide what it has."""
    return b"\xe2" in line or b"\x1b" in line or line.endswith(_ENDS)
