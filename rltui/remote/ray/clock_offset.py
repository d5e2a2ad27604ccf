"""By how much the clock of another host is ahead of the one here."""

from __future__ import annotations

import math


class ClockOffset:
    """Measured by calls: what a call does happens after it was sent and before its answer comes.

    So each call gives bounds, which are as far apart as the call was on its way.
    """

    def __init__(self) -> None:
        self.ahead_s = (-math.inf, math.inf)
        """Seconds by which it is ahead, at least and at most."""

    def measured(self, sent: float, received: float, there: tuple[float, float]) -> None:
        """Take a call into account: times here, and ``there`` at its beginning and its end; all
        in seconds since the epoch."""
        begun, ended = there
        least, most = ended - received, begun - sent
        if least > most:
            return  # one of the clocks was set meanwhile
        narrowed = max(least, self.ahead_s[0]), min(most, self.ahead_s[1])
        self.ahead_s = narrowed if narrowed[0] <= narrowed[1] else (least, most)
