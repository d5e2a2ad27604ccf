"""Time is passed as an argument: only these classes read a clock."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """The source of time of the program."""

    def now(self) -> float:
        """Seconds since the Unix epoch."""

    def monotonic(self) -> float:
        """Seconds that never run backwards, from an arbitrary zero."""


class SystemClock:
    """The clock of the machine."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()
