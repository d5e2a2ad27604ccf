"""Time is passed as an argument: only these classes read a clock."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """The source of time of the program."""

    def now(self) -> float:
        """Seconds since the Unix epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds that never run backwards, from an arbitrary zero."""
        ...


class SystemClock:
    """The clock of the machine."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


class ManualClock:
    """A clock that only moves when :meth:`advance` is called, for tests."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self._now = now
        self._monotonic = 0.0

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Move both times forward by ``seconds``."""
        self._now += seconds
        self._monotonic += seconds
