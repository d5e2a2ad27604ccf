"""Where a plot lies on the lines of its chart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rltui.draw.chart.trace import cell_of


@dataclass(frozen=True, slots=True)
class Span:
    """Where the plot lies on its lines, and what its columns mean."""

    left: int
    """Cells before the first column of the plot."""
    cells: int
    width: int
    """Cells of the whole line."""
    x0: float
    x1: float
    newest: float | None = None
    """The newest x of the run when the window reaches beyond it: bars end there."""

    def column(self, x: float) -> int:
        """The column of ``x`` on the whole line; outside of the window its nearest end."""
        return self.left + int(cell_of(np.array([x]), self.x0, self.x1, self.cells)[0])

    def holds(self, x: float) -> bool:
        """True when ``x`` is in the window."""
        return self.x0 <= x <= self.x1
