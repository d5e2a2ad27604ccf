"""Which runs a directory holds and which files belong to them (floor 2). Keeps no file open.

- A directory that directly holds event files is one run; all its event files belong to it.
- Each JSONL file of metrics is a run of its own, also beside event files: the two may come
  from different trainings (verl writes ``PROJECT/EXPERIMENT.jsonl``).
- ``add_scalars`` of torch and tensorboardX writes one directory per series below the run;
  they are given to the run, with the tag ``main/series`` (see :func:`series_of`).
- ``add_hparams`` writes a directory named by a time; its hyperparameters are given to the
  run, its metrics (one last value each) are left out, since the run usually logs them itself.

Run names are paths relative to the logdir, ``.`` for the logdir itself. A JSONL file loses its
suffix, unless something beside it has that name: a directory (``exp/`` and ``exp.jsonl``), or
a file with another suffix. A name that was given to a path stays with it and is never given
to another one; a directory whose name was given away before it appeared is called ``exp/``.
"""

from __future__ import annotations

import itertools
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rltui.core.batch import Note, RunKey
from rltui.core.errors import SourceError
from rltui.core.level import Level
from rltui.core.text import clean
from rltui.sources.formats import FORMATS, Format, Options
from rltui.sources.nested import HeadReader, Role, series_of

#: Directories that never hold logs of their own, or hold copies.
_PRUNED = re.compile(
    r"checkpoint[-_]?\d.*|global_step_?\d.*|\.git|\.hg|\.svn|__pycache__|node_modules"
    r"|site-packages|dist-packages|\.venv|\.tox|\.nox|\.cache|\.ipynb_checkpoints|\.mypy_cache"
)
_MAX_DEPTH = 64
_STAMP = re.compile(r"tfevents\.(\d{1,12})")
#: Names of logs of formats that are not read.
_FOREIGN = re.compile(r".+\.csv|trainer_state\.json|.+\.log|.+\.wandb")
_NOT_READ = "this format is not read"
_MISSING = "no such file or directory"
VANISHED = "vanished"
#: Files that are not read are named up to so many; the rest is counted.
MAX_REFUSED = 20


@dataclass(frozen=True, slots=True)
class LogFile:
    """One file of a run."""

    path: Path
    format: Format
    order: int = 0
    """Position among the files of the run, oldest first; never changes once given."""
    series: tuple[str, str] | None = None
    """(main tag, series) of an ``add_scalars`` file: its tag ``main`` means ``main/series``."""
    hparams_only: bool = False
    """Whether only hyperparameters are taken from it."""
    size: int = 0
    """Bytes when it was found."""
    modified: float = 0.0
    """Change time when it was found, seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class RunFiles:
    """One run and its files, oldest first."""

    key: RunKey
    path: Path
    files: tuple[LogFile, ...]


@dataclass(frozen=True, slots=True)
class Discovery:
    """What was found."""

    runs: tuple[RunFiles, ...]
    notes: tuple[Note, ...] = ()
    directories: tuple[tuple[Path, int], ...] = ()
    """Every directory that was looked into and its change time (ns) just before; -1 for a
    logdir that could not be looked into."""
    unclaimed: tuple[Path, ...] = ()
    """Files that look like logs by their name and may become logs when they grow."""
    refused: tuple[Note, ...] = ()
    """Files that look like logs and are not read, with the reason; at most MAX_REFUSED."""
    refused_count: int = 0
    """How many there are."""


@dataclass(slots=True)
class _Candidate:
    path: Path
    format: Format
    size: int
    modified: float

    @property
    def file(self) -> LogFile:
        """The file, without its place in a run."""
        return LogFile(self.path, self.format, size=self.size, modified=self.modified)


class _LogdirError(SourceError):
    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{clean(str(path))}: {reason}")
        self.reason = reason


@dataclass(slots=True)
class _Tree:
    """What a walk through one logdir found; candidates by directory (relative, ``/``)."""

    events: dict[str, list[_Candidate]] = field(default_factory=dict)
    single: list[_Candidate] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    directories: list[tuple[Path, int]] = field(default_factory=list)
    unclaimed: list[Path] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    """Relative names of all directories."""
    refused: list[Note] = field(default_factory=list)
    foreign: list[Note] = field(default_factory=list)
    refused_count: int = 0

    def refuse(self, path: Path, reason: str, notes: list[Note]) -> None:
        """Note a file that is not read."""
        self.refused_count += 1
        if len(notes) < MAX_REFUSED:
            notes.append(Note(path, None, Level.OK, reason))


def discover(
    logdirs: Sequence[Path],
    formats: Sequence[Format] = FORMATS,
    options: Options | None = None,
) -> Discovery:
    """Look once. Raises SourceError for a path that is missing, unreadable or no log."""
    return Finder(logdirs, formats, options).find()


class Finder:
    """Looks again and again; remembers what it has learned about files. One thread."""

    def __init__(
        self,
        logdirs: Sequence[Path],
        formats: Sequence[Format] = FORMATS,
        options: Options | None = None,
    ) -> None:
        self._logdirs = tuple(Path(p) for p in logdirs)
        self._formats = tuple(formats)
        self._heads = HeadReader(options or Options())
        self._orders: dict[RunKey, dict[Path, int]] = {}
        self._names: dict[tuple[int, Path], str] = {}
        """The names that were given, for ever."""
        self._taken: set[tuple[int, str]] = set()
        self._placed: dict[tuple[int, Path], tuple[str, LogFile]] = {}
        self._singles: dict[int, RunFiles] = {}
        self._found = False

    def find(self) -> Discovery:
        """All runs, by logdir and name.

        Raises SourceError for a bad logdir, but only until all logdirs were good once; later a
        bad one is noted and the others are searched.
        """
        seen: set[tuple[int, int]] = set()
        runs: list[RunFiles] = []
        trees: list[_Tree] = []
        for number, logdir in enumerate(self._logdirs):
            try:
                found, tree = self._find_in(number, logdir, seen)
            except _LogdirError as error:
                if not self._found:
                    raise
                told = VANISHED if error.reason == _MISSING else error.reason
                found, tree = [], _Tree(directories=[(logdir, -1)])
                tree.notes.append(Note(logdir, None, Level.WATCH, told))
            runs.extend(found)
            trees.append(tree)
        self._found = True
        refused = [n for t in trees for n in t.refused] + [n for t in trees for n in t.foreign]
        return Discovery(
            tuple(runs),
            tuple(n for t in trees for n in t.notes),
            tuple(d for t in trees for d in t.directories),
            tuple(p for t in trees for p in t.unclaimed),
            tuple(refused[:MAX_REFUSED]),
            sum(t.refused_count for t in trees),
        )

    def _find_in(
        self, number: int, logdir: Path, seen: set[tuple[int, int]]
    ) -> tuple[list[RunFiles], _Tree]:
        known = self._singles.get(number)
        try:
            status = logdir.stat()
        except (OSError, ValueError) as error:
            if known is not None:  # its feed tells what happened to it
                return [known], _Tree()
            raise _LogdirError(logdir, _why(error)) from error
        if stat.S_ISDIR(status.st_mode):
            tree = self._walk(logdir, seen)
            return self._runs(number, logdir, tree), tree
        if known is None:
            known = self._singles[number] = self._single_file(number, logdir, status)
        return [known], _Tree()

    def _single_file(self, number: int, path: Path, status: os.stat_result) -> RunFiles:
        if not stat.S_ISREG(status.st_mode):
            raise _LogdirError(path, "is not a regular file")
        reason = "not a log that rltui can read"
        if _FOREIGN.fullmatch(path.name):
            reason = _NOT_READ
        for form in self._formats:
            if not form.claims_name(path.name):
                continue
            try:
                claimed = self._heads.claims(form, path, status)
            except OSError as error:
                raise _LogdirError(path, _reason(error)) from error
            if claimed:
                name = self._name(number, path, clean(path.name))
                file = LogFile(path, form, size=status.st_size, modified=status.st_mtime)
                return RunFiles(RunKey(number, name), path, (file,))
            reason = self._heads.refusal(form, path)[0] or reason
        raise _LogdirError(path, reason)

    def _walk(self, logdir: Path, seen: set[tuple[int, int]]) -> _Tree:
        """Walk the tree; linked directories come last, so that a real path gives the name."""
        tree = _Tree()
        pending: list[tuple[Path, str, int]] = [(logdir, "", 0)]
        linked: list[tuple[Path, str, int]] = []
        while pending or linked:
            directory, name, depth = pending.pop() if pending else linked.pop(0)
            try:
                status = directory.stat()
                identity = (status.st_dev, status.st_ino)
                if identity in seen:
                    continue
                seen.add(identity)
                with os.scandir(directory) as listing:
                    entries = sorted(listing, key=lambda e: e.name)
            except OSError as error:
                if directory == logdir:
                    raise _LogdirError(logdir, _why(error)) from error
                if isinstance(error, FileNotFoundError):
                    continue  # deleted since its name was read
                tree.notes.append(Note(directory, None, Level.WATCH, _reason(error)))
                continue
            tree.directories.append((directory, status.st_mtime_ns))
            for entry in entries:
                self._entry(tree, entry, name, seen, (pending, linked), depth)
        return tree

    def _entry(
        self,
        tree: _Tree,
        entry: os.DirEntry[str],
        name: str,
        seen: set[tuple[int, int]],
        pending: tuple[list[tuple[Path, str, int]], list[tuple[Path, str, int]]],
        depth: int,
    ) -> None:
        """Sort one directory entry into the tree."""
        path = Path(entry.path)
        try:
            if entry.is_dir():
                if depth < _MAX_DEPTH and not pruned(entry.name):
                    child = f"{name}/{entry.name}" if name else entry.name
                    tree.names.add(child)
                    pending[entry.is_symlink()].append((path, child, depth + 1))
                return
            forms = [f for f in self._formats if f.claims_name(entry.name)]
            if not forms:
                if _FOREIGN.fullmatch(entry.name):
                    tree.refuse(path, _NOT_READ, tree.foreign)
                return
            status = entry.stat()
            identity = (status.st_dev, status.st_ino)
            if not stat.S_ISREG(status.st_mode) or identity in seen:
                return
            form = next((f for f in forms if self._heads.claims(f, path, status)), None)
        except OSError as error:
            if not isinstance(error, FileNotFoundError) or entry.is_symlink():
                tree.notes.append(Note(path, None, Level.WATCH, _reason(error)))
            return
        if form is None:
            reason, decided = self._heads.refusal(forms[0], path)
            tree.refuse(path, reason, tree.refused)
            if not decided:
                tree.unclaimed.append(path)
            return
        seen.add(identity)
        candidate = _Candidate(path, form, status.st_size, status.st_mtime)
        if form.name == "tfevents":
            tree.events.setdefault(name, []).append(candidate)
        else:
            tree.single.append(candidate)

    def _runs(self, number: int, logdir: Path, tree: _Tree) -> list[RunFiles]:
        members: dict[str, list[tuple[_Candidate, LogFile]]] = {}
        for name in sorted(tree.events):
            for candidate in tree.events[name]:
                placed = self._placed.get((number, candidate.path))
                owner, file = placed or self._place(name, candidate, tree)
                if owner is not None:
                    self._placed[number, candidate.path] = owner, file
                    members.setdefault(owner, []).append((candidate, file))
        runs = []
        for name, files in members.items():
            wanted = clean(name) or "."
            key = RunKey(number, self._name(number, logdir / name, wanted, f"{wanted}/"))
            runs.append(RunFiles(key, logdir / name, self._ordered(key, files)))
        relatives = [c.path.relative_to(logdir) for c in tree.single]
        stems = Counter(r.with_suffix("").as_posix() for r in relatives)
        for candidate, relative in zip(tree.single, relatives, strict=True):
            stem, whole = relative.with_suffix("").as_posix(), clean(relative.as_posix())
            alone = stems[stem] == 1 and stem not in tree.names
            name = self._name(number, candidate.path, clean(stem) if alone else whole, whole)
            runs.append(RunFiles(RunKey(number, name), candidate.path, (candidate.file,)))
        return sorted(runs, key=lambda r: r.key)

    def _name(self, number: int, path: Path, *wanted: str) -> str:
        """The name of a run: the one that it has, or the first of ``wanted`` that is free."""
        known = self._names.get((number, path))
        if known is None:
            free = (n for n in wanted if (number, n) not in self._taken)
            numbered = (f"{wanted[-1]}~{n}" for n in itertools.count(2))
            more = (n for n in numbered if (number, n) not in self._taken)
            known = self._names[number, path] = next(itertools.chain(free, more))
            self._taken.add((number, known))
        return known

    def _place(self, name: str, candidate: _Candidate, tree: _Tree) -> tuple[str | None, LogFile]:
        """The run (relative name) that an event file belongs to; None while it is not known."""
        file = candidate.file
        for parent in _parents(name):
            if parent not in tree.events:
                continue
            relative = name[len(parent) :].lstrip("/")
            role = self._heads.role(candidate.path, candidate.format)
            if role is Role.HPARAMS and re.fullmatch(r"\d{9,}(\.\d+)?", relative):
                return parent, replace(file, hparams_only=True)
            if isinstance(role, str):
                series = series_of(relative, role)
                if series is not None:
                    return parent, replace(file, series=(clean(role), clean(series)))
            if role is Role.EMPTY and not _has_files_of_own(name, tree, self._heads):
                return None, file
        return name, file

    def _ordered(self, key: RunKey, files: list[tuple[_Candidate, LogFile]]) -> tuple[LogFile, ...]:
        """Oldest first by the time in the name, then change time, then name.

        An order that was given stays: change times move while files are being written.
        """
        known = self._orders.setdefault(key, {})
        for _, file in sorted(files, key=_age):
            known.setdefault(file.path, len(known))
        return tuple(sorted((replace(f, order=known[f.path]) for _, f in files), key=_order))


def _age(entry: tuple[_Candidate, LogFile]) -> tuple[int, float, str]:
    candidate = entry[0]
    stamp = _STAMP.search(candidate.path.name)
    told = int(stamp.group(1)) if stamp else int(candidate.modified)
    return told, candidate.modified, candidate.path.as_posix()


def _order(file: LogFile) -> int:
    return file.order


def _parents(name: str) -> Iterable[str]:
    """Relative names of the directories above, nearest first, down to the logdir (``""``)."""
    while name:
        name = name.rpartition("/")[0]
        yield name


def _has_files_of_own(name: str, tree: _Tree, heads: HeadReader) -> bool:
    """Whether another event file of the directory already tells that it is a run."""
    return any(heads.role(c.path, c.format) is Role.RUN for c in tree.events[name])


def pruned(name: str) -> bool:
    """Whether a directory of this name is passed over."""
    return _PRUNED.fullmatch(name) is not None


def _why(error: OSError | ValueError) -> str:
    return _MISSING if isinstance(error, FileNotFoundError) else _reason(error)


def _reason(error: OSError | ValueError) -> str:
    detail = error.strerror if isinstance(error, OSError) else str(error)
    return f"cannot be read: {clean(detail or type(error).__name__)}"
