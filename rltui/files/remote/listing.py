"""What a server last said about its directories and single files, and when to ask again."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from rltui.files.remote.status import RemoteStatus

#: What has been quiet for some time is asked about when it has been so for this part longer, at
#: most this many seconds.
_SHARE = 0.1
MOST_PAUSE_S = 60.0


@dataclass(slots=True)
class Answer:
    """Names of a directory, or the status of one file under the name ``""``."""

    found: dict[str, RemoteStatus] = field(default_factory=dict)
    error: OSError | None = None
    """Why there is no answer."""
    asked: float = -math.inf
    """When it was asked for (monotonic)."""
    changed: float = 0.0
    """When it last changed, as far as is known (monotonic; may be before the start)."""
    used: float = -math.inf
    """When somebody wanted it last (monotonic)."""

    def due(self, pace_s: float) -> float:
        """When to ask again (monotonic)."""
        quiet = _SHARE * (self.asked - self.changed)
        return self.asked + max(pace_s, min(quiet, MOST_PAUSE_S))

    def renewed(
        self, found: dict[str, RemoteStatus], error: OSError | None, now: float, wall: float
    ) -> Answer:
        """The answer at ``now``; ``wall``: seconds since the epoch."""
        changed = self.changed
        found = {name: _dated(s, self.found.get(name), wall) for name, s in found.items()}
        if self.asked == -math.inf:
            times = [s.st_mtime for s in found.values() if s.st_mtime_ns and not s.is_directory]
            changed = now - max(0.0, wall - max(times)) if times else now
        elif type(error) is not type(self.error) or _stamps(found) != _stamps(self.found):
            changed = now
        return Answer(found, error, now, changed, self.used)


def _dated(status: RemoteStatus, before: RemoteStatus | None, wall: float) -> RemoteStatus:
    """A file whose server gives no time changed when its size or version was first seen."""
    if status.st_mtime_ns or status.is_directory:
        return status
    same = before is not None and (before.st_size, before.version) == (
        status.st_size,
        status.version,
    )
    when = before.st_mtime_ns if before is not None and same else int(wall * 1e9)
    return replace(status, st_mtime_ns=when)


def _stamps(found: dict[str, RemoteStatus]) -> dict[str, object]:
    return {name: s.stamp for name, s in found.items()}
