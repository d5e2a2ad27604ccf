"""What a dialect of console lines is."""

from __future__ import annotations

from typing import Protocol

from rltui.formats.console.console_rows import ConsoleRows


class Dialect(Protocol):
    """Recognises the rows of one family of trainers; owned by one decoder."""

    @property
    def markers(self) -> tuple[bytes, ...]:
        """A line that holds none of them is never shown to :meth:`take`."""
        ...

    @property
    def weak(self) -> bool:
        """Whether it guesses, and gives way to any other dialect that finds a row."""
        ...

    @property
    def open(self) -> bool:
        """Whether it wants the lines that follow, whatever they hold."""
        ...

    def take(self, line: bytes, rows: ConsoleRows) -> bool:
        """Read a line (raw, without its end); whether it is a row of this dialect."""
        ...

    def follow(self, line: bytes, rows: ConsoleRows) -> None:
        """Read a line that follows while the dialect is open."""
        ...
