"""A search that may stop at any time: does a place hold logs, about how many runs, how new.

The same walk as that of :mod:`rltui.sources.discovery.logdir`, but bounded by entries, depth,
files opened and time; when a bound was reached there may be more. The number of runs is an
estimate: which files make one run is found out when they are read.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from rltui.files.disk import Entry, Status
from rltui.formats import Belonging, Format
from rltui.sources.discovery.tree import Candidate, LogdirError, Place, parents_of
from rltui.sources.discovery.walk import Walk, Walker

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


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much one scan may cost."""

    entries: int = 4000
    """Directory entries, all in all."""
    opened: int = 100
    """Files whose beginning is read."""


@dataclass(frozen=True, slots=True)
class ScanResult:
    """What was found."""

    runs: int = 0
    """About how many; 0 when there is no log."""
    formats: tuple[str, ...] = ()
    """Names of formats and trackers, the most frequent first."""
    modified: float = 0.0
    """Newest change time of a log, seconds since the epoch; 0 without logs."""
    partial: bool = False
    """Whether a bound was reached: there may be more of everything."""
    newest: tuple[Candidate, ...] = ()
    """The logs that changed last, newest first; of a store all runs or none."""


def quick_scan(
    walker: Walker,
    path: Path,
    clock: Callable[[], float],
    seconds: float,
    bounds: Bounds | None = None,
) -> ScanResult:
    """Search a directory, or examine a file, for about ``seconds``. Never raises.

    ``clock`` returns seconds from any origin.
    """
    found, partial, end = [], False, clock() + seconds
    with suppress(LogdirError, OSError, ValueError):
        if path.is_dir():
            walk = _QuickWalk(walker, path, lambda: clock() >= end, bounds or Bounds())
            found, partial = walk.run().candidates, walk.partial
        else:
            found = walker.single(path, path.stat(), named=False)
    found.sort(key=lambda c: c.modified, reverse=True)
    kept = set(islice(dict.fromkeys(c.path for c in found), _NEWEST))
    newest = [c for c in found if c.path in kept]
    kinds = Counter(c.kind for c in found).most_common()
    modified = newest[0].modified if newest else 0.0
    formats = tuple(kind for kind, _ in kinds)
    return ScanResult(estimated_runs(found), formats, modified, partial, tuple(newest))


def estimated_runs(found: Iterable[Candidate]) -> int:
    """About how many runs the files make: directories within a run are parts of it."""
    named, directories = 0, set()
    for candidate in found:
        if candidate.belonging is Belonging.NAME:
            named += 1
        else:
            directories.add(candidate.directory)
    whole = [d for d in directories if not any(p in directories for p in parents_of(d))]
    return named + len(whole)


class _QuickWalk(Walk):
    """Breadth first, so that a bound cuts off what is deepest."""

    most_depth = 6  # deeper logs are rare: not worth calling every result partial
    most_alike = 4
    knows_strangers = False

    def __init__(
        self, walker: Walker, path: Path, is_late: Callable[[], bool], bounds: Bounds
    ) -> None:
        super().__init__(walker, path, set())
        self._is_late = is_late
        self._entries_left = bounds.entries
        self._most_opens = walker.heads.opens + bounds.opened
        self._costly: list[tuple[Path, Status, list[Format]]] = []
        self.partial = False
        """Whether a bound was reached."""

    def _search_further(self) -> None:
        """A scan judges logs by their beginning and end alone."""

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

    def _search(self, place: Place) -> None:
        super()._search(place)
        costly, self._costly = self._costly, []
        if not place.logs:
            for path, status, forms in costly:
                super()._file(place, path, status, forms)

    def _file(self, place: Place, path: Path, status: Status, forms: list[Format]) -> None:
        """To know a console log costs the most: it is left out where there is a better log."""
        if all(f.anywhere for f in forms):
            self._costly.append((path, status, forms))
        else:
            super()._file(place, path, status, forms)

    def _claim(
        self, place: Place, path: Path, status: Status, forms: list[Format]
    ) -> Format | None:
        suffix = path.suffix
        if place.opened.get(suffix, 0) >= self.most_alike:
            return forms[0] if suffix in place.claimed else None
        if self._walker.heads.opens >= self._most_opens:
            self.partial = True
            forms = [f for f in forms if f.name_decides]
        return super()._claim(place, path, status, forms)
