"""What waits while the user presses keys, so that none of them waits for it."""

from __future__ import annotations

import gc
import math

from rltui.core.clock import Clock

#: Keys that are this close belong together, seconds.
_TOGETHER_S = 0.3
#: New objects that are worth a collection when no key comes, and at any rate: 2,000 take 0.5 ms.
_FEW, _MANY = 2_000, 100_000
#: Seconds between two looks at the number of new objects.
_LOOK_S = 0.25
#: Collections after which the next older generation is looked through, too; all objects only
#: after so many seconds without a key, for that takes a tenth of a second.
_OLDER, _ALL, _AWAY_S = 10, 50, 10.0
#: With thousands of runs it takes seconds: where it takes this long, what is left is not looked
#: through again before so many of these collections.
_LONG_S, _THAW = 0.05, 20


class InputTimes:
    """When the last key or click came."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = -math.inf

    def note(self) -> None:
        """One came now."""
        self._last = self._clock.monotonic()

    @property
    def since(self) -> float:
        """Seconds since the last one; infinite before the first."""
        return self._clock.monotonic() - self._last

    @property
    def recent(self) -> bool:
        """Whether more may be about to come."""
        return self.since < _TOGETHER_S


class Collecting:
    """Runs Python's garbage collector between keys: in the middle of one it takes 5 to 100 ms."""

    def __init__(self, times: InputTimes, clock: Clock) -> None:
        self._times = times
        self._clock = clock
        self._looked = -math.inf
        self._since_freeze: int | None = None
        """Collections of all objects since most were left out; None while none are."""

    def start(self) -> None:
        """From now on nothing is collected but by :meth:`look`."""
        gc.disable()

    def stop(self) -> None:
        """Leave it to Python again."""
        gc.enable()

    def look(self) -> None:
        """Collect if that is worth while and no key comes; to be called after anything that
        leaves garbage. Counts objects at most four times a second."""
        now = self._clock.monotonic()
        if now - self._looked < _LOOK_S:
            return
        self._looked = now
        young, middle, old = gc.get_count()
        if young < _FEW or (young < _MANY and self._times.recent):
            return
        if old >= _ALL and self._times.since >= _AWAY_S:
            self._collect_all()
        else:
            gc.collect(1 if middle >= _OLDER else 0)

    def _collect_all(self) -> None:
        if self._since_freeze is not None:
            self._since_freeze += 1
            if self._since_freeze >= _THAW:
                gc.unfreeze()
                self._since_freeze = None
        begun = self._clock.monotonic()
        gc.collect()
        if self._clock.monotonic() - begun >= _LONG_S:
            gc.freeze()
            self._since_freeze = 0
