"""Searches the logdirs for runs again and again, when something may be new there."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path

from rltui.core.batch import Joined, Note, RunKey
from rltui.core.clock import Clock
from rltui.core.level import Level
from rltui.files.disk import status, trouble
from rltui.files.trouble import TroubledPaths
from rltui.sources.discovery.logdir import RunFinder
from rltui.sources.discovery.run_files import Discovery, RunFiles
from rltui.sources.follow.notifier import Notifier
from rltui.sources.follow.schedule import Watching

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

#: Chooses the runs to read among all that were found. Called in the thread that searches.
Choose = Callable[[Collection[RunKey]], Collection[RunKey]]
#: Whether a log that is joined to a run is wanted, by the key that it would have alone.
Wants = Callable[[RunKey], bool]


class LogSearch:
    """Owned by the reader. Walks the directories, and decides when a walk is worth it."""

    def __init__(
        self,
        finder: RunFinder,
        logdirs: Sequence[Path],
        clock: Clock,
        watching: Watching,
        choose: Choose | None = None,
        wants: Wants | None = None,
    ) -> None:
        """``choose`` is given every run of each search; without it all are read. A run is read,
        too, for a log of it that is another run, perhaps, which somebody ``wants``."""
        self._finder = finder
        self._logdirs = logdirs
        self._clock = clock
        self._choose = choose
        self._wants = wants
        self._pace = SearchPace(watching)
        self._times: dict[Path, int] = {}
        """Change times (ns) of the directories, by which they show that they got or lost a name."""
        self._sizes: dict[Path, int] = {}
        """Bytes of files that may become logs."""
        self._trouble = TroubledPaths()
        self._last = self._walked = -math.inf
        self._reported = False
        """Whether the system reports everything that is new since the last walk."""
        self.walks = 0
        """How often the directories were walked."""
        self.run_count = 0
        """Runs that the newest search found."""
        self.found: tuple[RunFiles, ...] = ()
        """These runs."""
        self.refused: tuple[Note, ...] = ()
        """Files that look like logs and are not read; the first few, then their number."""
        self.unread: tuple[Note, ...] = ()
        """Logdirs that cannot be searched."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """The newest note of each path that had trouble and is no file of a run, and of each
        server; and, beside runs, files that are not read although they look like logs."""
        lost = tuple(n for n in self.refused if n.level >= Level.WATCH and self.run_count)
        return self._trouble.notes + lost + trouble(self._logdirs)

    def walk(self) -> Discovery:
        """Search now. Raises SourceError, see :meth:`RunFinder.find`."""
        self._last = self._clock.monotonic()
        found = self._finder.find()
        self._walked = self._clock.monotonic()
        self.walks += 1
        self._trouble.update(found.notes, {path for path, _ in found.directories})
        self._times = dict(found.directories)
        self._sizes = {p: self._sizes.get(p, _size(p)) for p in found.unclaimed}
        self.refused, self.unread = self._refused(found), found.unread
        runs = self._chosen(found.runs)
        self.run_count, self.found = len(runs), runs

        return replace(found, runs=runs)

    def pause(self, now: float, *, reported: bool) -> float:
        """Seconds until the next check; ``reported``: the system has reported new names."""
        return max(0.0, self._last + self._pace.gap(reported=reported) - now)

    def rely_on(self, notifier: Notifier) -> None:
        """Check rarely if every change that matters is reported, but once more before: something
        may have changed after the walk and before the system reported anything."""
        self._pace.relies = False
        self._reported = (
            bool(self._times)
            and not self._finder.needs_checks
            and all(map(notifier.reports_names_in, self._times))
            and all(map(notifier.reports_writes_to, self._sizes))
        )

    def check(self, *, reported: bool) -> Discovery | None:
        """Search again if something may be new."""
        self._last = now = self._clock.monotonic()
        if reported or self._changed() or self._pace.must_walk(now - self._walked):
            return self.walk_again()
        self._pace.relies = self._reported
        return None

    def walk_again(self) -> Discovery:
        """Search out of turn."""
        begin = self._clock.monotonic()
        found = self.walk()
        self._pace.walked(begin, self._clock.monotonic())
        return found

    def may_walk(self) -> bool:
        """Whether enough time has passed for a search out of turn."""
        return self._pace.may_walk(self._clock.monotonic())

    def _changed(self) -> bool:
        begin = self._clock.monotonic()
        times = {path: _time(path) for path in self._times}
        sizes = {path: _size(path) for path in self._sizes}
        files = times != self._times or sizes != self._sizes
        self._times, self._sizes = times, sizes
        stores = self._finder.stores_changed()
        self._pace.checked(begin, self._clock.monotonic())
        return files or stores or self._finder.unfinished

    def _chosen(self, runs: tuple[RunFiles, ...]) -> tuple[RunFiles, ...]:
        if self._choose is None:
            return runs
        chosen = self._choose([run.key for run in runs])
        return tuple(run for run in runs if run.key in chosen or self._holds_wanted(run))

    def _holds_wanted(self, run: RunFiles) -> bool:
        """Whether one of the logs that are joined to a run is wanted."""
        if self._wants is None:
            return False
        alone = {file.alone for file in run.files if file.joined is not Joined.OWN and file.alone}
        return any(self._wants(RunKey(run.key.logdir, name)) for name in alone)

    def _refused(self, found: Discovery) -> tuple[Note, ...]:
        more = found.refused_count - len(found.refused)
        if more <= 0:
            return found.refused
        files = "file is" if more == 1 else "files are"
        note = Note(self._logdirs[0], None, Level.OK, f"{more} more {files} not read")
        return (*found.refused, note)


class SearchPace:
    """How often to check for new files. Knows no clock: monotonic times are arguments.

    Names that change all the time must not keep the reader busy, however large the tree is.
    """

    def __init__(self, watching: Watching) -> None:
        self._watching = watching
        self._walk_s = 0.0
        self._check_s = 0.0
        self._next_walk = -math.inf
        self.relies = False
        """Whether the system reports everything that is new, so that checks may be rare."""

    def checked(self, begin: float, end: float) -> None:
        """A check whether there may be new files is over."""
        self._check_s = end - begin

    def walked(self, begin: float, end: float) -> None:
        """A walk through all directories is over."""
        self._walk_s = end - begin
        self._next_walk = end + _WALK_SHARE * self._walk_s

    def gap(self, *, reported: bool) -> float:
        """Seconds from one check to the next; fewer when the system has reported new names."""
        usual = self._watching.rescan_s * self._patience
        least = _WALK_SHARE * max(self._walk_s, self._check_s)
        return max(least, min(usual, _REPORTED_GAP_S) if reported else usual)

    def may_walk(self, now: float) -> bool:
        """Whether the directories may be walked out of turn."""
        return now >= self._next_walk

    def must_walk(self, since_s: float) -> bool:
        """Whether the directories are to be walked although nothing seems to be new, ``since_s``
        seconds after the last time."""
        least = max(_FULL_WALK * self._watching.rescan_s, _IDLE_SHARE * self._walk_s)
        return since_s >= least * self._patience

    @property
    def _patience(self) -> int:
        return _RELIANCE if self.relies else 1


def _time(path: Path) -> int:
    try:
        return status(path).st_mtime_ns
    except OSError:
        return -1


def _size(path: Path) -> int:
    try:
        return status(path).st_size
    except OSError:
        return -1
