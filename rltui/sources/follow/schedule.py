"""When to look at which file. The only importer of watchdog.

Files are polled with ``stat``, often while they grow and rarely when they are quiet: inotify
is silent for writes of other hosts on NFS, CIFS and SSHFS. Where inotify works it only wakes
the poller sooner.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from heapq import heappop, heappush
from pathlib import Path
from typing import Any, Protocol

#: A file is polled often until so many of its usual intervals have passed without growth ...
_USUAL_INTERVALS = 10
#: ... but at least for so many seconds, and at most for a day.
_LEAST_HOT_S = 120.0
_MOST_HOT_S = 86_400.0
#: Files that are not the newest of their run, or quiet for a day, are looked at so much rarer.
_COLD_FACTOR = 6
#: Least seconds between two looks for new files that the system asked for.
_ASKED_GAP_S = 1.0
#: Looks for new files take at most one part in so many of the time.
_WALK_SHARE = 10
#: Seconds between two looks at a file that the system tells of all the time.
_WOKEN_GAP_S = 0.05
#: Directories that the system is asked to tell of: watchdog takes a thread or two for each, and
#: before version 7 one of usually 128 inotify instances of the user.
MAX_WATCHES = 64


class Watching(Protocol):
    """How often to look; the ``watch`` section of the configuration has this shape."""

    @property
    def fast_s(self) -> float:
        """Seconds between two looks at a file that is being written."""
        ...

    @property
    def slow_s(self) -> float:
        """Seconds between two looks at a file that has been quiet for a while."""
        ...

    @property
    def rescan_s(self) -> float:
        """Seconds between two looks at the directories, for new files."""
        ...

    @property
    def inotify(self) -> bool:
        """Whether the system may wake the reader sooner."""
        ...


@dataclass(frozen=True, slots=True)
class Intervals:
    """The usual :class:`Watching`."""

    fast_s: float = 0.25
    slow_s: float = 5.0
    rescan_s: float = 5.0
    inotify: bool = True


@dataclass(slots=True)
class _Watched:
    due: float
    grew: float
    """When it last grew, by the monotonic clock (may be negative: before the start)."""
    gap: float = 0.0
    """Usual seconds between two growths; 0 while unknown."""
    newest: bool = True
    woken: bool = False
    """Whether the system told of a change since the last look."""
    looked: float = -math.inf
    """When it was last looked at."""
    told: bool = False
    """Whether the system told of its last growth: then it need not be polled often, where it
    tells of every write."""


class Schedule:
    """Decides which paths are due. Knows no clock and no thread: time is an argument.

    Files become due together, at multiples of the fast interval: one wake-up for many.
    """

    def __init__(self, watching: Watching, tells: Callable[[Path], bool] | None = None) -> None:
        """``tells``: whether the system tells of every write to the files of a directory; it
        does everywhere without it."""
        self._watching = watching
        self._tells = tells
        self._files: dict[Path, _Watched] = {}
        self._heap: list[tuple[float, int, Path]] = []
        self._count = itertools.count()

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
        self._files.pop(path, None)

    def looked(self, path: Path, now: float, *, grew: bool) -> None:
        """A file was looked at; say whether it had grown."""
        watched = self._files.get(path)
        if watched is None:
            return
        if grew:
            gap = now - watched.grew
            watched.gap = gap if not watched.gap else 0.8 * watched.gap + 0.2 * gap
            watched.grew = now
            watched.told = watched.woken and (self._tells is None or self._tells(path.parent))
        watched.woken, watched.looked = False, now
        tick = self._watching.fast_s
        watched.due = math.ceil((now + self._interval(watched, now)) / tick - 0.5) * tick
        self._push(watched.due, path)

    def wake(self, path: Path, now: float) -> bool:
        """The system tells of a change: due at once, but not more often than a busy writer
        is worth. False when the file is not watched."""
        watched = self._files.get(path)
        if watched is None:
            return False
        watched.woken = True
        watched.due = max(now, watched.looked + _WOKEN_GAP_S)
        self._push(watched.due, path)
        return True

    def due(self, now: float) -> list[Path]:
        """The files to look at now; each is given once until it was looked at."""
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

    def _interval(self, watched: _Watched, now: float) -> float:
        """Often while it is being written, rarely when it is quiet or superseded."""
        quiet = now - watched.grew
        if quiet > _MOST_HOT_S or not watched.newest:
            return self._watching.slow_s * _COLD_FACTOR
        hot = max(_LEAST_HOT_S, _USUAL_INTERVALS * watched.gap)
        if quiet <= hot and not watched.told:
            return self._watching.fast_s
        return self._watching.slow_s


class Pace:
    """How often to look for new files. Knows no clock: monotonic times are arguments.

    Names that change all the time must not keep the reader busy, however large the tree is.
    """

    def __init__(self, watching: Watching) -> None:
        self._watching = watching
        self._walk_s = 0.0
        self._ask_s = 0.0
        self._next_walk = -math.inf

    def asked(self, begin: float, end: float) -> None:
        """It was found out whether there may be new files."""
        self._ask_s = end - begin

    def walked(self, begin: float, end: float) -> None:
        """All directories were looked at."""
        self._walk_s = end - begin
        self._next_walk = end + _WALK_SHARE * self._walk_s

    def gap(self, *, asked: bool) -> float:
        """Seconds from one look to the next; fewer when the system has ``asked`` for it."""
        usual = self._watching.rescan_s
        least = _WALK_SHARE * max(self._walk_s, self._ask_s)
        return max(least, min(usual, _ASKED_GAP_S) if asked else usual)

    def may_walk(self, now: float) -> bool:
        """Whether the directories may be looked at out of turn."""
        return now >= self._next_walk


class Directories:
    """Notices that something was added to or removed from a directory, by its change time."""

    def __init__(self) -> None:
        self._times: dict[Path, int] = {}
        self._sizes: dict[Path, int] = {}

    def set(self, directories: Iterable[tuple[Path, int]], unclaimed: Iterable[Path]) -> None:
        """The directories and their times (ns) to compare with from now on, and files that
        may become logs."""
        self._times = dict(directories)
        self._sizes = {p: self._sizes.get(p, _size(p)) for p in unclaimed}

    def changed(self) -> bool:
        """Whether anything changed since the last call."""
        changed = False
        for directory, before in self._times.items():
            time = _time(directory)
            if time != before:
                self._times[directory] = time
                changed = True
        for path, size in self._sizes.items():
            now = _size(path)
            if now != size:
                self._sizes[path] = now
                changed = True
        return changed


def _time(path: Path) -> int:
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116
    except OSError:
        return -1


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116
    except OSError:
        return -1


class Notifier:
    """Wakes the reader when the system says that something changed in a directory.

    Watches single directories, not what is below them: there may be a home directory or
    thousands of checkpoints below. Best effort: where watchdog or inotify do not work (too
    many watches, other systems, network file systems) polling alone does the work.
    """

    def __init__(self, wake: Callable[[str, bool, bool], None]) -> None:
        """``wake(path, structural, directory)``: something was written (False) or a name
        changed (True); whether it is a directory."""
        self._wake = wake
        self._observer: Any = None
        self._handler: Any = None
        self._watches: dict[Path, Any] = {}

    @property
    def watched(self) -> frozenset[Path]:
        """The directories that the system tells of."""
        return frozenset(self._watches)

    def start(self, directories: Iterable[Path]) -> bool:
        """Begin to listen; False when that is not possible. Most important directories first."""
        try:
            from watchdog.events import FileSystemEventHandler
            from watchdog.observers import Observer
        except ImportError:
            return False
        wake = self._wake

        class Handler(FileSystemEventHandler):
            def on_any_event(self, event: Any) -> None:
                if event.event_type in ("created", "moved", "deleted"):
                    for path in (event.src_path, event.dest_path):
                        if path:
                            wake(os.fsdecode(path), True, event.is_directory)
                elif event.event_type == "modified" and not event.is_directory:
                    wake(os.fsdecode(event.src_path), False, False)

        try:
            observer = Observer()
            observer.start()
        except (OSError, RuntimeError):
            return False
        self._observer, self._handler = observer, Handler()
        self.update(directories)
        if not self._watches:
            self.stop()
        return bool(self._watches)

    def update(self, directories: Iterable[Path]) -> None:
        """Watch these directories (the first MAX_WATCHES of them) and no others."""
        if self._observer is None:
            return
        wanted = dict.fromkeys(itertools.islice(directories, MAX_WATCHES))
        for path in [p for p in self._watches if p not in wanted]:
            with contextlib.suppress(OSError, RuntimeError, KeyError):
                self._observer.unschedule(self._watches.pop(path))
        for path in wanted:
            if path in self._watches:
                continue
            try:
                watch = self._observer.schedule(self._handler, str(path), recursive=False)
            except FileNotFoundError:
                continue
            except (OSError, RuntimeError, ValueError):
                break  # the system gives no more
            self._watches[path] = watch

    def stop(self) -> None:
        """Stop listening and wait for its threads."""
        observer, self._observer = self._observer, None
        self._watches = {}
        if observer is not None:
            observer.stop()
            if observer.ident != threading.get_ident():
                observer.join(timeout=5)
