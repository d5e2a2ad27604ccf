"""How the body of a tab is divided: list and chart, one of them alone, or a grid of charts."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Arrangement:
    """What the body of a tab shows."""

    grid: bool = False
    """A chart for each row instead of the list."""
    alone: str = ""
    """``chart`` or ``list`` when that has the whole body, else ``""``."""

    @property
    def is_grid(self) -> bool:
        """Whether the charts of all rows are in sight."""
        return self.grid and not self.alone

    def turned(self) -> Arrangement:
        """The grid instead of the list, or the list again."""
        return Arrangement(grid=not self.grid)

    def maximised(self) -> Arrangement:
        """The chart alone, then the list alone, then both; of a grid the chart alone, then all."""
        order = ("", "chart") if self.grid else ("", "chart", "list")
        return replace(self, alone=order[(order.index(self.alone) + 1) % len(order)])
