"""The columns of a table of metrics: how wide they are, and the names and words in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rltui.core.text import cell_width
from rltui.draw.names import distinct
from rltui.draw.view import View
from rltui.facts import numbers, sentences
from rltui.facts.metrics import Row

#: Cells of the healthy column that its head needs.
_LEAST_HEALTHY = 8
#: A sparkline gives none of its cells to names below this.
_LEAST_SPARK = 16
#: Units that get a shorter word in narrow panes.
_SHORT_UNITS = {"tok/s/gpu": "tok/s", "ms/tok": "ms/tk", "steps/s": "st/s", "samples/s": "smp/s"}


@dataclass(frozen=True, slots=True)
class Columns:
    """Cells of text in each column of a row; 0 leaves a column out.

    The badge comes first, in one cell; a blank stands between any two columns.
    """

    name: int
    unit: int
    change: int
    spark: int
    healthy: int
    value: int = numbers.ALIGNED_WIDTH

    @property
    def width(self) -> int:
        """Cells of the whole row."""
        shown = (self.name, self.value, self.unit, self.change, self.spark, self.healthy)
        return 1 + sum(1 + cells for cells in shown if cells)

    def start(self, column: str) -> int:
        """Cells before a column."""
        at = 2
        for name in ("name", "value", "unit", "change", "spark", "healthy"):
            if name == column:
                break
            cells: int = getattr(self, name)
            at += cells + 1 if cells else 0
        return at


def columns_for(width: int) -> Columns:
    """The columns of a pane ``width`` cells wide."""
    if width >= 84:
        return Columns(18, 9, 9, width - 69, 16)
    if width >= 76:
        return Columns(16, 9, 8, width - 63, 13)
    if width >= 67:
        return Columns(16, 7, 8, width - 60, 12)
    if width >= 60:
        return Columns(16, 0, 8, width - 52, 12)
    if width >= 34:
        return Columns(width - 24, 0, 0, 10, 0)
    return Columns(max(4, width - 13), 0, 0, 0, 0)


def columns_of(rows: Sequence[Row], width: int, view: View) -> Columns:
    """The columns of a pane with these rows: what their limits and units leave blank, and a wide
    sparkline spares, is for names that are too long."""
    columns = columns_for(width)
    if not columns.healthy or not rows:
        return columns
    titles = short_titles([r.title for r in rows], [r.info.unit for r in rows])
    wanted = max(map(cell_width, titles)) - columns.name
    healthy = max(cell_width(healthy_words(r, columns, view)) for r in rows)
    spare = columns.healthy - max(healthy, _LEAST_HEALTHY)
    taken = max(0, min(wanted, spare))
    columns = replace(columns, name=columns.name + taken, healthy=columns.healthy - taken)
    taken = max(0, min(wanted - taken, columns.spark - _LEAST_SPARK))
    return replace(columns, name=columns.name + taken, spark=columns.spark - taken)


def row_names(rows: Sequence[Row], columns: Columns, view: View) -> tuple[str, ...]:
    """The names of neighbouring rows: what differs between them stays visible."""
    titles = tuple(r.title for r in rows)
    if columns.unit and any(cell_width(t) > columns.name for t in titles):
        units = [unit_words(r, columns, view) for r in rows]
        titles = short_titles(titles, [u if cell_width(u) <= columns.unit else "" for u in units])
    return distinct(titles, columns.name, view.glyphs.ellipsis)


def short_titles(titles: Sequence[str], units: Sequence[str]) -> tuple[str, ...]:
    """The titles without the unit that stands beside them: "reward best@2, std" in "best@2" is
    "reward, std". One that would be mistaken for another stays whole."""
    short = [
        re.sub(rf" {re.escape(unit)}(?=$|[ ,])", "", title, count=1) if unit else title
        for title, unit in zip(titles, units, strict=True)
    ]
    held = Counter(zip(short, units, strict=True))
    found = zip(titles, short, units, strict=True)
    return tuple(s if held[s, unit] == 1 else title for title, s, unit in found)


def healthy_words(row: Row, columns: Columns, view: View) -> str:
    """The limit in words; narrow columns take the short form."""
    words = view.glyphs.text(sentences.healthy(row.judgement))
    if columns.healthy >= 16 and cell_width(words) <= columns.healthy:
        return words
    return view.glyphs.text(sentences.healthy_short(row.judgement)) or words


def unit_words(row: Row, columns: Columns, view: View) -> str:
    """The unit, in narrow columns the short form."""
    unit = row.info.unit
    if cell_width(unit) > columns.unit:
        unit = _SHORT_UNITS.get(unit, unit)
    return view.glyphs.text(unit)
