"""When to poll which file.

Files are polled with ``stat``, often while they grow and rarely when they are quiet: inotify is
silent about writes of other hosts on NFS, CIFS and SSHFS. Where inotify works
(:mod:`rltui.sources.follow.notifier`) it wakes the poller sooner, and a file of which it reports
every write is polled rarely, even while it grows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from pathlib import Path
from typing import Protocol

#: A file is polled often until this many of its usual intervals have passed without growth ...
_USUAL_INTERVALS = 10
#: ... but for this many seconds at least, and a day at most.
_LEAST_HOT_S = 120.0
_MOST_HOT_S = 86_400.0
#: Files that are polled at the fast interval; where more grow, each is polled more rarely.
_HOT_FILES = 100
#: How much more rarely files are polled that are not the newest of their run, or quiet for a day.
_COLD_FACTOR = 6
#: With more files than this those whose writes are reported are polled more rarely, at most by the
#: factor above.
_REPORTED_FILES = 100
#: Least seconds between two polls of a file whose changes the system reports all the time.
_WOKEN_GAP_S = 0.05


class Watching(Protocol):
    """How often to poll; the ``watch`` section of the configuration has this shape."""

    @property
    def fast_s(self) -> float:
        """Seconds between two polls of a file that is being written."""

    @property
    def slow_s(self) -> float:
        """Seconds between two polls of a file that has been quiet for a while."""

    @property
    def rescan_s(self) -> float:
        """Seconds between two checks of the directories for new files."""

    @property
    def remote_s(self) -> float:
        """Least seconds between two listings of a directory of a server or bucket."""

    @property
    def inotify(self) -> bool:
        """Whether the system may wake the reader sooner."""


@dataclass(frozen=True, slots=True)
class Intervals:
    """The usual :class:`Watching`."""

    fast_s: float = 0.25
    slow_s: float = 5.0
    rescan_s: float = 5.0
    inotify: bool = True
    remote_s: float = 5.0


@dataclass(slots=True)
class _Watched:
    due: float
    grew: float
    """When it last grew, by the monotonic clock (may be negative: before the start)."""
    gap: float = 0.0
    """Usual seconds between two growths; 0 while unknown."""
    newest: bool = True
    hot: bool = False
    """Whether it is being written and only polling shows that."""
    woken: bool = False
    """Whether the system reported a change since the last poll."""
    polled: float = -math.inf
    """When it was last polled."""
    reported: bool = False
    """Whether the system reports every write to it."""
    unreported: bool = False
    """Whether its last growth was found by polling alone."""


class Schedule:
    """Decides which paths are due. Knows no clock and no thread: time is an argument.

    Files become due together, at multiples of the fast interval: one wake-up for many.
    """

    def __init__(
        self, watching: Watching, reports_writes: Callable[[Path], bool] = lambda _: False
    ) -> None:
        """``reports_writes``: whether the system reports every write to a file, as far as is
        known."""
        self._watching = watching
        self._reports_writes = reports_writes
        self._files: dict[Path, _Watched] = {}
        self._heap: list[tuple[float, int, Path]] = []
        self._count = itertools.count()
        self._hot = 0

    def add(self, path: Path, now: float, quiet_s: float, *, newest: bool) -> None:
        """Watch a file that last grew ``quiet_s`` seconds ago; a new one is due at once."""
        known = self._files.get(path)
        if known is None:
            self._files[path] = _Watched(now, now - quiet_s, newest=newest)
            self._push(now, path)
        else:
            known.newest = newest

    def remove(self, path: Path) -> None:
        """Watch a file no longer."""
        watched = self._files.pop(path, None)
        self._hot -= watched is not None and watched.hot

    def polled(self, path: Path, now: float, *, grew: bool) -> None:
        """A file was polled; ``grew``: it had something new."""
        watched = self._files.get(path)
        if watched is None:
            return
        if grew:
            gap = now - watched.grew
            watched.gap = gap if not watched.gap else 0.8 * watched.gap + 0.2 * gap
            watched.grew = now
            watched.unreported = not watched.woken

        watched.woken, watched.polled = False, now
        watched.reported = not watched.unreported and self._reports_writes(path)
        limit = min(_MOST_HOT_S, max(_LEAST_HOT_S, _USUAL_INTERVALS * watched.gap))
        hot = not watched.reported and watched.newest and now - watched.grew <= limit
        before, watched.hot = watched.hot, hot
        self._hot += watched.hot - before

        # short while the file is being written, long when it is quiet or superseded
        fast_s, pause = self._watching.fast_s, self._watching.slow_s
        if watched.reported:
            pause *= min(_COLD_FACTOR, max(1.0, len(self._files) / _REPORTED_FILES))
        if now - watched.grew > _MOST_HOT_S or not watched.newest:
            pause *= _COLD_FACTOR
        elif watched.hot:
            pause = min(fast_s * max(1.0, self._hot / _HOT_FILES), pause)

        watched.due = math.ceil((now + pause) / fast_s - 0.5) * fast_s
        self._push(watched.due, path)

    def wake(self, path: Path, now: float) -> None:
        """Make a file due at once, of which the system reports a change, though not too often for
        a busy writer."""
        watched = self._files.get(path)
        if watched is not None:
            watched.woken = True
            watched.due = max(now, watched.polled + _WOKEN_GAP_S)
            self._push(watched.due, path)

    def due(self, now: float) -> list[Path]:
        """The files to poll now; each is returned once until it was polled."""
        found: dict[Path, None] = {}
        while self._heap and self._heap[0][0] <= now:
            due, _, path = heappop(self._heap)
            watched = self._files.get(path)
            if watched is not None and watched.due == due:
                found[path] = None
        return list(found)

    def next_due(self, now: float) -> float:
        """Seconds until the next file is due; the slow interval when there is none."""
        if not self._heap:
            return self._watching.slow_s
        return max(0.0, self._heap[0][0] - now)

    def _push(self, due: float, path: Path) -> None:
        # the count spares comparing paths, which is slow
        heappush(self._heap, (due, next(self._count), path))
