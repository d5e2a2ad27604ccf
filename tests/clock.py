"""A clock for tests."""


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
