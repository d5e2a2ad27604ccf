"""Searches a logdir for files that a log format claims, and for stores of trackers.

Reads directories and the beginnings of files, each file only until it is decided, and remembers
what it has learned. A directory of ten thousand shards or checkpoints costs the time to list it:
names are checked first, and of many files of one kind only the first are opened.

A console log may have any name that people give to texts. Of most trees such files are something
else: texts of a data set, notes, licences. So few of them are opened, and only one that plainly is
a log becomes a run; of all others no word is said.
"""

from __future__ import annotations

import os
import stat
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from rltui.core.address import is_remote
from rltui.files.disk import KERNEL, Entry, Mounts, Status, expect, file_id, listing, opened
from rltui.files.disk import status as status_of
from rltui.files.trouble import MISSING, is_missing, reason_of
from rltui.formats.base import HEAD_BYTES, Format, Options
from rltui.formats.line_decoder import NO_ROWS, figure_lines
from rltui.sources.discovery.log_head import EndSigns, HeadReader
from rltui.sources.discovery.places import is_leaving, is_tracker_log, unrotated
from rltui.sources.discovery.run_files import (
    CHECKPOINT,
    CHECKPOINT_LOG,
    PRUNED,
    EmptyLogError,
    FoundStores,
    LogdirError,
    LogFile,
    SearchStoppedError,
    Tree,
    content_of,
)
from rltui.trackers import TrackedRun, Tracker

#: Files whose names say nothing, of one directory and suffix, and of one walk, that are opened
#: without being logs.
MOST_ALIKE_STRANGERS = 40
MOST_STRANGERS = 200
#: Directories that a server may be asked for at once.
_EXPECTED = 100
_ELSEWHERE = "looks like a database of a tracker, which is read from a local disk only"


class Walker:
    """Remembers from one walk to the next what was learned about files. Not thread-safe."""

    def __init__(
        self,
        formats: Sequence[Format],
        trackers: Sequence[Tracker],
        options: Options,
        ends: EndSigns | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        """``stopped``: whether a walk is to end by SearchStoppedError."""
        self._stopped = stopped
        self.formats = tuple(formats)
        self.trackers = tuple(trackers)
        self.heads = HeadReader(options, ends)
        self.stores = FoundStores()

    def begin_search(self) -> None:
        """Begin a search of all logdirs: forget files that the last one did not see."""
        self.heads.begin_search()
        self.stores.begin_search()

    def go_on(self) -> None:
        """Raise SearchStoppedError when nobody waits for the walk any more."""
        if self._stopped():
            raise SearchStoppedError

    def claims_name(self, name: str) -> bool:
        """Whether a file of this name may be a log or a store."""
        owners: tuple[Format | Tracker, ...] = (*self.formats, *self.trackers)
        return any(owner.claims_name(name) for owner in owners)

    def single(self, path: Path, status: Status, *, named: bool = True) -> list[LogFile]:
        """The logs in a single file, which is searched further if the user has ``named`` it.

        Raises LogdirError when it is no log.
        """
        forms = [f for f in self.formats if f.claims_name(path.name)]
        others = [f for f in self.formats if f not in forms]
        try:
            for tracker in self.trackers:
                if tracker.claims_name(path.name) and self.stores.claims(tracker, path):
                    return [_run_of(path, tracker, r) for r in self.stores.runs_of(path, tracker)]
            found = self.heads.format_of((*forms, *others), path, status, named=named)
            if found is None and named:  # the user may have called a console log anything
                found = self.heads.format_between((*forms, *others), path, status, named=True)
            if found is None:
                raise self._not_understood(path, forms, others)
        except OSError as error:
            raise LogdirError(path, reason_of(error)) from error
        return [LogFile(path, found, size=status.st_size, modified=status.st_mtime)]

    def _not_understood(
        self, path: Path, forms: Sequence[Format], others: Sequence[Format]
    ) -> LogdirError:
        """The error for a file that the user names and no format reads: what it holds, and what was
        tried, the formats of its name first. Raises OSError."""
        own = (self.heads.answer(form, path) for form in self.formats)
        if reason := next((answer.reason for answer in own if answer.own), ""):
            return LogdirError(path, reason)
        found = content_of(path)
        if not found:
            return EmptyLogError(path)

        answers = [(form.name, self.heads.answer(form, path).reason) for form in reversed(forms)]
        with opened(path) as read:
            figures = figure_lines(read(HEAD_BYTES, 0))

        if figures is not None and not any("became no rows" in reason for _, reason in answers):
            found = f"{found}; {figures.lost(NO_ROWS)}"
        names = [f"{name} ({reason})" if reason else name for name, reason in answers]
        tried = ", ".join([*names, *(form.name for form in others)])
        return LogdirError(path, f"{found}; formats tried: {tried}")


def _run_of(path: Path, tracker: Tracker, run: TrackedRun, directory: str = "") -> LogFile:
    return LogFile(
        path,
        size=run.size,
        modified=run.modified,
        tracker=tracker,
        part=run.part,
        directory=directory,
        title=run.name,
    )


# -- one walk -----------------------------------------------------------------------------------


@dataclass(slots=True)
class Directory:
    """A directory to be searched."""

    path: Path
    name: str
    """Relative to the logdir."""
    depth: int
    logs: int = 0
    """Logs that were found in it."""
    opened: Counter[str] = field(default_factory=Counter)
    """Suffix -> files that were opened."""
    claimed: set[str] = field(default_factory=set)
    """Suffixes of files that are logs."""


class Found(NamedTuple):
    """A regular file that may be a log by its name."""

    directory: Directory
    path: Path
    status: Status
    forms: list[Format]
    """The formats that claim its name."""


class Walk:
    """One walk through the directories below one logdir, except what was seen already."""

    most_depth = 64
    #: Of files of one directory and suffix this many are opened, the newest; if there are more,
    #: and none of them is a log, the others are shards of a dataset, or logs of something else.
    most_alike = 40
    #: Whether files whose names say nothing are opened.
    knows_strangers = True

    def __init__(self, walker: Walker, logdir: Path, tree: Tree) -> None:
        """``tree`` takes up what is found, beside files and names."""
        self.files: list[LogFile] = []
        self.names: set[str] = set()
        """Names of all directories, relative to the logdir."""
        self.tree = tree
        self._walker = walker
        self._pending = deque([Directory(logdir, "", 0)])
        self._linked: deque[Directory] = deque()
        """Directories behind links come last, so that a real path gives the name."""
        self._linked_files: list[tuple[Directory, Entry]] = []
        """Files behind links, which come at the very end for the same reason."""
        self._follows_files = False
        """Whether it is their turn."""
        self._kernel: dict[int, bool] = {}
        """Device -> whether it is a file system of the kernel."""
        self._later: list[Found] = []
        """Logs by their names whose rows may lie further than where they were searched."""
        self._strangers: Counter[tuple[Path, str]] = Counter()
        """Files whose names say nothing that were opened in vain, by directory and suffix."""

    def run(self) -> None:
        """Walk; raises LogdirError when the logdir itself cannot be read."""
        while (self._pending or self._linked) and not self._is_over():
            self._search(self._pending.popleft() if self._pending else self._linked.popleft())
        self._follows_files = True
        for directory, entry in self._linked_files:
            self._visit(directory, entry)
        self._search_between()

    def _search_between(self) -> None:
        """Search the logs without rows so far, the one that changed last first."""
        for found in sorted(self._later, key=lambda f: f.status.st_mtime, reverse=True):
            self._walker.go_on()
            if self._was_seen(found.status):
                continue
            form = None
            try:
                form = self._walker.heads.format_between(found.forms, found.path, found.status)
            except OSError as error:
                self.tree.trouble(found.path, reason_of(error))
            self._judged(found, form)

    def _was_seen(self, status: Status) -> bool:
        return file_id(status) in self.tree.seen

    def _note_seen(self, status: Status) -> None:
        self.tree.seen.add(file_id(status))

    # -- how much of it; a bounded walk does less ---------------------------------------------

    def _is_over(self) -> bool:
        """Whether to stop early."""
        return False

    def _entries(self, path: Path) -> list[Entry]:
        return sorted(listing(path), key=lambda e: e.name)

    def _in_order(self, entries: list[Entry]) -> Iterable[Entry]:
        """Order the entries: of many files of one kind the newest first, as only some of them are
        opened."""
        kinds: dict[str, list[Entry]] = {}
        for entry in entries:
            kinds.setdefault(_suffix(entry.name), []).append(entry)

        for kind in kinds.values():
            if len(kind) > self.most_alike and self._walker.claims_name(kind[0].name):
                kind.sort(key=_modified, reverse=True)
        return chain.from_iterable(kinds.values())

    def _enters(self, entry: Entry) -> bool:
        """Whether to search a directory."""
        return PRUNED.fullmatch(entry.name) is None

    def _claim(self, found: Found) -> Format | None:
        """The format that claims a file of a fitting name. Raises OSError."""
        found.directory.opened[_suffix(found.path.name)] += 1
        return self._walker.heads.format_of(found.forms, found.path, found.status)

    # -- one directory ------------------------------------------------------------------------

    def _search(self, directory: Directory) -> None:
        self._walker.go_on()
        path = directory.path
        entries = self._listed(directory)
        if entries is None:
            return

        names = {e.name for e in entries}
        remote = is_remote(path)
        for tracker in self._walker.trackers:
            if not (remote and tracker.local_only) and tracker.claims_directory(path, names):
                self._store(path, directory.name, tracker, within=False)
                return

        for entry in self._in_order(entries):
            self._visit(directory, entry)
        if CHECKPOINT_LOG in names:
            return

        # the state of the training is in its newest checkpoint
        matches = (CHECKPOINT.fullmatch(name) for name in names)
        forms = [f for f in self._walker.formats if f.claims_name(CHECKPOINT_LOG)]
        for number in sorted((int(m.group(1)) for m in matches if m), reverse=True):
            log = path / f"checkpoint-{number}" / CHECKPOINT_LOG
            try:
                status = status_of(log)
                form = self._walker.heads.format_of(forms, log, status)
            except OSError:
                continue  # being written, or one of another framework
            if form is not None:
                self._add(directory, log, form, status)
                return

    def _listed(self, directory: Directory) -> list[Entry] | None:
        """The names in a directory; None when it is not to be searched, or cannot be read."""
        path = directory.path
        within = directory.depth > 0
        if is_remote(path):
            following = (d.path for d in islice(self._pending, _EXPECTED))
            formats = [f for f in self._walker.formats if not f.name_decides]
            expect([path, *following], lambda name: any(f.claims_name(name) for f in formats))

        try:
            status = status_of(path)
            if self._was_seen(status):
                return None
            self._note_seen(status)
            device = status.st_dev
            if within and device not in self._kernel:
                inside = not is_remote(path) and Mounts().kind_of(path) in KERNEL
                self._kernel[device] = inside
            if within and self._kernel[device]:  # by a link or a mount: its files may have no end
                return None
            entries = self._entries(path)
        except OSError as error:
            if not within:
                raise LogdirError(path, why(error)) from error
            if not isinstance(error, FileNotFoundError):  # else deleted since it was listed
                self.tree.trouble(path, reason_of(error))
            return None

        self.tree.directories.append((path, status.st_mtime_ns))
        return entries

    def _visit(self, directory: Directory, entry: Entry) -> None:
        """Sort one entry of a directory into the tree, or note why it cannot be read."""
        self._walker.go_on()
        path = directory.path / entry.name
        name = directory.name
        try:
            if not entry.is_dir():
                if entry.is_symlink() and not self._follows_files:
                    self._linked_files.append((directory, entry))
                elif is_tracker_log(path):  # it may say what of another log is missing
                    status = entry.stat()
                    if not self._was_seen(status):
                        self._note_seen(status)
                        self.tree.note_dropped(path, status)
                elif not is_leaving(entry.name):
                    self._sort(directory, path, entry)
            elif directory.depth < self.most_depth and self._enters(entry):
                child = f"{name}/{entry.name}" if name else entry.name
                self.names.add(child)
                later = self._linked if entry.is_symlink() else self._pending
                later.append(Directory(path, child, directory.depth + 1))
        except OSError as error:
            # a name without a file was deleted since it was listed; a link leads nowhere
            if not isinstance(error, FileNotFoundError) or entry.is_symlink():
                self.tree.trouble(path, reason_of(error))

    def _sort(self, directory: Directory, path: Path, entry: Entry) -> None:
        name = unrotated(path)[0].name
        walker = self._walker
        forms = [f for f in walker.formats if f.claims_name(name)]
        trackers = [t for t in walker.trackers if t.claims_name(name)]
        if not forms and not trackers:
            if self.knows_strangers:
                self._stranger(directory, path, entry)
            return

        suffix = _suffix(name)
        if directory.opened[suffix] >= self.most_alike and suffix not in directory.claimed:
            self.tree.refused_count += not all(f.is_common(name) for f in forms)
            return

        if is_remote(path) and not forms:
            self.tree.refuse(path, _ELSEWHERE)
            return
        status = entry.stat()
        if stat.S_ISREG(status.st_mode) and not self._was_seen(status):
            self._log_or_store(Found(directory, path, status, forms), trackers)

    def _log_or_store(self, found: Found, trackers: Sequence[Tracker]) -> None:
        """Add a regular file whose name fits some formats or ``trackers``."""
        path = found.path
        walker = self._walker
        here = () if is_remote(path) else trackers
        tracker = next((t for t in here if walker.stores.claims(t, path)), None)
        if tracker is not None:
            self._note_seen(found.status)
            self._store(path, found.directory.name, tracker, within=True)
        elif found.forms:
            self._file(found)
        else:
            names = " or ".join(t.name for t in trackers)
            self.tree.refuse(path, f"is no database of {names}, or damaged")

    def _stranger(self, directory: Directory, path: Path, entry: Entry) -> None:
        """Add a file whose name says nothing if it plainly is a log. No note is made of one that
        cannot be read."""
        forms = [f for f in self._walker.formats if f.may_have_name(entry.name)]
        kind = directory.path, _suffix(entry.name)
        spent = self._strangers.total() >= MOST_STRANGERS
        if spent or self._strangers[kind] >= MOST_ALIKE_STRANGERS or not forms or is_remote(path):
            return

        form = None
        with suppress(OSError):
            status = entry.stat()
            if not (stat.S_ISREG(status.st_mode) and status.st_size):
                return
            form = self._walker.heads.format_of_stranger(forms, path, status)

        if form is None:
            self._strangers[kind] += 1
        elif not self._was_seen(status):
            self._judged(Found(directory, path, status, [form]), form)

    def _file(self, found: Found) -> None:
        form = self._claim(found)
        anywhere = any(f.anywhere for f in found.forms)
        if form is None and found.status.st_size > HEAD_BYTES and anywhere:
            self._later.append(found)
        else:
            self._judged(found, form)

    def _judged(self, found: Found, form: Format | None) -> None:
        """Sort a file into the tree that ``form`` claims, or no format."""
        directory = found.directory
        path = found.path
        status = found.status
        if form is not None:
            self._note_seen(status)
            directory.logs += 1
            directory.claimed.add(_suffix(path.name))
            self._add(directory, path, form, status)
            return

        answers = [(f, self._walker.heads.answer(f, path)) for f in reversed(found.forms)]
        said = [a for f, a in answers if a.lost or a.own or not f.is_common(path.name)]
        said.sort(key=lambda answer: not answer.lost)
        if said and said[0].reason:
            self.tree.refuse(path, said[0].reason, lost=said[0].lost)
        if not all(answer.decided for _, answer in answers):
            self.tree.unclaimed.append(path)

    def _add(self, directory: Directory, path: Path, form: Format, status: Status) -> None:
        answer = self._walker.heads.answer(form, path)
        self.files.append(
            LogFile(
                path,
                form,
                size=status.st_size,
                modified=status.st_mtime,
                directory=form.home(directory.name, path),
                rowless=answer.rowless,
                beside=answer.beside,
                begin=unrotated(path)[1],
                title=self._walker.heads.title(form, path, status),
            )
        )

    def _store(self, path: Path, directory: str, tracker: Tracker, *, within: bool) -> None:
        """Add the runs of a tracker's store; ``within``: it is a file of the directory."""
        try:
            runs = self._walker.stores.runs_of(path, tracker)
        except OSError as error:
            self.tree.trouble(path, reason_of(error))
            return

        above = directory if within else directory.rpartition("/")[0]
        for run in runs:
            where = above if within or run.name else directory
            self.files.append(_run_of(path, tracker, run, where))


def why(error: OSError | ValueError) -> str:
    """Why a path cannot be searched, for people."""
    return MISSING if is_missing(error) else reason_of(error)


def _suffix(name: str) -> str:
    return os.path.splitext(name)[1]  # noqa: PTH122 - a Path costs ten times as much


def _modified(entry: Entry) -> float:
    try:
        return entry.stat().st_mtime
    except OSError:
        return 0.0
