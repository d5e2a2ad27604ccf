"""What sampling engines print between the rows of a training: one row of their figures for each of
its steps."""

from __future__ import annotations

from rltui.formats.console.console_dialect import ConsoleRows, Dialect, Row
from rltui.formats.gauges import ENGINE_MARKERS, Period, engine_readings


class EngineLines(Dialect):
    """Adds up what engines print after a row; it belongs to the step of that."""

    markers = ENGINE_MARKERS
    aside = True

    def __init__(self, rows: ConsoleRows) -> None:
        super().__init__(rows)
        self._period = Period()
        self._step: int | None = None
        """Of the row before the period."""

    def read(self, line: bytes) -> bool:
        readings = engine_readings(line)
        if not readings:
            return False
        newest = self.rows.newest
        if newest != self._step:
            if self._step is not None:  # before the first row they wait for it
                self.close()
            self._step = newest
        self._period.add(readings)
        return True

    def close(self) -> None:
        """Add the row of the open period."""
        if self._period and self._step is not None:
            row, _ = self._period.take()
            self.rows.add(Row(self._step, tuple(n.encode() for n in row), list(row.values())))
