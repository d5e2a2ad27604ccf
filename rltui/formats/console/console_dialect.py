"""What a dialect of console lines is."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from rltui.formats.console.console_rows import ConsoleRows, RestartDetector


class Dialect(ABC):
    """Recognises the rows of one family of trainers; owned by one decoder."""

    markers: tuple[bytes, ...]
    """:meth:`take` only gets lines that contain one of these."""
    weak = False
    """Whether it guesses: it is dropped when another dialect finds a row."""

    def __init__(self) -> None:
        self._restarts = RestartDetector()

    @property
    def open(self) -> bool:
        """Whether it wants the following lines, whatever they contain."""
        return False

    @abstractmethod
    def take(self, line: bytes, rows: ConsoleRows) -> bool:
        """Read a raw line without its end; returns whether it is a row of this dialect."""

    def follow(self, line: bytes, rows: ConsoleRows) -> None:  # noqa: B027 - few are ever open
        """Read a following line while the dialect is open."""

    def _add(
        self,
        rows: ConsoleRows,
        names: tuple[bytes, ...],
        step: int,
        values: Sequence[float],
        wall: float = math.nan,
    ) -> None:
        """Add a row; one at a lower step than before is the first after a restart."""
        self._restarts.add(rows, names, step)
        rows.add(names, step, values, wall)

    def _add_cells(
        self, rows: ConsoleRows, step: int, cells: Mapping[bytes, float], wall: float = math.nan
    ) -> None:
        """The same with the values by name."""
        self._add(rows, tuple(cells), step, tuple(cells.values()), wall)
