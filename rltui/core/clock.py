"""Time is passed as an argument: only these classes read a clock."""

from __future__ import annotations

import time
from typing import Protocol

#: Seconds by which two clocks may differ before one of them counts as wrong.
_SKEW_S = 60.0


def skew(ahead_s: float) -> float:
    """How far another clock is ahead, seconds; 0.0 where it may well be right."""
    return ahead_s if abs(ahead_s) > _SKEW_S else 0.0


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
