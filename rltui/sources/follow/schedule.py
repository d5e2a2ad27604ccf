"""When to poll which file, and when to search for new ones.

Files are polled with ``stat``, often while they grow and rarely when they are quiet: inotify is
silent about writes of other hosts on NFS, CIFS and SSHFS. Where inotify works
(:mod:`rltui.sources.follow.notifier`) it wakes the poller sooner, and a file of which it reports
every write is polled rarely, even while it grows.

The directories are searched for new runs in the same way: rarely, and soon after a report.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from pathlib import Path

from rltui.core.batch import Joined, Note, RunKey
from rltui.core.level import Level
from rltui.core.record import state
from rltui.files.disk import status, trouble
from rltui.files.trouble import TroubledPaths
from rltui.sources.discovery.logdir import RunFinder
from rltui.sources.discovery.run_files import Discovery, RunFiles
from rltui.sources.follow.notifier import Notifier
from rltui.sources.options import Intervals, ReaderOptions

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

#: The directories are walked at least once in this many intervals, even when no change time has
#: moved, unless that takes more than one part in _IDLE_SHARE of the time.
_FULL_WALK = 12
_IDLE_SHARE = 200
#: Where the system reports every new name, checks and walks are this many times rarer.
_RELIANCE = 10
#: Least seconds between two checks because the system reports new names.
_REPORTED_GAP_S = 1.0
#: Checks and walks take at most one part in this many of the time.
_WALK_SHARE = 10


@state
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
        self, watching: Intervals, reports_writes: Callable[[Path], bool] = lambda _: False
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

        watched.woken = False
        watched.polled = now
        watched.reported = not watched.unreported and self._reports_writes(path)
        limit = min(_MOST_HOT_S, max(_LEAST_HOT_S, _USUAL_INTERVALS * watched.gap))
        hot = not watched.reported and watched.newest and now - watched.grew <= limit
        before = watched.hot
        watched.hot = hot
        self._hot += watched.hot - before

        # short while the file is being written, long when it is quiet or superseded
        fast_s = self._watching.fast_s
        pause = self._watching.slow_s
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


# -- searches -----------------------------------------------------------------------------------


class LogSearch:
    """Searches the directories, and decides when to. Owned by the reader.

    Names that change all the time must not keep the reader busy, however large the tree is.
    """

    def __init__(self, finder: RunFinder, logdirs: Sequence[Path], options: ReaderOptions) -> None:
        self._finder = finder
        self._logdirs = logdirs
        self._options = options
        self._clock = options.clock
        self._times: dict[Path, int] = {}
        """Change times (ns) of the directories, by which they show that they got or lost a name."""
        self._sizes: dict[Path, int] = {}
        """Bytes of files that may become logs."""
        self._trouble = TroubledPaths()
        self._last = self._walked = self._next_walk = -math.inf
        """Monotonic times: of the last check or walk, of the end of the last walk, and of the
        next one that is allowed out of turn."""
        self._check_s = self._walk_s = 0.0
        """How long the last check and the last walk took."""
        self._reported = False
        """Whether the system reports everything that is new since the last walk."""
        self._patience = 1
        """How many times rarer than usual checks are."""
        self.walks = 0
        """How often the directories were walked."""
        self.found = Discovery(())
        """Result of the newest search, of the runs those that are to be read."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """The newest note of each path that had trouble and is no file of a run, and of each
        server; and, beside runs, files that are not read although they look like logs."""
        lost = tuple(n for n in self.found.refused if n.level >= Level.WATCH and self.found.runs)
        return self._trouble.notes + lost + trouble(self._logdirs)

    def walk(self) -> Discovery:
        """Search now. Raises SourceError, see :meth:`RunFinder.find`."""
        self._last = begin = self._clock.monotonic()
        found = self._finder.find()
        self._walked = self._clock.monotonic()
        if self.walks:  # the first one finds nothing in the caches of the system
            self._walk_s = self._walked - begin
            self._next_walk = self._walked + _WALK_SHARE * self._walk_s
        self.walks += 1

        self._trouble.update(found.notes, {path for path, _ in found.directories})
        self._times = dict(found.directories)
        sizes = self._sizes
        self._sizes = {p: sizes.get(p, _status_of(p, "st_size")) for p in found.unclaimed}
        refused = found.refused
        if (more := found.refused_count - len(refused)) > 0:
            files = "file is" if more == 1 else "files are"
            note = Note(self._logdirs[0], None, Level.OK, f"{more} more {files} not read")
            refused = (*refused, note)

        runs = found.runs
        if self._options.choose is not None:
            chosen = self._options.choose([run.key for run in runs])
            runs = tuple(r for r in runs if r.key in chosen or self._has_wanted_log(r))

        self.found = found._replace(runs=runs, refused=refused)
        return self.found

    def _has_wanted_log(self, run: RunFiles) -> bool:
        """Whether one of the logs that are joined to a run is wanted."""
        wants = self._options.wants
        if wants is None:
            return False
        alone = {file.alone for file in run.files if file.joined is not Joined.OWN and file.alone}
        return any(wants(RunKey(run.key.logdir, name)) for name in alone)

    def pause(self, now: float, *, reported: bool) -> float:
        """Seconds until the next check; ``reported``: the system has reported new names."""
        usual = self._options.watch.rescan_s * self._patience
        gap = max(
            _WALK_SHARE * max(self._walk_s, self._check_s),
            min(usual, _REPORTED_GAP_S) if reported else usual,
        )
        return max(0.0, self._last + gap - now)

    def rely_on(self, notifier: Notifier) -> None:
        """Check rarely if every change that matters is reported, but once more before: something
        may have changed after the walk and before the system reported anything."""
        self._patience = 1
        self._reported = (
            bool(self._times)
            and not self._finder.needs_checks
            and all(map(notifier.reports_names_in, self._times))
            and all(map(notifier.reports_writes_to, self._sizes))
        )

    def check(self, *, reported: bool) -> Discovery | None:
        """Search again if something may be new."""
        self._last = begin = self._clock.monotonic()
        changed = reported
        if not reported:
            times = {path: _status_of(path, "st_mtime_ns") for path in self._times}
            sizes = {path: _status_of(path, "st_size") for path in self._sizes}
            changed = (times, sizes) != (self._times, self._sizes)
            self._times = times
            self._sizes = sizes
            changed = self._finder.stores_changed() or changed or self._finder.unfinished
            self._check_s = self._clock.monotonic() - begin

        idle = max(_FULL_WALK * self._options.watch.rescan_s, _IDLE_SHARE * self._walk_s)
        if changed or begin - self._walked >= idle * self._patience:
            return self.walk()

        self._patience = _RELIANCE if self._reported else 1
        return None

    def may_walk(self) -> bool:
        """Whether enough time has passed for a search out of turn."""
        return self._clock.monotonic() >= self._next_walk


def _status_of(path: Path, field: str) -> int:
    """A field of the status of a path; -1 where it cannot be had."""
    try:
        value: int = getattr(status(path), field)
    except OSError:
        return -1
    return value
