"""Which runs a directory holds and which files belong to them (floor 2). Keeps no file open.

- A directory that directly holds event files is one run; all its event files belong to it.
- Each JSONL file of metrics is a run of its own, also beside event files: the two may come
  from different trainings (verl writes ``PROJECT/EXPERIMENT.jsonl``).
- ``add_scalars`` of torch and tensorboardX writes one directory per series below the run;
  they are given to the run, with the tag ``main/series`` (see :func:`series_of`).
- ``add_hparams`` writes a directory named by a time; its hyperparameters are given to the
  run, its metrics (one last value each) are left out, since the run usually logs them itself.

Run names are paths relative to the logdir, ``.`` for the logdir itself.
"""

from __future__ import annotations

import os
import re
import stat
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
    """Every directory that was looked into and its change time (ns) just before."""
    unclaimed: tuple[Path, ...] = ()
    """Files that look like logs by their name but not (yet) by their content."""


@dataclass(slots=True)
class _Candidate:
    path: Path
    format: Format
    modified: float


@dataclass(slots=True)
class _Tree:
    """What a walk through one logdir found; candidates by directory (relative, ``/``)."""

    events: dict[str, list[_Candidate]] = field(default_factory=dict)
    single: list[_Candidate] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    directories: list[tuple[Path, int]] = field(default_factory=list)
    unclaimed: list[Path] = field(default_factory=list)


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

    def find(self) -> Discovery:
        """All runs, by logdir and name. Raises SourceError for a bad logdir."""
        seen: set[tuple[int, int]] = set()
        runs: list[RunFiles] = []
        trees: list[_Tree] = []
        for number, logdir in enumerate(self._logdirs):
            status = _status(logdir)
            if not stat.S_ISDIR(status.st_mode):
                runs.append(self._single_file(number, logdir, status))
                continue
            tree = self._walk(logdir, seen)
            trees.append(tree)
            runs.extend(self._runs(number, logdir, tree))
        return Discovery(
            tuple(runs),
            tuple(n for t in trees for n in t.notes),
            tuple(d for t in trees for d in t.directories),
            tuple(p for t in trees for p in t.unclaimed),
        )

    def _single_file(self, number: int, path: Path, status: os.stat_result) -> RunFiles:
        for form in self._formats:
            regular = stat.S_ISREG(status.st_mode)
            if regular and form.claims_name(path.name) and self._heads.claims(form, path, status):
                key = RunKey(number, clean(path.name))
                return RunFiles(key, path, (LogFile(path, form),))
        raise SourceError(f"{clean(str(path))}: not a log that rltui can read")

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
                    raise SourceError(_cannot(logdir, error)) from error
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
                if depth < _MAX_DEPTH and not _PRUNED.fullmatch(entry.name):
                    child = f"{name}/{entry.name}" if name else entry.name
                    pending[entry.is_symlink()].append((path, child, depth + 1))
                return
            forms = [f for f in self._formats if f.claims_name(entry.name)]
            if not forms:
                return
            status = entry.stat()
            identity = (status.st_dev, status.st_ino)
            if not stat.S_ISREG(status.st_mode) or identity in seen:
                return
            form = next((f for f in forms if self._heads.claims(f, path, status)), None)
        except OSError as error:
            tree.notes.append(Note(path, None, Level.WATCH, _reason(error)))
            return
        if form is None:
            tree.unclaimed.append(path)
            return
        seen.add(identity)
        candidate = _Candidate(path, form, status.st_mtime)
        if form.name == "tfevents":
            tree.events.setdefault(name, []).append(candidate)
        else:
            tree.single.append(candidate)

    def _runs(self, number: int, logdir: Path, tree: _Tree) -> list[RunFiles]:
        members: dict[str, list[tuple[_Candidate, LogFile]]] = {}
        for name in sorted(tree.events):
            for candidate in tree.events[name]:
                owner, file = self._place(name, candidate, tree)
                if owner is not None:
                    members.setdefault(owner, []).append((candidate, file))
        runs = []
        for name, files in members.items():
            key = RunKey(number, clean(name) or ".")
            runs.append(RunFiles(key, logdir / name, self._ordered(key, files)))
        taken = {r.key.name for r in runs}
        for candidate in tree.single:
            relative = candidate.path.relative_to(logdir)
            name = clean(relative.with_suffix("").as_posix())
            name = clean(relative.as_posix()) if name in taken else name
            taken.add(name)
            key = RunKey(number, name)
            runs.append(RunFiles(key, candidate.path, (LogFile(candidate.path, candidate.format),)))
        return sorted(runs, key=lambda r: r.key)

    def _place(self, name: str, candidate: _Candidate, tree: _Tree) -> tuple[str | None, LogFile]:
        """The run (relative name) that an event file belongs to; None while it is not known."""
        file = LogFile(candidate.path, candidate.format)
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


def _status(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except (OSError, ValueError) as error:
        raise SourceError(_cannot(path, error)) from error


def _cannot(path: Path, error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{clean(str(path))}: no such file or directory"
    return f"{clean(str(path))}: {_reason(error)}"


def _reason(error: OSError | ValueError) -> str:
    detail = error.strerror if isinstance(error, OSError) else str(error)
    return f"cannot be read: {clean(detail or type(error).__name__)}"
