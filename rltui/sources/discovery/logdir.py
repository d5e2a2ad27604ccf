"""Which runs the logdirs hold and which files belong to them. Keeps no file open.

- A directory that directly holds event files is one run; all its event files belong to it, and
  some of the directories below (:mod:`rltui.sources.discovery.grouping`).
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
from rltui.formats import ALL_FORMATS
from rltui.formats.base import Belonging, Format, Options
from rltui.sources.discovery import grouping, parts
from rltui.sources.discovery.grouping import EventFileOwners, Unit
from rltui.sources.discovery.log_head import EndSigns, Opening
from rltui.sources.discovery.run_files import (
    Discovery,
    EmptyLogError,
    LogdirError,
    LogFile,
    RunFiles,
    Tree,
)
from rltui.sources.discovery.walk import Walk, Walker, why
from rltui.trackers import TRACKERS, Tracker

_STAMP = re.compile(r"tfevents\.(\d{1,12})")


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
        self._waits = waits
        self._partial = partial or waits
        self._absent = absent
        self._walker = Walker(formats, trackers, options or Options(), ends, stopped)
        naming = [f.name for f in formats if f.names_run]
        kinds = [*naming, *(t.name for t in trackers), *(f.name for f in formats)]
        self._rank = {kind: i for i, kind in enumerate(dict.fromkeys(kinds))}
        self._orders: dict[RunKey, dict[Path, int]] = {}
        self._names: dict[tuple[int, str], str] = {}
        """By number of the logdir and path (or key of a file): the name of a run, for ever."""
        self._given: set[tuple[int, str]] = set()
        """Names by number of the logdir."""
        self._event_owners = EventFileOwners()
        self._owners: dict[Path, RunKey] = {}
        """Key of a file -> the run that it was given to."""
        self._paths: dict[RunKey, Path] = {}
        self._joins: dict[Path, tuple[Joined, str]] = {}
        self._singles: dict[int, list[RunFiles]] = {}
        self._has_found = False
        """Whether a search has succeeded."""
        self._good: set[int] = set()
        """Numbers of the logdirs that could be searched once."""

    def recall(self, run: RunKey, path: Path, files: Iterable[SourceInfo]) -> None:
        """Before the first search: what another process found out about a run at ``path``."""
        self._paths.setdefault(run, path)
        orders = self._orders.setdefault(run, {})
        identities = [str(path)]
        for file in sorted(files, key=lambda f: f.order):
            key = file.path / file.part if file.part else file.path
            self._owners[key] = run
            orders[key] = file.order
            if file.joined is not Joined.OWN:
                self._joins[key] = file.joined, file.alone
            identities.append(str(key))

        self._names.update(((run.logdir, identity), run.name) for identity in identities)
        self._given.add((run.logdir, run.name))

    def stores_changed(self) -> bool:
        """Whether a database that the last search found may hold new runs."""
        return self._walker.stores.changed()

    @property
    def unfinished(self) -> bool:
        """Whether the last search left parts of logs for the next one."""
        return self._walker.heads.unfinished

    @property
    def needs_checks(self) -> bool:
        """Whether something may be new although no name and no file that it knows has changed:
        a database holds runs, or the last search is unfinished."""
        return self.unfinished or bool(self._walker.stores.items())

    def find(self) -> Discovery:
        """All runs, by logdir and name.

        Raises SourceError for a bad logdir, but only in the first search that succeeds otherwise;
        later a bad one is noted and the others are searched.
        """
        tree = Tree()
        errors: list[LogdirError] = []
        self._walker.begin_search()
        self._event_owners.roles.begin_search()
        for number, logdir in enumerate(self._logdirs):
            errors += self._tried(number, logdir, tree)

        if not self._has_found and errors and len(errors) == len(self._logdirs):
            raise next((e for e in errors if not isinstance(e, UnreachableError)), errors[0])

        self._has_found = True
        return Discovery(
            tuple(self._with_singles(tree.runs, tree.singles)),
            tuple(tree.notes),
            tuple(tree.directories),
            tuple(tree.unclaimed),
            tuple(tree.refused),
            tree.refused_count,
            tuple(tree.unread),
        )

    def _tried(self, number: int, logdir: Path, tree: Tree) -> list[LogdirError]:
        """Search one logdir; the error, if it cannot be searched and should."""
        try:
            self._find_in(number, logdir, tree)
        except LogdirError as error:
            waits = self._waits and isinstance(error, EmptyLogError)
            errors = [] if waits else self._failed(logdir, error, tree)
            # it is searched again when it appears, or grows if it is a file
            try:
                above = logdir.parent, status_of(logdir.parent).st_mtime_ns
                named = stat.S_ISREG(status_of(logdir).st_mode)
            except (OSError, ValueError):
                named = False
            if named:
                tree.directories.append(above)
                tree.unclaimed.append(logdir)
                tree.refuse(logdir, error.reason)
            else:
                tree.directories.append((logdir, -1))
                vanished = number in self._good and error.reason == MISSING
                tree.trouble(logdir, VANISHED if vanished else error.reason)
            return errors

        self._good.add(number)
        return []

    def _failed(self, logdir: Path, error: LogdirError, tree: Tree) -> list[LogdirError]:
        """The error of a logdir that cannot be searched, none where it may be absent; raises it
        where a bad logdir is one."""
        away = any(note.level >= Level.WATCH for note in trouble((logdir,)))
        found = AwayLogdirError(logdir, error.reason) if away else error
        expected = self._absent and error.reason == MISSING and not is_remote(logdir)
        if not (self._has_found or self._partial or expected):
            raise found from error
        if not away:
            tree.unread.append(Note(logdir, None, Level.WATCH, error.reason))
        return [] if expected else [found]

    def _find_in(self, number: int, logdir: Path, tree: Tree) -> None:
        """Add the runs of a directory or file to the tree."""
        known = self._singles.get(number)
        if logdir == PIPE:
            if known is None:
                key = RunKey(number, self._name(number, str(PIPE), PIPE_NAME))
                known = self._singles[number] = [RunFiles(key, PIPE, (LogFile(PIPE),))]
            tree.singles += known
            return

        try:
            status = status_of(logdir)
        except (OSError, ValueError) as error:
            if known is None:
                raise LogdirError(logdir, why(error)) from error
            tree.singles += known  # its feed reports what happened to it
            return

        if stat.S_ISDIR(status.st_mode):
            walk = Walk(self._walker, logdir, tree)
            walk.run()
            tree.runs += self._runs(number, logdir, walk)
            return
        if not stat.S_ISREG(status.st_mode):
            raise LogdirError(logdir, "is not a regular file")

        files = self._walker.single(logdir, status)
        known = self._singles.setdefault(number, [])
        have = {f.key for r in known for f in r.files}
        for file in files:  # what vanished is reported by its feed
            if file.key not in have:
                wanted = file.title or clean(logdir.name)
                key = RunKey(number, self._name(number, str(file.key), wanted))
                known.append(RunFiles(key, logdir, self._files(key, [file])))
        tree.singles += known

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
            file = file._replace(order=order, joined=Joined.SURELY, alone=single.key.name)
            taken.setdefault(key, []).append(file)

        for run in runs:
            files = sorted((*run.files, *taken.pop(run.key, ())), key=lambda f: f.order)
            yield run._replace(files=tuple(files))

        for key, files in taken.items():  # the directory has vanished
            yield RunFiles(key, self._paths[key], tuple(files))
        yield from alone

    # -- runs of a directory ----------------------------------------------------------------

    def _runs(self, number: int, logdir: Path, walk: Walk) -> list[RunFiles]:
        files = self._event_owners.locate([f for f in walk.files if not f.beside])
        found = parts.whole(grouping.units(files, self._rank), self._opening)
        single = [u for u in found if grouping.stands_alone(u, files)]
        found = grouping.joined([u for u in found if u not in single])
        found = [*grouping.attached(found, (f for f in walk.files if f.beside)), *single]
        stems = Counter(u.name for u in found)
        members: dict[RunKey, list[LogFile]] = {}
        for unit in found:
            alone = stems[unit.name] == 1 and grouping.is_free(unit, walk.names)
            for file, owner in self._owned(number, logdir, unit, alone=alone):
                members.setdefault(owner, []).append(file)

        runs = [RunFiles(k, self._paths[k], self._files(k, m)) for k, m in members.items()]
        return sorted(runs, key=lambda r: r.key)

    def _owned(
        self, number: int, logdir: Path, unit: Unit, *, alone: bool
    ) -> list[tuple[LogFile, RunKey]]:
        """The files of a unit and their run: the one that has some of them, or a new one."""
        owners = [self._owners.get(f.key) for f in unit.files]
        for file in unit.files:
            if file.key in unit.joined:
                self._joins.setdefault(file.key, unit.joined[file.key])

        key = next((o for o in owners if o is not None), None)
        if key is None:
            key = self._new_key(number, logdir, unit, alone=alone)
        else:  # what was rotated since then has been read
            unit.files = [f for f in unit.files if f.begin >= 0 or f.key in self._owners]
            for file in unit.files:
                if file.key in self._owners or file.key in self._joins:
                    continue
                # it appeared beside a run that was there: it must show that it is of that run,
                # also where it would have made the run had it been there first
                path = file.path
                name = grouping.name_of(file)
                if file.belonging is Belonging.DIRECTORY:
                    path = logdir / file.directory
                    name = file.directory
                if path != self._paths.get(key):
                    self._joins[file.key] = Joined.SURELY, grouping.shown_name(name, file)
        return [(file, self._owners.setdefault(file.key, key)) for file in unit.files]

    def _new_key(self, number: int, logdir: Path, unit: Unit, *, alone: bool) -> RunKey:
        first = unit.files[0]
        wanted = unit.shown_name
        if first.belonging is Belonging.DIRECTORY and first.title:
            path = logdir / first.directory
            names = [wanted, clean(first.directory)]
            identity = str(path)
        elif first.belonging is Belonging.DIRECTORY:
            path = logdir / unit.name
            names = [wanted, f"{wanted}/"]
            identity = str(path)
        else:
            whole = wanted
            if not first.title:
                whole = clean(f"{first.directory}/{first.path.name}".lstrip("/"))
            path = first.path
            names = [wanted, whole] if alone else [whole]
            identity = str(first.key)

        key = RunKey(number, self._name(number, identity, *names))
        self._paths[key] = path
        return key

    def _opening(self, file: LogFile) -> Opening | None:
        assert file.format is not None
        return self._walker.heads.opening(file.path, file.format)

    def _name(self, number: int, identity: str, *wanted: str) -> str:
        """The name that a run of a logdir (by number) has, or the first free one of ``wanted``;
        a number is added to the last of them when none is free."""
        known = self._names.get((number, identity))
        if known is None:
            numbered = (f"{wanted[-1]}~{n}" for n in itertools.count(2))
            names = itertools.chain(wanted, numbered)
            known = next(name for name in names if (number, name) not in self._given)
            self._names[number, identity] = known
            self._given.add((number, known))
        return known

    def _files(self, key: RunKey, files: Iterable[LogFile]) -> tuple[LogFile, ...]:
        """Oldest first by the time in the name, then change time, then name.

        An order that was given stays: change times move while files are being written.
        """
        known = self._orders.setdefault(key, {})
        found = []
        for file in sorted(files, key=_age):
            order = _number_of(known, file.key)
            why_here, alone = self._joins.get(file.key, (Joined.OWN, ""))
            found.append(file._replace(order=order, joined=why_here, alone=alone))
        return tuple(sorted(found, key=lambda f: f.order))


class AwayLogdirError(LogdirError, UnreachableError):
    """The server of a logdir cannot be reached or used now."""


def _age(file: LogFile) -> tuple[str, int, int, float, str]:
    """Order of the files of a run within a log format."""
    stamp = _STAMP.search(file.path.name)
    began = int(stamp.group(1)) if stamp else int(file.modified)
    return file.kind, file.begin, began, file.modified, file.key.as_posix()


def _number_of(known: dict[Path, int], key: Path) -> int:
    """The number of a file within its run: the one that it has, or the next one."""
    return known.setdefault(key, next(reversed(known.values()), -1) + 1)


def similar_to(path: Path) -> Path | None:
    """An existing path whose name is nearly that of a local path that does not exist, which may be
    a typing error; None for none."""
    above = path
    while not above.parent.exists():
        above = above.parent

    try:
        found = nearest(above.name, (entry.name for entry in listing(above.parent)))
    except (OSError, ValueError):
        return None
    return None if found is None else above.with_name(found)
