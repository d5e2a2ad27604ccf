"""How the columns of the list of runs share the width of the screen."""

from __future__ import annotations

from rltui.core.text import cell_width
from rltui.draw.table import Table
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.runs import Names

#: Fewest cells of a wide screen.
WIDE = 110
#: Fewest cells of the screen, and cells of margin, framework, step, age, title and value there.
_TABLE = """
110  2 15  8  7 11 10
100  1 13  8  7  7 10
 80  1 13  8  0  7 10
 60  1  0  8  0  0 10
 50  1  0  0  0  0 10
  0  1  0  0  0  0  0
"""
_WIDTHS = [[int(cell) for cell in row.split()] for row in _TABLE.strip().splitlines()]
#: Cells that a sparkline keeps in a wide terminal where names are cut.
_LEAST_SPARK = 12
#: Fewest and most cells for the worst finding in the line of a run, behind its sparkline.
_SAYS = (26, 46)
#: Most cells of a column that the user chose, and of the name where something else needs room.
_WIDEST = 22
_NAME = 22


class RunColumns:
    """Widths of the columns at a screen width; 0 leaves a column out."""

    def __init__(self, width: int, names: Names, view: View, sorted_by: str) -> None:
        """``sorted_by``: the column that stays."""
        longest = names.cells
        own = names.own_cells
        fitting = next(cells for least, *cells in _WIDTHS if width >= least)
        self.left, self.framework, self.step, self.age, self.title, self.value = fitting
        self.mark = 2 * bool(view.marked)
        self.state = (
            14 if width >= WIDE else min(14, max(12, names.state_cells + 3)) if width >= 60 else 0
        )
        self._says_more = names.says_more
        least = numbers.ALIGNED_WIDTH
        self.chosen = {c: min(_WIDEST, max(least, cell_width(c))) + 1 for c in view.columns}
        """Columns that the user chose -> their widths."""
        self.title *= width >= WIDE or not names.says_more
        if self.chosen:
            self.title = self.value = 0
            self._fit_chosen(width, longest, sorted_by)
        self._share_out(width, longest)
        if self.name < longest + 2:
            self._share_out(width, longest, _LEAST_SPARK)
        if self.framework and self.name < (longest if width < 110 else own) + 2:
            self.framework = 0  # names differ, frameworks rarely do
            self._share_out(width, longest, _LEAST_SPARK)
        if names.says_more and (names.is_one_kind or width < WIDE):
            self._give_way(width, longest)
        sizes = {"name": self.name, "framework": self.framework, "state": self.state}
        sizes |= {"step": self.step, "age": self.age}
        # a setting may have the name of another column
        chosen = {f"={name}": cells for name, cells in self.chosen.items()}
        sizes |= chosen
        sizes |= {"headline": self.value and self.title + self.value + 2}
        sizes |= {"spark": self.spark and self.spark + 1 + (not self.value)}
        right = dict.fromkeys(["step", "age", *chosen], ">")
        self.table = Table({x: n - 1 for x, n in sizes.items()}, right, self.mark + 2)

    def _give_way(self, width: int, longest: int) -> None:
        """Leave the framework out where the worst finding of each run then has room."""
        for framework in (0, self.framework):
            if not (self.parted if width >= WIDE else self.says):
                self.framework = framework
                self._share_out(width, longest)

    def _fit_chosen(self, width: int, longest: int, sorted_by: str) -> None:
        """Leave out the age, the framework, the step, then the last columns until they fit."""

        def lacks() -> bool:
            taken = (self.left, self.mark, self.framework, self.state, self.step, self.age)
            return sum(taken) + sum(self.chosen.values()) + min(longest + 2, _NAME) + 4 > width

        for name in ("age", "framework", "step"):
            if lacks():
                setattr(self, name, 0)
        while lacks() and len(self.chosen) > 1:
            del self.chosen[[c for c in self.chosen if c != sorted_by][-1]]

    def _share_out(self, width: int, longest: int, spark: int = 24) -> None:
        """Give what is left to the name and the sparkline."""
        taken = (self.left, self.mark, self.framework, self.state, self.step, self.age, self.title)
        rest = width - sum(taken) - self.value - (2 if self.value else 1) - 3
        rest -= sum(self.chosen.values())
        least_spark = 0 if width < 80 or self.chosen else spark if width >= 110 else 8
        least, most = _SAYS
        if self._says_more and rest - _NAME >= _LEAST_SPARK:
            least_spark = max(least_spark, min(_NAME, rest - _NAME))
            if rest // 2 >= _LEAST_SPARK + 2 + least:  # long names leave room for both
                least_spark = min(rest // 2, _LEAST_SPARK + 2 + most)
        self.name = max(8, min(longest + 2, rest - least_spark))
        self.spark = min(60, rest - self.name) if rest - self.name >= 6 else 0
        room = rest - self.name - _LEAST_SPARK - 2 if self._says_more else 0
        self.parted = room >= least and width >= WIDE
        """Whether what else there is to say of a run has a column behind the sparkline."""
        self.says = min(most, room) if self.parted else self.spark
        """Cells for it there, or in place of the sparkline."""
        if self.parted:
            self.spark = min(60, rest - self.name - self.says - 2)
        elif not self._says_more or self.says < _LEAST_SPARK:
            self.says = 0
