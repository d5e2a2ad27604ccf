"""Pauses between attempts to reach what is out of reach."""

from __future__ import annotations

import math
from collections.abc import Callable

LEAST_S, MOST_S = 0.5, 30.0


class Backoff:
    """Says when to try again: after a pause that doubles with each failure. Knows no clock."""

    def __init__(
        self,
        least_s: float = LEAST_S,
        most_s: float = MOST_S,
        stretch: Callable[[], float] = lambda: 1.0,
    ) -> None:
        """``stretch``: factor of the next pause, by which many readers differ."""
        self._least_s = least_s
        self._most_s = most_s
        self._stretch = stretch
        self._failures = 0
        self._at = -math.inf

    def failed(self, now: float) -> float:
        """Note a failed attempt at ``now`` (monotonic); returns the pause, seconds."""
        pause = min(self._most_s, self._least_s * 2.0 ** min(self._failures, 16)) * self._stretch()
        self._failures += 1
        self._at = now + pause
        return pause

    def succeeded(self) -> None:
        """Note an attempt that did not fail: the next pause is short again."""
        self._failures, self._at = 0, -math.inf

    def waits(self, now: float) -> bool:
        """Whether it is too early to try again."""
        return now < self._at
