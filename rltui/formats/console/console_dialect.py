"""The protocol of a dialect of console lines."""

from __future__ import annotations

from typing import Protocol

from rltui.formats.console.console_rows import ConsoleRows


class Dialect(Protocol):
    """Recognises the rows of one family of trainers; owned by one decoder."""

    @property
    def markers(self) -> tuple[bytes, ...]:
        """:meth:`take` only gets lines that contain one of these."""
        ...

    @property
    def weak(self) -> bool:
        """Whether it guesses: it is dropped when another dialect finds a row."""
        ...

    @property
    def open(self) -> bool:
        """Whether it wants the following lines, whatever they contain."""
        ...

    def take(self, line: bytes, rows: ConsoleRows) -> bool:
        """Read a raw line without its end; returns whether it is a row of this dialect."""
        ...

    def follow(self, line: bytes, rows: ConsoleRows) -> None:
        """Read a following line while the dialect is open."""
        ...
