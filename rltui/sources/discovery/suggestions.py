"""Suggestions of what to watch when nobody named a path.

Searches where frameworks write by default, where the environment points, and what running
processes of this user write. Every scan is bounded: together they take a fraction of a second,
also where a home directory has a hundred thousand files. Reads no run and changes nothing.

A scan is the walk of :mod:`rltui.sources.discovery.walk`, but bounded by entries, depth, files
opened and time; when a bound was reached there may be more. The number of runs is an estimate:
which files make one run is found out when they are read.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from rltui.core.clock import Clock, SystemClock
from rltui.core.text import clean
from rltui.files.disk import Entry
from rltui.formats import ALL_FORMATS
from rltui.formats.base import Belonging, Format, Options
from rltui.sources.discovery.processes import PROC, LogWriter, Processes
from rltui.sources.discovery.run_files import LogdirError, LogFile, Tree, parents_of
from rltui.sources.discovery.walk import Directory, Found, Walk, Walker
from rltui.trackers import TRACKERS, Tracker

#: Seconds for everything, for what processes write, and for the first scan of one place.
_TOTAL_S = 0.25
_PROCESSES_S = 0.08
_PLACE_S = 0.015
#: Variables that name a directory (or a file) of logs.
VARIABLES = (
    *("TENSORBOARD_DIR", "VERL_FILE_LOGGER_PATH", "VERL_FILE_LOGGER_ROOT", "SWANLAB_LOG_DIR"),
    *("SWANLAB_LOGDIR", "TRACKIO_DIR", "WANDB_DIR"),
)
_MLFLOW = "MLFLOW_TRACKING_URI"
#: Where verl lets MLflow write (verl/utils/tracking.py).
_MLFLOW_DEFAULT = Path("/tmp/mlruns.db")
#: Working directories of other processes that are scanned.
_MOST_DIRECTORIES = 6
_MOST_SUGGESTIONS = 100
#: Directories that frameworks make where they are started ...
NAMED = (
    *("tensorboard_log", "runs", "wandb", "outputs", "logs", "lightning_logs", "mlruns"),
    "swanlog",
)
#: ... and others that often hold logs: they are searched before their neighbours.
_LIKELY = (*NAMED, "ray_results", "results", "tb_logs", "tensorboard", "checkpoints", "output")
#: No places of logs, or no files at all.
_SYSTEM = (
    *("/proc", "/sys", "/dev", "/boot", "/bin", "/sbin", "/lib", "/lib32", "/lib64"),
    *("/usr", "/etc", "/snap"),
)
#: Entries between two checks of the clock.
_PACE = 64
#: Newest files and stores that are kept.
_NEWEST = 500
#: Entries of directories, all in all, and files whose beginning is read, in one scan.
MOST_ENTRIES = 4000
MOST_OPENED = 100


class Suggestion(NamedTuple):
    """Something to watch."""

    path: Path
    """Absolute; a directory, or a log file."""
    origin: str
    """Why it was searched, for people; cleaned: ``$TENSORBOARD_DIR``, ``working directory``."""
    here: bool
    """Whether it is the working directory or below it."""
    runs: int
    """About how many."""
    formats: tuple[str, ...]
    """Names of formats and trackers, the most frequent first."""
    modified: float
    """Newest change of a log, seconds since the epoch."""
    partial: bool
    """Whether there may be more of everything: the scan was cut short."""
    newest: tuple[LogFile, ...] = ()
    """The logs that changed last, newest first; of a store all runs or none."""
    writers: tuple[LogWriter, ...] = ()
    """Running processes that write here."""
    single: bool = False
    """Whether it is one of the runs of another suggestion."""
    title: str = ""
    """The name that a tracker gives to a single run; ``""`` where the path names it."""


class Suggestions(NamedTuple):
    """The result of one search."""

    items: tuple[Suggestion, ...]
    """Newest first."""
    searched: tuple[str, ...]
    """Where rltui searched, for people; cleaned."""


class LogdirFinder:
    """Searches again and again; the next time is cheaper. Not thread-safe."""

    def __init__(
        self,
        directory: Path | None,
        environment: Mapping[str, str],
        home: Path | None,
        *,
        formats: Sequence[Format] = ALL_FORMATS,
        trackers: Sequence[Tracker] = TRACKERS,
        clock: Clock | None = None,
        proc: Path = PROC,
    ) -> None:
        """``directory`` is the working directory, None when it was deleted; does no I/O."""
        self._directory = directory
        self._environment = environment
        self._home = home
        self._clock = clock or SystemClock()
        self._proc = proc
        self._walker = Walker(formats, trackers, Options())
        self._found: dict[str, Suggestion] = {}
        """By path without links."""

    def find(self) -> Suggestions:
        """Search once. Never raises: what cannot be read is not suggested."""
        end = self._clock.monotonic() + _TOTAL_S
        found = self._found = {}
        every = list(self.candidates())
        here = {_real(path): (path, origin) for path, origin in reversed(every) if path.exists()}
        # First a short scan of every place, so that a large one does not hide the others; then the
        # rest of the time for those that were cut short: what is known is passed quickly.
        for most in (_PLACE_S, _TOTAL_S):
            for real, (path, origin) in reversed(here.items()):
                left = min(most, end - _PROCESSES_S - self._clock.monotonic())
                if real not in found or found[real].partial:
                    self._scan(path, origin, left)

        self._add_writers(end)
        kept = sorted(_merged(found), key=lambda s: (-s.modified, str(s.path)))
        searched = tuple(dict.fromkeys(clean(origin) for _, origin in every))
        return Suggestions(tuple(kept[:_MOST_SUGGESTIONS]), searched)

    def candidates(self) -> Iterator[tuple[Path, str]]:
        """(path, why, for people) of each place where logs may be, whether or not it exists."""
        here = self._directory
        environment = self._environment
        base = here or Path("/")
        for name in VARIABLES:
            if value := environment.get(name):
                yield base / value, f"${name}"

        if store := _local(environment.get(_MLFLOW, "")):
            yield base / store, f"${_MLFLOW}"
        if here is not None:
            for name in NAMED:
                yield here / name, name
            yield here, "working directory"

        if self._home is not None:
            yield self._home / "ray_results", "~/ray_results"
            cache = environment.get("HF_HOME") or self._home / ".cache" / "huggingface"
            yield Path(cache) / "trackio", "Trackio's own directory"
        yield _MLFLOW_DEFAULT, str(_MLFLOW_DEFAULT)

    def _scan(self, path: Path, origin: str, seconds: float) -> None:
        """Suggest a place, if there are logs."""
        result = self._quick_scan(path, seconds)
        if result.runs:
            real = _real(path)
            here = self._directory is not None and _inside(real, _real(self._directory))
            self._found[real] = result._replace(origin=clean(origin), here=here)

    def _quick_scan(self, path: Path, seconds: float) -> Suggestion:
        return quick_scan(self._walker, path, self._clock.monotonic, max(0.0, seconds))

    # -- processes -------------------------------------------------------------------------

    def _add_writers(self, end: float) -> None:
        """Add who writes what was found, and what is written elsewhere."""
        processes = Processes(os.getuid(), self._proc) if hasattr(os, "getuid") else None
        if processes is None or not processes.pids:
            return

        def left() -> float:
            return end - self._clock.monotonic()

        written = processes.written(self._walker.claims_name, lambda: left() <= 0)
        for path, process in written.items():
            if left() <= 0:
                return
            self._written(path, process.writer)

        for log in [log for suggestion in self._found.values() for log in suggestion.newest]:
            owner = processes.writer_of(log.path.name)
            if owner is not None:
                self._attach(_real(log.path), owner.writer)
        # event files below the working directories of Python processes, if they write them
        done: set[Path] = set()
        for _, directory in processes.working_directories():
            if len(done) >= _MOST_DIRECTORIES or left() <= 0:
                return
            if directory in done or _real(directory) in self._found:
                continue
            done.add(directory)
            for log in self._quick_scan(directory, min(_PLACE_S, left())).newest:
                owner = processes.writer_of(log.path.name)
                if owner is not None:
                    self._written(log.path, owner.writer)

    def _written(self, path: Path, writer: LogWriter) -> None:
        """A file that is open for writing: part of what was found, or a suggestion of its own."""
        logs = self._quick_scan(path, _PLACE_S).newest
        if logs and not self._attach(_real(path), writer):
            whole = logs[0].belonging is Belonging.DIRECTORY
            self._scan(path.parent if whole else path, "running process", _PLACE_S)
            self._attach(_real(path), writer)

    def _attach(self, real: str, writer: LogWriter) -> bool:
        """Add the writer of a file to every suggestion that holds it; whether there is any."""
        inside = [key for key in self._found if _inside(real, key)]
        for key in inside:
            known = self._found[key]
            writers = tuple(sorted({*known.writers, writer}))
            self._found[key] = known._replace(writers=writers)
        return bool(inside)


def _merged(found: Mapping[str, Suggestion]) -> list[Suggestion]:
    """Without a directory all of whose runs are in another one that is suggested, too."""
    kept = []
    for outer, whole in found.items():
        within = {k: s for k, s in found.items() if k != outer and _inside(k, outer)}
        apart = [s for k, s in within.items() if not any(k != x and _inside(k, x) for x in within)]
        if apart and not whole.partial and whole.runs <= max(s.runs for s in apart):
            continue
        runs = max(whole.runs, sum(s.runs for s in apart))
        modified = max([whole.modified, *(s.modified for s in apart)])
        kept.append(whole._replace(runs=runs, modified=modified))
    return kept


def _real(path: Path) -> str:
    """The path without links: the identity of a place."""
    with suppress(OSError, ValueError, RuntimeError):
        return os.path.realpath(path)
    return str(path)


def _inside(real: str, directory: str) -> bool:
    return real == directory or real.startswith(directory.rstrip("/") + "/")


def _local(uri: str) -> str | None:
    """The path that an MLflow URI means; None for a server (mlflow.org: tracking URIs)."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None

    if parts.scheme == "":
        return uri
    if parts.scheme == "file":
        return unquote(parts.path)
    if parts.scheme == "sqlite":  # sqlite:///relative.db, sqlite:////absolute.db
        return unquote(parts.path[1:]) or None
    return None


def quick_scan(
    walker: Walker, path: Path, clock: Callable[[], float], seconds: float
) -> Suggestion:
    """Search a directory, or examine a file, for about ``seconds``. Never raises.

    ``clock`` returns seconds from any origin.
    """
    found = []
    partial = False
    end = clock() + seconds
    with suppress(LogdirError, OSError, ValueError):
        if path.is_dir():
            walk = _QuickWalk(walker, path, lambda: clock() >= end)
            walk.run()
            found = walk.files
            partial = walk.partial
        else:
            found = walker.single(path, path.stat(), named=False)

    found.sort(key=lambda f: f.modified, reverse=True)
    kept = set(islice(dict.fromkeys(f.path for f in found), _NEWEST))
    kinds = Counter(f.kind for f in found).most_common()
    # directories within a run are parts of it
    named = sum(f.belonging is Belonging.NAME for f in found)
    directories = {f.directory for f in found if f.belonging is not Belonging.NAME}
    whole = [d for d in directories if directories.isdisjoint(parents_of(d))]
    return Suggestion(
        path,
        "",
        here=False,
        runs=named + len(whole),
        formats=tuple(kind for kind, _ in kinds),
        modified=found[0].modified if found else 0.0,
        partial=partial,
        newest=tuple(f for f in found if f.path in kept),
    )


class _QuickWalk(Walk):
    """Breadth first, so that a bound cuts off what is deepest."""

    most_depth = 6  # deeper logs are rare: not worth calling every result partial
    most_alike = 4
    knows_strangers = False

    def __init__(self, walker: Walker, path: Path, is_late: Callable[[], bool]) -> None:
        super().__init__(walker, path, Tree())
        self._is_late = is_late
        self._entries_left = MOST_ENTRIES
        self._most_opens = walker.heads.opens + MOST_OPENED
        self._costly: list[Found] = []
        self.partial = False
        """Whether a bound was reached."""

    def _search_between(self) -> None:
        """Judge logs by their beginning and end alone."""

    def _is_over(self) -> bool:
        over = self._entries_left <= 0 or self._is_late()
        self.partial = self.partial or over
        return over

    def _entries(self, path: Path) -> list[Entry]:
        entries: list[Entry] = []
        with os.scandir(path) as listing:
            for entry in listing:
                entries.append(entry)
                self._entries_left -= 1
                if (self._entries_left <= 0 or not len(entries) % _PACE) and self._is_over():
                    break
        return entries

    def _in_order(self, entries: list[Entry]) -> Iterator[Entry]:
        """Likely places first, then names from the end: dates and numbers, the newest first."""
        ranks = {name: rank for rank, name in enumerate(_LIKELY)}
        entries.sort(key=lambda e: e.name, reverse=True)
        entries.sort(key=lambda e: ranks.get(e.name, len(ranks)))
        for number, entry in enumerate(entries):
            if number % _PACE == _PACE - 1 and self._is_late():
                self.partial = True
                return
            yield entry

    def _enters(self, entry: Entry) -> bool:
        return (
            not entry.name.startswith(".") and entry.path not in _SYSTEM and super()._enters(entry)
        )

    def _search(self, directory: Directory) -> None:
        super()._search(directory)
        costly = self._costly
        self._costly = []
        for found in () if directory.logs else costly:
            super()._file(found)

    def _file(self, found: Found) -> None:
        """To know a console log costs the most: it is left out where there is a better log."""
        if all(f.anywhere for f in found.forms):
            self._costly.append(found)
        else:
            super()._file(found)

    def _claim(self, found: Found) -> Format | None:
        directory = found.directory
        suffix = found.path.suffix
        forms = found.forms
        if directory.opened[suffix] >= self.most_alike:
            return forms[0] if suffix in directory.claimed else None
        if self._walker.heads.opens >= self._most_opens:
            self.partial = True
            found = found._replace(forms=[f for f in forms if f.name_decides])
        return super()._claim(found)
