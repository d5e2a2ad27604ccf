"""What lies below a logdir: files that a log format claims, and stores of trackers.

Reads directories and the beginnings of files, each of them only until it is decided, and
remembers what it has learned. A directory of ten thousand shards or checkpoints costs the time
to list it: names are asked first, and of many files of one kind only the first are opened.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rltui.core.batch import Note
from rltui.core.errors import SourceError
from rltui.core.level import Level
from rltui.core.text import clean
from rltui.formats import Belonging, Format, Options
from rltui.sources.discovery.log_head import HeadReader
from rltui.sources.discovery.run_files import MAX_REFUSED, kind_of
from rltui.sources.discovery.tracker_stores import Stores
from rltui.trackers import Tracker

#: Directories that never hold logs of their own, or hold copies.
_PRUNED = re.compile(
    r"checkpoint[-_]?\d.*|global_step_?\d.*|\.git|\.hg|\.svn|__pycache__|node_modules"
    r"|site-packages|dist-packages|\.venv|\.tox|\.nox|\.cache|\.ipynb_checkpoints|\.mypy_cache"
)
#: HF Trainer writes the state of a training into each checkpoint, and at the very end beside
#: them (transformers/trainer.py, ``_save_checkpoint``, ``save_state``).
_CHECKPOINT = re.compile(r"checkpoint-(\d{1,18})")
_CHECKPOINT_LOG = "trainer_state.json"
_MAX_DEPTH = 64
#: Of files of one directory and suffix so many are opened, the newest; if none of them is a log,
#: and there are more, the others are shards of a dataset, or logs of something else.
_SAMPLED = 40
MISSING = "no such file or directory"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file, or one run of a tracker's store, that belongs to some run."""

    path: Path
    directory: str
    """Where it belongs, relative to the logdir; ``""`` for the logdir itself."""
    format: Format | None
    size: int
    modified: float
    tracker: Tracker | None = None
    part: str = ""
    title: str = ""
    """Name that the tracker gives to the run."""
    begin: int = 0
    """First step, where that tells which of several files was written first."""

    @property
    def key(self) -> Path:
        """As that of the :class:`LogFile` that it becomes."""
        return self.path / self.part if self.part else self.path

    @property
    def kind(self) -> str:
        """Name of the log format or tracker."""
        return kind_of(self.format, self.tracker)

    @property
    def belonging(self) -> Belonging:
        """How it belongs to its directory."""
        return Belonging.NAME if self.format is None else self.format.belonging(self.path.name)


class LogdirError(SourceError):
    """A logdir that cannot be looked into."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{clean(str(path))}: {reason}")
        self.reason = reason


@dataclass(slots=True)
class Tree:
    """What a walk through one logdir found."""

    candidates: list[Candidate] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    directories: list[tuple[Path, int]] = field(default_factory=list)
    unclaimed: list[Path] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    """Relative names of all directories."""
    refused: list[Note] = field(default_factory=list)
    refused_count: int = 0
    _tried: dict[tuple[str, str], int] = field(default_factory=dict)
    """(directory, suffix) -> files that were opened in vain; -1 when one was a log."""

    def refuse(self, path: Path, reason: str) -> None:
        """Note a file that is not read."""
        self.refused_count += 1
        if len(self.refused) < MAX_REFUSED:
            self.refused.append(Note(path, None, Level.OK, reason))

    def in_vain(self, directory: str, name: str) -> bool:
        """Whether enough files of this kind were opened here, and none of them was a log."""
        return self._tried.get((directory, os.path.splitext(name)[1]), 0) >= _SAMPLED  # noqa: PTH122

    def opened(self, directory: str, name: str, *, claimed: bool) -> None:
        """A file was opened."""
        key = directory, os.path.splitext(name)[1]  # noqa: PTH122 - a Path costs ten times as much
        count = self._tried.get(key, 0)
        self._tried[key] = -1 if claimed or count < 0 else count + 1


@dataclass(slots=True)
class _Place:
    path: Path
    name: str
    depth: int


class Walker:
    """Walks trees again and again. One thread."""

    def __init__(
        self, formats: Sequence[Format], trackers: Sequence[Tracker], options: Options
    ) -> None:
        self._formats = tuple(formats)
        self._trackers = tuple(trackers)
        self.heads = HeadReader(options)
        self._stores = Stores()

    def turn(self) -> None:
        """A look at all logdirs begins: forget the files that the last one did not see."""
        self.heads.turn()
        self._stores.turn()

    def stores_changed(self) -> bool:
        """See :meth:`rltui.sources.discovery.tracker_stores.Stores.changed`."""
        return self._stores.changed()

    def walk(self, logdir: Path, seen: set[tuple[int, int]]) -> Tree:
        """Walk the tree; linked directories come last, so that a real path gives the name.

        Raises LogdirError when the logdir itself cannot be read.
        """
        tree = Tree()
        pending: list[_Place] = [_Place(logdir, "", 0)]
        linked: list[_Place] = []
        while pending or linked:
            place = pending.pop() if pending else linked.pop(0)
            try:
                status = place.path.stat()
                identity = (status.st_dev, status.st_ino)
                if identity in seen:
                    continue
                seen.add(identity)
                with os.scandir(place.path) as listing:
                    entries = sorted(listing, key=lambda e: e.name)
            except OSError as error:
                if place.path == logdir:
                    raise LogdirError(logdir, why(error)) from error
                if not isinstance(error, FileNotFoundError):  # else deleted since it was listed
                    tree.notes.append(Note(place.path, None, Level.WATCH, reason_of(error)))
                continue
            tree.directories.append((place.path, status.st_mtime_ns))
            self._directory(tree, place, entries, seen, (pending, linked))
        return tree

    def _directory(
        self,
        tree: Tree,
        place: _Place,
        entries: list[os.DirEntry[str]],
        seen: set[tuple[int, int]],
        further: tuple[list[_Place], list[_Place]],
    ) -> None:
        names = {e.name for e in entries}
        tracker = next((t for t in self._trackers if t.claims_directory(place.path, names)), None)
        if tracker is not None:
            self._store(tree, place.path, place.name, tracker, within=False)
            return
        for entry in self._in_order(entries):
            error = self._entry(tree, entry, place, seen, further)
            if error is not None:
                tree.notes.append(Note(Path(entry.path), None, Level.WATCH, reason_of(error)))
        if _CHECKPOINT_LOG not in names:
            self._checkpoint(tree, place, names)

    def _in_order(self, entries: list[os.DirEntry[str]]) -> list[os.DirEntry[str]]:
        """Of many files of one kind the newest first: of them some are opened, not all."""
        kinds: dict[str, list[os.DirEntry[str]]] = {}
        for entry in entries:
            kinds.setdefault(os.path.splitext(entry.name)[1], []).append(entry)  # noqa: PTH122
        out = []
        for kind in kinds.values():
            if len(kind) > _SAMPLED and any(f.claims_name(kind[0].name) for f in self._formats):
                kind.sort(key=_modified, reverse=True)
            out += kind
        return out

    def _entry(
        self,
        tree: Tree,
        entry: os.DirEntry[str],
        place: _Place,
        seen: set[tuple[int, int]],
        further: tuple[list[_Place], list[_Place]],
    ) -> OSError | None:
        """Sort one directory entry into the tree; the error of one that cannot be read."""
        try:
            self._sort(tree, entry, place, seen, further)
        except OSError as error:
            # a name without a file was deleted since it was listed; a link leads nowhere
            if not isinstance(error, FileNotFoundError) or entry.is_symlink():
                return error
        return None

    def _sort(
        self,
        tree: Tree,
        entry: os.DirEntry[str],
        place: _Place,
        seen: set[tuple[int, int]],
        further: tuple[list[_Place], list[_Place]],
    ) -> None:
        name = entry.name
        if entry.is_dir():
            if place.depth < _MAX_DEPTH and not pruned(name):
                child = f"{place.name}/{name}" if place.name else name
                tree.names.add(child)
                place = _Place(Path(entry.path), child, place.depth + 1)
                further[entry.is_symlink()].append(place)
            return
        forms = [f for f in self._formats if f.claims_name(name)]
        stores = [t for t in self._trackers if t.claims_name(name)]
        if not forms and not stores:
            return
        if tree.in_vain(place.name, name):
            tree.refused_count += 1
            return
        status = entry.stat()
        identity = (status.st_dev, status.st_ino)
        if not stat.S_ISREG(status.st_mode) or identity in seen:
            return
        path = Path(entry.path)
        store = next((t for t in stores if self._stores.claims(t, path)), None)
        if store is not None:
            seen.add(identity)
            self._store(tree, path, place.name, store, within=True)
            return
        self._file(tree, path, status, forms, place.name, seen)

    def _file(
        self,
        tree: Tree,
        path: Path,
        status: os.stat_result,
        forms: list[Format],
        directory: str,
        seen: set[tuple[int, int]],
    ) -> None:
        form = next((f for f in forms if self.heads.claims(f, path, status)), None)
        tree.opened(directory, path.name, claimed=form is not None)
        if form is None:
            if forms:
                reason, decided = self.heads.refusal(forms[0], path)
                tree.refuse(path, reason)
                if not decided:
                    tree.unclaimed.append(path)
            return
        seen.add((status.st_dev, status.st_ino))
        tree.candidates.append(Candidate(path, directory, form, status.st_size, status.st_mtime))

    def _checkpoint(self, tree: Tree, place: _Place, names: set[str]) -> None:
        """The state of the training in its newest checkpoint."""
        matches = (_CHECKPOINT.fullmatch(n) for n in names)
        for number in sorted((int(m.group(1)) for m in matches if m), reverse=True):
            path = place.path / f"checkpoint-{number}" / _CHECKPOINT_LOG
            forms = [f for f in self._formats if f.claims_name(_CHECKPOINT_LOG)]
            try:
                status = path.stat()
                form = next((f for f in forms if self.heads.claims(f, path, status)), None)
            except OSError:
                continue  # being written, or one of another framework
            if form is not None:
                modified = status.st_mtime
                tree.candidates.append(Candidate(path, place.name, form, status.st_size, modified))
                return

    def _store(
        self, tree: Tree, path: Path, directory: str, tracker: Tracker, *, within: bool
    ) -> None:
        """The runs of a tracker's store; ``within``: it is a file of the directory."""
        try:
            runs = self._stores.runs_of(path, tracker)
        except OSError as error:
            tree.notes.append(Note(path, None, Level.WATCH, reason_of(error)))
            return
        above = directory if within else directory.rpartition("/")[0]
        for run in runs:
            where = above if within or run.name else directory
            tree.candidates.append(
                Candidate(path, where, None, run.size, run.modified, tracker, run.part, run.name)
            )

    def single(self, path: Path, status: os.stat_result) -> list[Candidate]:
        """What a file is that the user has named. Raises LogdirError when it is no log."""
        forms = [f for f in self._formats if f.claims_name(path.name)]
        others = [f for f in self._formats if f not in forms]
        try:
            for tracker in self._trackers:
                if tracker.claims_name(path.name) and self._stores.claims(tracker, path):
                    return [
                        Candidate(path, "", None, r.size, r.modified, tracker, r.part, r.name)
                        for r in self._stores.runs_of(path, tracker)
                    ]
            for form in (*forms, *others):  # the user may have called a console log anything
                if self.heads.claims(form, path, status):
                    return [Candidate(path, "", form, status.st_size, status.st_mtime)]
        except OSError as error:
            raise LogdirError(path, reason_of(error)) from error
        reason = self.heads.refusal(forms[0], path)[0] if forms else ""
        raise LogdirError(path, reason or "not a log that rltui can read")


def _modified(entry: os.DirEntry[str]) -> float:
    try:
        return entry.stat().st_mtime
    except OSError:
        return 0.0


def in_checkpoint(path: Path) -> bool:
    """Whether a file lies in a checkpoint, which a later one may take the place of."""
    return _CHECKPOINT.fullmatch(path.parent.name) is not None


def pruned(name: str) -> bool:
    """Whether a directory of this name is passed over."""
    return _PRUNED.fullmatch(name) is not None


def why(error: OSError | ValueError) -> str:
    """Why a path cannot be looked at, for people."""
    return MISSING if isinstance(error, FileNotFoundError) else reason_of(error)


def reason_of(error: OSError | ValueError) -> str:
    """Why something cannot be read, for people."""
    detail = error.strerror if isinstance(error, OSError) else str(error)
    return f"cannot be read: {clean(detail or type(error).__name__)}"
