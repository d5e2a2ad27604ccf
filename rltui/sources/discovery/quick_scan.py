"""A quick look at a directory: does it hold logs, about how many runs, how new.

Unlike :mod:`rltui.sources.discovery.walk` it may stop at any time: it is bounded by entries,
depth, files opened and time, and then says that there may be more. It reads no run and keeps
nothing open.
What it counts as runs is an estimate: which files are of one run is found out when they are read.
"""

from __future__ import annotations

import os
import stat
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rltui.formats import Belonging, Format, Options
from rltui.sources.discovery.log_head import HeadReader
from rltui.sources.discovery.walk import pruned
from rltui.trackers import Tracker

#: Directories that often hold logs: they are looked into before others.
LIKELY = (
    *("tensorboard_log", "runs", "wandb", "outputs", "logs", "lightning_logs", "mlruns"),
    *("swanlog", "ray_results", "results", "tb_logs", "tensorboard", "checkpoints", "output"),
)
#: Below the root of the file system: no place of logs, or no files at all.
_SYSTEM = frozenset(
    {"proc", "sys", "dev", "boot", "bin", "sbin", "lib", "lib32", "lib64", "usr", "etc", "snap"}
)
#: Of the files of one suffix in a directory so many are opened; the others are taken for alike.
_OPENED = 4
#: Entries between two looks at the clock.
_PACE = 64
#: Newest logs that are kept.
_NEWEST = 16


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much one look may cost."""

    entries: int = 4000
    """Directory entries, all in all."""
    opened: int = 100
    """Files whose beginning is read."""
    depth: int = 6
    """Directories below the place itself."""


@dataclass(frozen=True, slots=True)
class Log:
    """One log file (or store of a tracker) that was seen."""

    path: Path
    modified: float


@dataclass(frozen=True, slots=True)
class Sight:
    """What was seen."""

    runs: int
    """About how many; 0 when there is no log."""
    formats: tuple[str, ...]
    """Names of formats and trackers, the most frequent first."""
    modified: float
    """Newest change time of a log, seconds since the epoch; 0 without logs."""
    partial: bool
    """Whether a bound was reached: there may be more of everything."""
    newest: tuple[Log, ...] = ()
    """The logs that changed last, newest first."""


@dataclass(slots=True)
class _Found:
    runs: int = 0
    formats: Counter[str] = field(default_factory=Counter)
    logs: list[Log] = field(default_factory=list)
    entries: int = 0
    opened: int = 0
    partial: bool = False
    modified: float = 0.0

    def add(self, path: Path, kind: str, modified: float) -> None:
        """A log."""
        self.formats[kind] += 1
        self.modified = max(self.modified, modified)
        self.logs.append(Log(path, modified))
        if len(self.logs) >= 8 * _NEWEST:
            self.logs = self.newest()

    def newest(self) -> list[Log]:
        return sorted(self.logs, key=lambda log: -log.modified)[:_NEWEST]


@dataclass(frozen=True, slots=True)
class _Stop:
    """The time at which a look ends."""

    clock: Callable[[], float]
    at: float

    @property
    def passed(self) -> bool:
        return self.clock() >= self.at


class Glancer:
    """Looks at places again and again; what it knows of files makes the next look cheaper."""

    def __init__(
        self,
        formats: Sequence[Format],
        trackers: Sequence[Tracker],
        clock: Callable[[], float],
        bounds: Bounds | None = None,
    ) -> None:
        """``clock`` tells seconds from any origin."""
        self._formats = tuple(formats)
        self._trackers = tuple(trackers)
        self._clock = clock
        self._bounds = bounds or Bounds()
        self._heads = HeadReader(Options())

    def look(self, path: Path, seconds: float) -> Sight:
        """At a directory or file, for about ``seconds``. Never raises."""
        found, stop = _Found(), _Stop(self._clock, self._clock() + seconds)
        with suppress(OSError, ValueError):
            if path.is_dir():
                self._walk(path, found, stop)
            else:
                whole = self._take(path, found) is Belonging.DIRECTORY
                found.runs += whole
        kinds = tuple(kind for kind, _ in found.formats.most_common())
        newest = tuple(found.newest())
        return Sight(found.runs, kinds, found.modified, found.partial, newest)

    def claims(self, path: Path) -> str:
        """Name of the format or tracker that claims this file, "" for none. Never raises."""
        found = _Found()
        with suppress(OSError, ValueError):
            self._take(path, found)
        return next(iter(found.formats), "")

    # -- directories -----------------------------------------------------------------------

    def _walk(self, root: Path, found: _Found, stop: _Stop) -> None:
        """Breadth first, so that a bound cuts off what is deepest."""
        pending = deque([(root, 0, False)])
        linked: deque[tuple[Path, int, bool]] = deque()
        seen: set[tuple[int, int]] = set()
        while pending or linked:
            directory, depth, inside = pending.popleft() if pending else linked.popleft()
            if found.entries >= self._bounds.entries or stop.passed:
                found.partial = True
                return
            try:
                status = directory.stat()
                identity = status.st_dev, status.st_ino
                if identity in seen:
                    continue
                seen.add(identity)
                files, children, links = self._list(directory, found, stop)
            except OSError:
                continue
            names = [e.name for e in files] + [e.name for e in children]
            if self._is_store(directory, names, found):
                continue
            inside = self._files(files, inside, found, stop)
            if depth >= self._bounds.depth:
                continue  # deeper logs are rare: not worth a plus sign on every count
            for entry in sorted(children, key=_order):
                pending.append((Path(entry.path), depth + 1, inside))
            linked.extend((Path(entry.path), depth + 1, inside) for entry in links)

    def _list(
        self, directory: Path, found: _Found, stop: _Stop
    ) -> tuple[list[os.DirEntry[str]], list[os.DirEntry[str]], list[os.DirEntry[str]]]:
        """Files that may be logs, directories, and linked directories."""
        files: list[os.DirEntry[str]] = []
        children: list[os.DirEntry[str]] = []
        links: list[os.DirEntry[str]] = []
        system = directory == Path(directory.anchor)
        with os.scandir(directory) as listing:
            for entry in listing:
                found.entries += 1
                if found.entries >= self._bounds.entries:
                    found.partial = True
                    break
                if found.entries % _PACE == 0 and stop.passed:
                    found.partial = True
                    break
                name = entry.name
                if entry.is_dir(follow_symlinks=False):
                    if not (name[0] == "." or pruned(name) or (system and name in _SYSTEM)):
                        children.append(entry)
                elif self._named(name):
                    files.append(entry)
                elif entry.is_symlink() and entry.is_dir():
                    links.append(entry)
        return files, children, links

    def _named(self, name: str) -> bool:
        return any(f.claims_name(name) for f in self._formats) or any(
            t.claims_name(name) for t in self._trackers
        )

    def _is_store(self, directory: Path, names: list[str], found: _Found) -> bool:
        """Whether the directory is a tracker's; counts its runs then."""
        for tracker in self._trackers:
            if tracker.claims_directory(directory, names):
                self._store(directory, tracker, found)
                return True
        return False

    def _store(self, path: Path, tracker: Tracker, found: _Found) -> None:
        try:
            runs = tracker.runs(path)
        except OSError:
            return
        if runs:
            found.runs += len(runs)
            found.add(path, tracker.name, max(r.modified for r in runs))

    # -- files -----------------------------------------------------------------------------

    def _files(
        self, files: list[os.DirEntry[str]], inside: bool, found: _Found, stop: _Stop
    ) -> bool:
        """Take the logs of one directory; whether it or one above it is a run of its own."""
        opened: Counter[str] = Counter()
        claimed: Counter[str] = Counter()
        here = False
        for number, (late, entry) in enumerate(self._sorted(files)):
            if number % _PACE == _PACE - 1 and stop.passed:
                found.partial = True
                break
            if late and claimed:
                break  # to know a console costs the most, and there is a better log
            ending = entry.name.rpartition(".")[2]
            enough = opened[ending] >= _OPENED
            if enough and not claimed[ending]:
                continue  # the shards of a dataset, not logs
            before = found.opened
            try:
                belonging = self._take(Path(entry.path), found, trusted=enough)
            except OSError:
                continue
            opened[ending] += found.opened - before
            if belonging is not None:
                claimed[ending] += 1
            here = here or belonging is Belonging.DIRECTORY
        if here and not inside:
            found.runs += 1
        return here or inside

    def _sorted(self, files: list[os.DirEntry[str]]) -> list[tuple[bool, os.DirEntry[str]]]:
        """By name from the end, those that only an expensive format claims at last."""
        keyed = [(self._late(entry.name), entry) for entry in files]
        keyed.sort(key=lambda pair: pair[1].name, reverse=True)
        return sorted(keyed, key=lambda pair: pair[0])

    def _late(self, name: str) -> bool:
        return not any(t.claims_name(name) for t in self._trackers) and all(
            f.anywhere for f in self._formats if f.claims_name(name)
        )

    def _take(self, path: Path, found: _Found, *, trusted: bool = False) -> Belonging | None:
        """Count a log, without opening it when ``trusted``; how it belongs to its directory, or
        None when it is no log. Raises OSError."""
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            return None
        for tracker in self._trackers:
            if tracker.claims_name(path.name) and tracker.claims_file(path):
                self._store(path, tracker, found)
                return Belonging.NAME
        for form in self._formats:
            if not form.claims_name(path.name):
                continue
            if not (trusted or form.name_decides or self._opens(form, path, status, found)):
                continue
            found.add(path, form.name, status.st_mtime)
            belonging = form.belonging(path.name)
            if belonging is Belonging.NAME:
                found.runs += 1
            return belonging
        return None

    def _opens(self, form: Format, path: Path, status: os.stat_result, found: _Found) -> bool:
        """Whether a look into the file shows that it is of this format."""
        if found.opened >= self._bounds.opened:
            found.partial = True
            return False
        found.opened += 1
        return self._heads.claims(form, path, status)


def _order(entry: os.DirEntry[str]) -> tuple[bool, int, list[int]]:
    """Likely places first, then names from the end: dates and numbers, the newest first."""
    likely = LIKELY.index(entry.name) if entry.name in LIKELY else len(LIKELY)
    return likely == len(LIKELY), likely, [-ord(c) for c in entry.name]
