"""Whether a host can be reached, and what is said about it when it cannot."""

from __future__ import annotations

import time

from rltui.core.clock import Clock
from rltui.files.trouble import Notes, Trouble

#: A connection that is lost for fewer seconds is not worth a note on every run.
_NOTED_S = 10.0


class Outage:
    """Of one host."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._trouble = Trouble()
        self._since: float | None = None
        self._began = 0.0
        self.message = ""
        """Why it cannot be reached, and since when; empty while it can. Stands behind a path,
        which names the host."""

    @property
    def since(self) -> float | None:
        """When it was found to be out of reach, seconds since the epoch; None while it is not."""
        return self._since

    def begin(self, why: str, what: str = "not reachable") -> None:
        """An attempt has failed."""
        if self._since is None:
            self._since = self._clock.now()
            self._began = self._clock.monotonic()
        at = time.strftime("%H:%M:%S", time.localtime(self._since))
        self.message = f"{what} since {at}: {why}"

    def for_runs(self) -> Notes:
        """What its runs are to be noted about an outage that lasts, once."""
        lasted = self._clock.monotonic() - self._began
        if self._since is None or lasted < _NOTED_S or self._trouble.message:
            return ()
        return self._trouble.failed(self.message)

    def end(self) -> Notes:
        """It can be reached again; returns what its runs are to be noted."""
        self._since, self.message = None, ""
        return self._trouble.over()
