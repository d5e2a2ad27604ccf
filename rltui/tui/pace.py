"""How often news of the logs are painted. Keys never wait for it."""

from __future__ import annotations

#: Two paints are never nearer than this, seconds: at most two a second.
_APART_S = 0.5
#: So many paints may come that fast, and one more per interval: what happens after a quiet spell
#: is shown at once, a stream of steps about once a second. That is as fast as anybody reads, and
#: half the work on the machine that trains.
_BURST, _EVERY_S = 3, 0.95


class Pace:
    """Hands out paints like tokens of a bucket. Times are those of a monotonic clock."""

    def __init__(self) -> None:
        self._last: float | None = None
        self._left = float(_BURST)
        """Paints in the bucket at the time of the last one."""

    def wait(self, now: float) -> float:
        """Seconds until the next paint may come; 0 or less for at once."""
        if self._last is None:
            return 0.0
        lacking = (1.0 - self._left) * _EVERY_S
        return max(_APART_S, lacking) - (now - self._last)

    def spend(self, now: float) -> None:
        """A paint happened."""
        if self._last is not None:
            gained = (now - self._last) / _EVERY_S
            self._left = min(float(_BURST), self._left + max(0.0, gained))
        self._left = max(0.0, self._left - 1.0)
        self._last = now
