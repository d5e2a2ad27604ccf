"""Tables of rows under a header: ``Iter   Loss   Reward`` above ``10   0.52   12.5``, and the
same between bars, as Markdown or prettytable print it.

A header names a counter and a usual metric; two rows with rising counters make it a table.
"""

from __future__ import annotations

import math
import re

from rltui.formats.console.console_dialect import ConsoleRows, Dialect, Rank
from rltui.formats.console.console_line import amount, is_rule, plain, ungrouped, whole
from rltui.formats.console.pair_line import are_settings, is_metric, rank_of_counter, unprefixed
from rltui.formats.console.row_forms import RowForms, Waiting

_MAX_LINE = 2000
_MAX_COLUMNS = 64
#: Lines of other output between two rows.
_BETWEEN = 20
_BARS = re.compile(r"\s*(?:\||│|┃|\t)\s*".encode())
_BLANKS = re.compile(rb"\s{2,}")
_NAME = re.compile(rb"[A-Za-z_\x80-\xff%#][\w ./%()#@\x80-\xff+-]{0,60}")
#: Cells of a row that have no number yet.
_EMPTY = (b"", b"-", b"--", b"n/a", b"N/A", b"None")


class ColumnTable(Dialect):
    """The dialect of tables with a header."""

    markers = (b"tep ", b"poch ", b"Iter ", b"iter ", b"pisode ", b"tep\t", b"poch\t")
    rank = Rank.SHAPE

    def __init__(self) -> None:
        super().__init__()
        self._columns: tuple[bytes, ...] = ()
        self._at = 0
        """Column of the counter."""
        self._splits = _BARS
        self._left = 0
        """Lines for which the table stays open."""
        self._forms = RowForms()

    @property
    def open(self) -> bool:
        """Whether rows may follow."""
        return self._left > 0

    def take(self, line: bytes, rows: ConsoleRows) -> bool:
        """A header opens a table; a repeated one changes nothing."""
        if len(line) > _MAX_LINE or b":" in line or b"=" in line:
            return False
        text = _inner(unprefixed(plain(line)))
        for splits in (_BARS, _BLANKS):
            columns = tuple(splits.split(text))
            if 3 <= len(columns) <= _MAX_COLUMNS and all(map(_NAME.fullmatch, columns)):
                break
        else:
            columns = tuple(text.split())
            splits = _BLANKS
            if not 3 <= len(columns) <= _MAX_COLUMNS or not all(map(_NAME.fullmatch, columns)):
                return False
        counters = [(r, i) for i, c in enumerate(columns) if (r := rank_of_counter(c)) is not None]
        if not counters or not any(map(is_metric, columns)) or are_settings(columns):
            return False
        self._columns, self._at, self._splits = columns, min(counters)[1], splits
        self._left = _BETWEEN
        return False

    def follow(self, line: bytes, rows: ConsoleRows) -> None:
        """A line below the header."""
        self._left -= 1
        text = ungrouped(plain(line))
        if len(text) > _MAX_LINE or not text or is_rule(text):
            return
        text = _inner(unprefixed(text)) if not text[:1].isdigit() else text
        cells = self._splits.split(text) if self._splits is _BARS else text.split()
        step = whole(cells[self._at]) if len(cells) == len(self._columns) else None
        if step is None:
            self.take(line, rows)
            return
        found: dict[bytes, float] = {}
        for at, (name, cell) in enumerate(zip(self._columns, cells, strict=True)):
            value = amount(cell.rstrip(b"%s"))
            if value is None and cell not in _EMPTY:
                if self._splits is _BLANKS:
                    return
                continue
            if at != self._at and value is not None:
                found[name] = value
        if not found:
            return
        self._left = _BETWEEN
        # the form is the header: cells without a number differ from row to row
        row = Waiting(step, list(found.values()), math.nan, None, tuple(found))
        accepted = self._forms.add(self._columns, row)
        for one in accepted[:-1]:
            rows.add(one.names, one.step, one.values, one.wall)
        for last in accepted[-1:]:
            self._add(rows, last.names, last.step, last.values, last.wall)


def _inner(text: bytes) -> bytes:
    """A line without the sides of its frame."""
    return text.strip(b" |").removeprefix("│".encode()).removesuffix("│".encode()).strip()
