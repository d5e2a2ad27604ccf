"""The layout of a grid of charts: how many columns and rows, and how high each row is."""

from __future__ import annotations

import math

from rltui.core.record import record

#: Columns from these widths on; beyond the last one more for each ``_EXTRA`` cells.
_COLUMNS = ((150, 4), (110, 3), (60, 2), (0, 1))
_EXTRA = 40
#: Lines of a chart with its title: at least, and at least with a blank below it.
_LOW = 6
_AIRY = 7
#: Lines of the x axis below the last row.
_AXIS = 2
#: Cells before a chart: blank, cursor bar.
MARGIN = 2
#: A chart is about this many times as wide as high, in cells.
_SHAPE = 4.75
#: What a blank place costs against a chart of another shape.
_BLANK = 2.0


@record
class GridLayout:
    """The charts of a grid, in cells. All have the same width."""

    columns: int
    pitch: int
    """From the left end of a chart to that of the next, with the margin."""
    heights: tuple[int, ...]
    """Lines of each visible row: title, plot, and the blank below it."""
    gap: int
    """Blank lines below a plot."""
    axis: int
    """Lines of the x axis."""

    @property
    def rows(self) -> int:
        """Visible rows."""
        return len(self.heights)

    @property
    def places(self) -> int:
        """Visible charts, at most."""
        return self.columns * self.rows

    @property
    def width(self) -> int:
        """Cells of a chart."""
        return self.pitch - MARGIN

    def place_at(self, x: int, y: int) -> int | None:
        """The place, counted by rows, that holds the cell ``x``, ``y``; None outside of all."""
        column = x // self.pitch
        if column >= self.columns or y < 0:
            return None
        for row, height in enumerate(self.heights):
            if y < height:
                return row * self.columns + column
            y -= height
        return None

    def scrolled(self, top: int, place: int, count: int) -> int:
        """The first row to show so that ``place`` among ``count`` charts is visible: ``top`` if it
        is already."""
        row = place // self.columns
        total = math.ceil(count / self.columns)
        top = min(max(top, row - self.rows + 1), row)
        return max(0, min(top, total - self.rows))


def grid_layout(width: int, height: int, count: int) -> GridLayout:
    """The layout of ``count`` charts in ``width`` x ``height``: where all fit, that with the best
    shaped charts and the fewest blank places; else as many columns as the width allows."""
    count = max(1, count)
    usual = next(c for least, c in _COLUMNS if width >= least)
    most = min(usual + max(0, width - _COLUMNS[0][0]) // _EXTRA, count)
    axis = _AXIS if height >= _LOW + _AXIS else 0
    room = max(1, height - axis)
    least = _AIRY if height >= 26 else _LOW
    fit = max(1, room // least)

    def cost(columns: int) -> float:
        rows = math.ceil(count / columns)
        shape = width / columns / (room / rows)
        return abs(math.log(shape / _SHAPE)) + _BLANK * (1 - count / (columns * rows))

    complete = [c for c in range(1, most + 1) if math.ceil(count / c) <= fit]
    columns = min(complete, key=cost, default=most)
    rows = min(fit, math.ceil(count / columns))
    each, more = divmod(room, rows)
    heights = tuple(each + (i < more) for i in range(rows))

    return GridLayout(columns, max(1, (width - 1) // columns), heights, int(least == _AIRY), axis)
