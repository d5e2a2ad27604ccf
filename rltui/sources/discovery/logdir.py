"""Which runs the logdirs hold and which files belong to them. Keeps no file open.

- A directory that directly holds event files is one run; all its event files belong to it, and
  some of the directories below (:mod:`rltui.sources.discovery.event_places`).
- A JSONL file, CSV or console log names a run of its own, unless it is of a training that logs
  elsewhere, too (:mod:`rltui.sources.discovery.grouping`).
- ``watch DIR FILE``: the file is of the only run of the directory, or of the one of its name.

Run names are paths relative to the logdir, ``.`` for the logdir itself. A file loses its
suffix, unless something beside it has that name: a directory (``exp/`` and ``exp.jsonl``), or
a file with another suffix. A name that was given to a path stays with it and is never given
to another one; a directory whose name was given away before it appeared is called ``exp/``.
A file that was given to a run stays with it.
"""

from __future__ import annotations

import itertools
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rltui.core.address import PIPE, PIPE_NAME, is_remote
from rltui.core.batch import Joined, Note, RunKey, SourceInfo
from rltui.core.errors import UnreachableError
from rltui.core.level import Level
from rltui.core.text import clean
from rltui.core.yaml_document import nearest
from rltui.files.disk import listing, trouble
from rltui.files.disk import status as status_of
from rltui.files.trouble import MISSING, VANISHED
from rltui.formats import ALL_FORMATS, Belonging, Format, Options
from rltui.sources.discovery.event_places import EventPlaces, format_of
from rltui.sources.discovery.grouping import (
    Unit,
    continued,
    is_free,
    joined,
    name_of,
    shown_name,
    stands_alone,
    units,
)
from rltui.sources.discovery.log_head import EndSigns
from rltui.sources.discovery.run_files import (
    MAX_REFUSED,
    Candidate,
    Discovery,
    EmptyLogError,
    LogdirError,
    LogFile,
    RunFiles,
    Tree,
)
from rltui.sources.discovery.walk import Walker, why
from rltui.trackers import TRACKERS, Tracker

#: Vanished files of a run that are remembered: they may come back as what they were.
_MOST_GONE = 1000
_STAMP = re.compile(r"tfevents\.(\d{1,12})")


def discover(
    logdirs: Sequence[Path], formats: Sequence[Format] = ALL_FORMATS, options: Options | None = None
) -> Discovery:
    """Look once. Raises SourceError for a path that is missing, unreadable or no log."""
    return RunFinder(logdirs, formats, options).find()


class RunFinder:
    """Searches again and again; remembers what it has learned about files. Not thread-safe."""

    def __init__(
        self,
        logdirs: Sequence[Path],
        formats: Sequence[Format] = ALL_FORMATS,
        options: Options | None = None,
        trackers: Sequence[Tracker] = TRACKERS,
        ends: EndSigns | None = None,
        *,
        waits: bool = False,
        partial: bool = False,
        absent: bool = False,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        """``ends`` knows the logs of jobs that died before their first row; ``waits``: a named
        file that is empty is no error, it may become a log; ``partial``, as do those who wait: a
        bad logdir is no error while another one is good; ``absent``: nor is one that does not exist
        yet; ``stopped``: whether a search is to end by SearchStoppedError."""
        self._logdirs = tuple(logdirs)
        self._walker = Walker(formats, trackers, options or Options(), ends, stopped)
        naming = [f.name for f in formats if f.names_run]
        others = [f.name for f in formats if not f.names_run]
        kinds = [*naming, *(t.name for t in trackers), *others]
        self._rank = {kind: i for i, kind in enumerate(dict.fromkeys(kinds))}
        self._orders: dict[RunKey, dict[Path, int]] = {}
        self._names = RunNames()
        self._places = EventPlaces()
        self._owners: dict[Path, RunKey] = {}
        """Key of a file -> the run that it was given to."""
        self._paths: dict[RunKey, Path] = {}
        self._joins: dict[Path, tuple[Joined, str]] = {}
        self._singles: dict[int, list[RunFiles]] = {}
        self._seen: dict[Path, RunKey] = {}
        """Key of a file that the last search found -> its run."""
        self._gone: dict[RunKey, dict[Path, None]] = {}
        """Keys of files that vanished, by run, the longest gone first."""
        count = len(self._logdirs)
        self._unread = UnreadLogdirs(count, waits=waits, partial=partial, absent=absent)

    def recall(self, run: RunKey, path: Path, files: Iterable[SourceInfo]) -> None:
        """Before the first search: what another process found out about a run at ``path``."""
        self._paths.setdefault(run, path)
        orders = self._orders.setdefault(run, {})
        for file in sorted(files, key=lambda f: f.order):
            key = file.path / file.part if file.part else file.path
            self._owners[key], orders[key] = run, file.order
            if file.joined is not Joined.OWN:
                self._joins[key] = file.joined, file.alone
            self._names.recall(run.logdir, str(key), run.name)
        self._names.recall(run.logdir, str(path), run.name)

    def stores_changed(self) -> bool:
        """Whether a database that the last search found may hold new runs."""
        return self._walker.stores.changed()

    @property
    def unfinished(self) -> bool:
        """Whether the last search left parts of logs for the next one."""
        return self._walker.heads.further.unfinished

    @property
    def needs_checks(self) -> bool:
        """Whether something may be new although no name and no file that it knows has changed:
        a database holds runs, or the last search is unfinished."""
        return self.unfinished or self._walker.stores.found

    def find(self) -> Discovery:
        """All runs, by logdir and name.

        Raises SourceError for a bad logdir, but only in the first search that succeeds otherwise;
        later a bad one is noted and the others are searched.
        """
        seen: set[tuple[int, int]] = set()
        runs: list[RunFiles] = []
        singles: list[RunFiles] = []
        trees: list[Tree] = []
        self._walker.turn()
        self._places.turn()
        self._unread.turn()
        for number, logdir in enumerate(self._logdirs):
            try:
                found, tree, is_file = self._find_in(number, logdir, seen)
                self._unread.good(number)
            except LogdirError as error:
                found, tree, is_file = [], self._unread.bad(number, logdir, error), False
            (singles if is_file else runs).extend(found)
            trees.append(tree)

        self._unread.all_tried()
        whole = tuple(self._with_singles(runs, singles))
        self._forget({f.key: r.key for r in whole for f in r.files})
        return Discovery(
            whole,
            tuple(n for t in trees for n in t.notes),
            tuple(d for t in trees for d in t.directories),
            tuple(p for t in trees for p in t.unclaimed),
            tuple([n for t in trees for n in t.refused][:MAX_REFUSED]),
            sum(t.refused_count for t in trees),
            self._unread.notes,
        )

    def _forget(self, seen: dict[Path, RunKey]) -> None:
        """Forget the files that vanished longest ago: rotating logs go on for weeks. To which
        run a path was given, and the names of runs, stay."""
        for key in seen.keys() - self._seen.keys():
            self._gone.get(seen[key], {}).pop(key, None)
        for key in self._seen.keys() - seen.keys():
            run = self._seen[key]
            gone, orders = self._gone.setdefault(run, {}), self._orders.get(run, {})
            gone[key] = None
            if len(gone) > _MOST_GONE:
                oldest = next(iter(gone))
                del gone[oldest]
                if oldest != next(reversed(orders), None):  # its number is not given again
                    orders.pop(oldest, None)
                self._places.forget(oldest)
                self._joins.pop(oldest, None)
        self._seen = seen

    def _find_in(
        self, number: int, logdir: Path, seen: set[tuple[int, int]]
    ) -> tuple[list[RunFiles], Tree, bool]:
        known = self._singles.get(number)
        if logdir == PIPE:
            return known or self._pipe(number), Tree(), True
        try:
            status = status_of(logdir)
        except (OSError, ValueError) as error:
            if known is not None:  # its feed reports what happened to it
                return known, Tree(), True
            raise LogdirError(logdir, why(error)) from error

        if stat.S_ISDIR(status.st_mode):
            tree = self._walker.walk(logdir, seen)
            return self._runs(number, logdir, tree), tree, False

        if not stat.S_ISREG(status.st_mode):
            raise LogdirError(logdir, "is not a regular file")
        candidates = self._walker.single(logdir, status)
        have = {f.key for r in known or () for f in r.files}
        new = [c for c in candidates if c.key not in have]
        if known is None or new:  # what vanished is reported by its feed
            known = [*(known or ()), *self._single(number, logdir, new)]
            self._singles[number] = known
        return known, Tree(), True

    def _pipe(self, number: int) -> list[RunFiles]:
        """The run that comes through standard input."""
        key = RunKey(number, self._names.give(number, str(PIPE), PIPE_NAME))
        runs = self._singles[number] = [RunFiles(key, PIPE, (LogFile(PIPE),))]
        return runs

    def _single(self, number: int, path: Path, candidates: list[Candidate]) -> list[RunFiles]:
        runs = []
        for candidate in candidates:
            wanted = candidate.title or clean(path.name)
            key = RunKey(number, self._names.give(number, str(candidate.key), wanted))
            runs.append(RunFiles(key, path, self._files(key, [candidate])))
        return runs

    def _with_singles(
        self, runs: list[RunFiles], singles: Iterable[RunFiles]
    ) -> Iterator[RunFiles]:
        """Runs of directories, and files that were named beside them: of the only run, or of
        the run of their name, if it has no log of that format."""
        taken: dict[RunKey, list[LogFile]] = {}
        alone: list[RunFiles] = []
        for single in singles:
            file = single.files[0]
            key = self._owners.get(file.key, single.key)
            if key == single.key and file.key not in self._owners:
                stem = os.path.splitext(single.path.name)[0]  # noqa: PTH122
                named = [r for r in runs if r.key.name.rpartition("/")[2] == stem]
                target = runs[0] if len(runs) == 1 else named[0] if len(named) == 1 else None
                if target is not None and file.kind not in {f.kind for f in target.files}:
                    key = self._owners[file.key] = target.key
            if key == single.key:
                alone.append(single)
                continue
            order = _number_of(self._orders[key], file.key)
            file = replace(file, order=order, joined=Joined.SURELY, alone=single.key.name)
            taken.setdefault(key, []).append(file)

        for run in runs:
            files = sorted((*run.files, *taken.pop(run.key, ())), key=_order)
            yield replace(run, files=tuple(files))

        for key, files in taken.items():  # the directory has vanished
            yield RunFiles(key, self._paths[key], tuple(files))
        yield from alone

    # -- runs of a directory ----------------------------------------------------------------

    def _runs(self, number: int, logdir: Path, tree: Tree) -> list[RunFiles]:
        known = self._places.locate(tree.candidates)
        found = continued(units(known, self._places.owners()), self._span)
        single = [u for u in found if stands_alone(u, known)]
        found = [*joined([u for u in found if u not in single], self._rank), *single]
        stems = Counter(u.name for u in found)
        members: dict[RunKey, list[Candidate]] = {}
        for unit in found:
            alone = stems[unit.name] == 1 and is_free(unit, tree.names)
            self._assign(number, logdir, unit, members, alone=alone)
        runs = [RunFiles(k, self._paths[k], self._files(k, m)) for k, m in members.items()]
        return sorted(runs, key=lambda r: r.key)

    def _span(self, candidate: Candidate) -> tuple[int, int] | None:
        return self._walker.heads.span(candidate.path, format_of(candidate))

    def _assign(
        self,
        number: int,
        logdir: Path,
        unit: Unit,
        members: dict[RunKey, list[Candidate]],
        *,
        alone: bool,
    ) -> None:
        """Give the files of a unit to the run that has some of them already, or to a new one."""
        for candidate in unit.files:
            if str(candidate.key) in unit.joined:
                why_here, name = unit.joined[str(candidate.key)]
                self._joins.setdefault(candidate.key, (why_here, name))
        owners = [self._owners.get(c.key) for c in unit.files]
        key = next((o for o in owners if o is not None), None)
        if key is None:
            key = self._new_key(number, logdir, unit, alone=alone)
        else:
            self._mark_late(logdir, unit, key)
        for candidate, owner in zip(unit.files, owners, strict=True):
            owner = self._owners.setdefault(candidate.key, owner or key)
            members.setdefault(owner, []).append(candidate)

    def _mark_late(self, logdir: Path, unit: Unit, key: RunKey) -> None:
        """A log that appears beside a run that is there must show that it is of that run, also
        where it would have made the run had it been there first."""
        for candidate in unit.files:
            if candidate.key in self._owners or candidate.key in self._joins:
                continue
            path, name = candidate.path, name_of(candidate)
            if candidate.belonging is Belonging.DIRECTORY:
                name = self._places.get(candidate).owner
                path = logdir / name
            if path != self._paths.get(key):
                self._joins[candidate.key] = Joined.SURELY, shown_name(name, candidate)

    def _new_key(self, number: int, logdir: Path, unit: Unit, *, alone: bool) -> RunKey:
        first = unit.files[0]
        is_directory = first.belonging is Belonging.DIRECTORY
        wanted = unit.shown_name
        if is_directory:
            path, names = logdir / unit.name, [wanted, f"{wanted}/"]
        else:
            whole = wanted
            if not first.title:
                whole = clean(f"{first.directory}/{first.path.name}".lstrip("/"))
            path, names = first.path, [wanted, whole] if alone else [whole]
        identity = str(path if is_directory else first.key)
        key = RunKey(number, self._names.give(number, identity, *names))
        self._paths[key] = path

        return key

    def _files(self, key: RunKey, candidates: list[Candidate]) -> tuple[LogFile, ...]:
        """Oldest first by the time in the name, then change time, then name.

        An order that was given stays: change times move while files are being written.
        """
        known = self._orders.setdefault(key, {})
        for candidate in sorted(candidates, key=_age):
            _number_of(known, candidate.key)
        return tuple(sorted((self._file(known[c.key], c) for c in candidates), key=_order))

    def _file(self, order: int, candidate: Candidate) -> LogFile:
        place = self._places.get(candidate)
        why_here, alone = self._joins.get(candidate.key, (Joined.OWN, ""))
        return LogFile(
            candidate.path,
            candidate.format,
            order,
            place.series,
            place.hparams_only,
            candidate.size,
            candidate.modified,
            candidate.tracker,
            candidate.part,
            why_here,
            alone,
        )


def _order(file: LogFile) -> int:
    return file.order


def _age(candidate: Candidate) -> tuple[str, int, int, float, str]:
    """Order of the files of a run within a log format."""
    stamp = _STAMP.search(candidate.path.name)
    began = int(stamp.group(1)) if stamp else int(candidate.modified)
    key = candidate.key.as_posix()
    return candidate.kind, candidate.begin, began, candidate.modified, key


def _number_of(known: dict[Path, int], key: Path) -> int:
    """The number of a file within its run: the one that it has, or the next one."""
    return known.setdefault(key, next(reversed(known.values()), -1) + 1)


class RunNames:
    """The names of runs, given for ever."""

    def __init__(self) -> None:
        self._given: dict[tuple[int, str], str] = {}
        self._taken: set[tuple[int, str]] = set()

    def give(self, number: int, identity: str, *wanted: str) -> str:
        """The name that a run of a logdir (by number) has, or the first free one of ``wanted``;
        a number is added to the last of them when none is free."""
        known = self._given.get((number, identity))
        if known is None:
            free = (n for n in wanted if (number, n) not in self._taken)
            numbered = (f"{wanted[-1]}~{n}" for n in itertools.count(2))
            more = (n for n in numbered if (number, n) not in self._taken)
            known = self._given[number, identity] = next(itertools.chain(free, more))
            self._taken.add((number, known))
        return known

    def recall(self, number: int, identity: str, name: str) -> None:
        """Give the name that a run had when another process searched."""
        self._given[number, identity] = name
        self._taken.add((number, name))


# -- logdirs that cannot be searched ------------------------------------------------------------


class AwayLogdirError(LogdirError, UnreachableError):
    """The server of a logdir cannot be reached or used now."""


class UnreadLogdirs:
    """Knows of some numbered logdirs which could be searched, and when."""

    def __init__(self, count: int, *, waits: bool, partial: bool, absent: bool = False) -> None:
        """``waits``: an empty file is no error, nor is with it or ``partial`` a bad logdir while
        another one is good, nor with ``absent`` one that does not exist."""
        self._count = count
        self._waits = waits
        self._partial = partial or waits
        self._absent = absent
        self._found = False
        """Whether a search has succeeded."""
        self._good: set[int] = set()
        """Numbers of the logdirs that could be searched once."""
        self._errors: list[LogdirError] = []
        self.notes: tuple[Note, ...] = ()
        """Logdirs that the last search could not search, though their servers can be reached."""

    def turn(self) -> None:
        """A search begins."""
        self._errors, self.notes = [], ()

    def good(self, number: int) -> None:
        """A logdir was searched."""
        self._good.add(number)

    def bad(self, number: int, logdir: Path, error: LogdirError) -> Tree:
        """A logdir cannot be searched: what there is of it. Raises LogdirError."""
        if not (self._waits and isinstance(error, EmptyLogError)):
            away = any(note.level >= Level.WATCH for note in trouble((logdir,)))
            found = AwayLogdirError(logdir, error.reason) if away else error
            expected = self._absent and error.reason == MISSING and not is_remote(logdir)
            if not expected:
                self._errors.append(found)
            if not (self._found or self._partial or expected):
                raise found from error
            if not away:
                self.notes += (Note(logdir, None, Level.WATCH, error.reason),)
        return _tree(logdir, error, vanished=number in self._good)

    def all_tried(self) -> None:
        """A search is over. Raises LogdirError when no logdir is good."""
        if not self._found and self._errors and len(self._errors) == self._count:
            raise next(
                (e for e in self._errors if not isinstance(e, UnreachableError)), self._errors[0]
            )
        self._found = True


def _tree(logdir: Path, error: LogdirError, *, vanished: bool) -> Tree:
    """A logdir that cannot be searched now: tried again when it appears, as a file when it
    grows. ``vanished``: it could be searched before."""
    try:
        found = logdir.parent, status_of(logdir.parent).st_mtime_ns
        named = stat.S_ISREG(status_of(logdir).st_mode)
    except (OSError, ValueError):
        named = False
    if not named:
        tree = Tree(directories=[(logdir, -1)])
        tree.trouble(logdir, VANISHED if vanished and error.reason == MISSING else error.reason)
        return tree
    tree = Tree(directories=[found], unclaimed=[logdir])
    tree.refuse(logdir, error.reason)

    return tree


def similar_to(path: Path) -> Path | None:
    """What is there in place of a path of this machine that does not exist, if its name is nearly
    the same: a typing error, perhaps."""
    above = path
    while not above.parent.exists():
        above = above.parent
    try:
        found = nearest(above.name, (entry.name for entry in listing(above.parent)))
    except (OSError, ValueError):
        return None
    return None if found is None else above.with_name(found)
