"""View options that screens share, and the record of a layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from rltui.core.address import file_url
from rltui.core.record import record
from rltui.core.text import Names
from rltui.draw.glyph import GlyphSet, glyph_set
from rltui.facts import numbers
from rltui.facts.groups import Marked


class View(NamedTuple):
    """How charts and lists are drawn. Cursor, filter and zoom belong to each screen."""

    axis: str = "step"
    """Quantity on the x axis: step, relative, wall, tokens or a metric."""
    smooth: float = 0.0
    """Weight of the moving average, 0 (none) to below 1."""
    log_y: bool = False
    outliers: bool = False
    """True cuts the y range to the 1-99 % quantiles."""
    by_value: bool = True
    """Whether what is read at a crosshair stands in the order of the lines there, else in that of
    the marks."""
    marker: str = "braille"
    """How charts draw their dots: braille, block or ascii."""
    colours: bool = True
    """False on a terminal without colours."""
    links: bool = False
    """Whether the terminal is known to open links."""
    marked: tuple[Marked, ...] = ()
    """The runs that are drawn in the charts of every other run, by slot."""
    shared: Names = ()
    """The tags that are drawn in one chart, in the order in which they were marked."""
    columns: Names = ()
    """Columns of the list of runs, see :mod:`rltui.facts.run_columns`."""

    @property
    def glyphs(self) -> GlyphSet:
        """The glyphs of the chosen marker."""
        return glyph_set(self.marker, colours=self.colours)

    @property
    def text(self) -> Callable[[str], str]:
        """Maps a text to one that may be printed."""
        return self.glyphs.text

    def link(self, path: Path | None) -> str:
        """The address of a file for :func:`~rltui.draw.line.style`; "" where none can be opened."""
        return file_url(path) if self.links and path is not None else ""

    def changed_options(self, axes: Sequence[str] | None = None) -> str:
        """Options that differ from the defaults, for the right end of the footer. An axis that is
        not among the ``axes`` of the screen leaves its charts on the step."""
        words = [f"x {self.axis}"] if self.axis != "step" else []
        if axes is not None and self.axis not in axes:
            words = [f"x step: no {missing_on(self.axis)}"]
        words += ["log y"] if self.log_y else []
        words += ["no outliers"] if self.outliers else []
        words += [f"smooth {numbers.short(self.smooth)}"] if self.smooth else []
        return "  ".join(words)


def missing_on(axis: str) -> str:
    """Name what a log without that axis lacks: times or a metric."""
    return "times" if axis in ("relative", "wall") else axis


@record
class PaneLayout:
    """Where the parts of a tab are; widths and heights in cells, 0 for a part that is left out."""

    margin: int
    """Cells left of the rows, for the cursor bar."""
    rows: int
    """Width of a row."""
    left: int
    """Width of the list, with its margin and what parts it from the pane at the right."""
    side: int
    """Width of the pane at the right."""
    list_height: int
    """Height of the list, without its heading."""
    below: int = 0
    """Height of what is under the list."""
    top: int = 0
    """Height of what is above the heading of the list."""
    headed: bool = False
    """Whether the heading is above the list and does not scroll."""
