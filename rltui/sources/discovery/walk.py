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
from itertools import islice
from pathlib import Path

from rltui.core.address import is_remote
from rltui.files.disk import Entry, Mounts, Status, expect, is_spent, listing, opened
from rltui.files.disk import status as status_of
from rltui.files.trouble import MISSING, is_missing, reason_of
from rltui.formats import HEAD_BYTES, Format, Options
from rltui.formats.last_line import NO_ROWS, figure_lines
from rltui.sources.discovery.log_head import EndSigns, HeadReader
from rltui.sources.discovery.run_files import (
    CHECKPOINT,
    CHECKPOINT_LOG,
    Candidate,
    EmptyLogError,
    FoundStores,
    LogdirError,
    Place,
    SearchStoppedError,
    Tree,
    pruned,
)
from rltui.trackers import Tracker

#: Files whose names say nothing, of one directory and suffix, and of one walk, that are opened
#: without being logs.
MOST_ALIKE_STRANGERS, MOST_STRANGERS = 40, 200
#: Bytes of a file that is not understood whose lines are counted, and of one piece of them.
_MOST_BYTES, _MOST_REMOTE_BYTES, _PIECE = 64 << 20, 1 << 20, 1 << 20
#: Directories that a server may be asked for at once.
_EXPECTED = 100
_ELSEWHERE = "looks like a database of a tracker, which is read from a local disk only"


class Walker:
    """Walks trees again and again and remembers what it has learned. Not thread-safe."""

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

    def turn(self) -> None:
        """A search of all logdirs begins: forget files that the last one did not see."""
        self.heads.turn()
        self.stores.turn()

    def go_on(self) -> None:
        """Raise SearchStoppedError when nobody waits for the walk any more."""
        if self._stopped():
            raise SearchStoppedError

    def claims_name(self, name: str) -> bool:
        """Whether a file of this name may be a log or a store."""
        return any(f.claims_name(name) for f in self.formats) or any(
            t.claims_name(name) for t in self.trackers
        )

    def walk(self, logdir: Path, seen: set[tuple[int, int]]) -> Tree:
        """Walk a tree, except what was ``seen`` (device, inode) already.

        Raises LogdirError when the logdir itself cannot be read.
        """
        return Walk(self, logdir, seen).run()

    def single(self, path: Path, status: Status, *, named: bool = True) -> list[Candidate]:
        """What a single file is; it is searched further when the user has ``named`` it.

        Raises LogdirError when it is no log.
        """
        forms = [f for f in self.formats if f.claims_name(path.name)]
        others = [f for f in self.formats if f not in forms]
        try:
            for tracker in self.trackers:
                if tracker.claims_name(path.name) and self.stores.claims(tracker, path):
                    return [
                        Candidate(path, "", None, r.size, r.modified, tracker, r.part, r.name)
                        for r in self.stores.runs_of(path, tracker)
                    ]
            found = self.heads.format_of((*forms, *others), path, status, named=named)
            if found is None and named:  # the user may have called a console log anything
                found = self.heads.format_further((*forms, *others), path, status, named=True)
            if found is not None:
                return [Candidate(path, "", found, status.st_size, status.st_mtime)]
            raise self._not_understood(path, forms, others)
        except OSError as error:
            raise LogdirError(path, reason_of(error)) from error

    def _not_understood(
        self, path: Path, forms: Sequence[Format], others: Sequence[Format]
    ) -> LogdirError:
        """The error for a file that the user names and no format reads: what it holds, and what was
        tried, the formats of its name first. Raises OSError."""
        answers = [(form.name, self.heads.answer(form, path)) for form in reversed(forms)]
        own = (self.heads.answer(form, path) for form in self.formats)
        if reason := next((answer.reason for answer in own if answer.own), ""):
            return LogdirError(path, reason)
        found = _content(path)
        if not found:
            return EmptyLogError(path)
        with opened(path) as read:
            figures = figure_lines(read(HEAD_BYTES, 0))
        if figures is not None and not any("became no rows" in a.reason for _, a in answers):
            found = f"{found}; {figures.lost(NO_ROWS)}"
        names = [f"{name} ({a.reason})" if a.reason else name for name, a in answers]
        tried = ", ".join([*names, *(form.name for form in others)])

        return LogdirError(path, f"{found}; formats tried: {tried}")


class Walk:
    """One walk through one tree."""

    most_depth = 64
    #: Of files of one directory and suffix this many are opened, the newest; if there are more,
    #: and none of them is a log, the others are shards of a dataset, or logs of something else.
    most_alike = 40
    #: Whether files whose names say nothing are opened.
    knows_strangers = True

    def __init__(self, walker: Walker, logdir: Path, seen: set[tuple[int, int]]) -> None:
        self.tree = Tree()
        self._walker = walker
        self._seen = seen
        self._pending = deque([Place(logdir, "", 0)])
        self._linked: deque[Place] = deque()
        """Directories behind links come last, so that a real path gives the name."""
        self._kernel: dict[int, bool] = {}
        """Device -> whether it is a file system of the kernel."""
        self._later: list[tuple[Place, Path, Status, list[Format]]] = []
        """Logs by their names whose rows may lie further than where they were searched."""
        self._strangers: Counter[tuple[Path, str]] = Counter()
        """Files whose names say nothing that were opened in vain, by directory and suffix."""

    def run(self) -> Tree:
        """Walk; raises LogdirError when the logdir itself cannot be read."""
        while (self._pending or self._linked) and not self._is_over():
            self._search(self._pending.popleft() if self._pending else self._linked.popleft())
        self._search_further()
        return self.tree

    def _search_further(self) -> None:
        """Search the logs without rows so far, the one that changed last first."""
        later = sorted(self._later, key=lambda entry: entry[2].st_mtime, reverse=True)
        for place, path, status, forms in later:
            self._walker.go_on()
            form = None
            if (status.st_dev, status.st_ino) in self._seen:
                continue
            try:
                form = self._walker.heads.format_further(forms, path, status)
            except OSError as error:
                self.tree.trouble(path, reason_of(error))
            self._claimed(place, path, status, forms, form)

    # -- how much of it; a bounded walk does less ---------------------------------------------

    def _is_over(self) -> bool:
        """Whether to stop early."""
        return False

    def _entries(self, path: Path) -> list[Entry]:
        return sorted(listing(path), key=lambda e: e.name)

    def _in_order(self, entries: list[Entry]) -> Iterable[Entry]:
        """Of many files of one kind the newest first: some of them are opened, not all."""
        kinds: dict[str, list[Entry]] = {}
        for entry in entries:
            kinds.setdefault(_suffix(entry.name), []).append(entry)
        out = []
        for kind in kinds.values():
            if len(kind) > self.most_alike and self._walker.claims_name(kind[0].name):
                kind.sort(key=_modified, reverse=True)
            out += kind
        return out

    def _enters(self, entry: Entry) -> bool:
        """Whether to search a directory."""
        return not pruned(entry.name)

    def _claim(
        self, place: Place, path: Path, status: Status, forms: list[Format]
    ) -> Format | None:
        """The format that claims a file of a fitting name. Raises OSError."""
        suffix = _suffix(path.name)
        place.opened[suffix] = place.opened.get(suffix, 0) + 1
        return self._walker.heads.format_of(forms, path, status)

    def _is_kernel(self, path: Path, device: int) -> bool:
        """Whether a link or a mount leads into the kernel, whose files may have no end."""
        known = self._kernel.get(device)
        if known is None:
            known = self._kernel[device] = not is_remote(path) and Mounts().is_kernel(path)
        return known

    # -- one directory ------------------------------------------------------------------------

    def _search(self, place: Place) -> None:
        self._walker.go_on()
        entries = self._listed(place)
        if entries is None:
            return
        names = {e.name for e in entries}
        trackers = self._walker.trackers
        if is_remote(place.path):
            trackers = tuple(t for t in trackers if not t.local_only)
        tracker = next((t for t in trackers if t.claims_directory(place.path, names)), None)
        if tracker is not None:
            self._store(place.path, place.name, tracker, within=False)
            return

        for entry in self._in_order(entries):
            self._visit(place, entry)
        if CHECKPOINT_LOG not in names:
            self._checkpoint(place, names)

    def _listed(self, place: Place) -> list[Entry] | None:
        """The names in a directory; None when it is not to be searched, or cannot be read."""
        path = place.path
        if is_spent(path, begins=not place.depth) and place.depth:
            return None
        if is_remote(path):
            following = (p.path for p in islice(self._pending, _EXPECTED))
            expect([path, *following], self._reads_head)

        try:
            status = status_of(path)
            identity = (status.st_dev, status.st_ino)
            if identity in self._seen:
                return None
            self._seen.add(identity)
            if place.depth and self._is_kernel(path, status.st_dev):
                return None
            entries = self._entries(path)
        except OSError as error:
            if not place.depth:
                raise LogdirError(path, why(error)) from error
            if not isinstance(error, FileNotFoundError):  # else deleted since it was listed
                self.tree.trouble(path, reason_of(error))
            return None

        self.tree.directories.append((path, status.st_mtime_ns))
        return entries

    def _reads_head(self, name: str) -> bool:
        """Whether the beginning of a file of this name is read to know what it is."""
        return any(f.claims_name(name) and not f.name_decides for f in self._walker.formats)

    def _visit(self, place: Place, entry: Entry) -> None:
        """Sort one directory entry into the tree, or note why it cannot be read."""
        self._walker.go_on()
        if is_spent(place.path):
            return
        try:
            if entry.is_dir():
                self._enter(place, entry)
            else:
                self._sort(place, entry)
        except OSError as error:
            # a name without a file was deleted since it was listed; a link leads nowhere
            if not isinstance(error, FileNotFoundError) or entry.is_symlink():
                self.tree.trouble(place.path / entry.name, reason_of(error))

    def _enter(self, place: Place, entry: Entry) -> None:
        """Search a directory later, unless it cannot hold logs of its own."""
        if place.depth < self.most_depth and self._enters(entry):
            child = f"{place.name}/{entry.name}" if place.name else entry.name
            self.tree.names.add(child)
            later = self._linked if entry.is_symlink() else self._pending
            later.append(Place(place.path / entry.name, child, place.depth + 1))

    def _sort(self, place: Place, entry: Entry) -> None:
        name, path = entry.name, place.path / entry.name
        forms = [f for f in self._walker.formats if f.claims_name(name)]
        trackers = [t for t in self._walker.trackers if t.claims_name(name)]
        if not forms and not trackers:
            if self.knows_strangers:
                self._stranger(place, entry)
            return

        suffix = _suffix(name)
        if place.opened.get(suffix, 0) >= self.most_alike and suffix not in place.claimed:
            self.tree.refused_count += not all(f.common for f in forms)
            return

        if trackers and is_remote(path):
            if not forms:
                self.tree.refuse(path, _ELSEWHERE)
                return
            trackers = []

        status = entry.stat()
        if stat.S_ISREG(status.st_mode) and (status.st_dev, status.st_ino) not in self._seen:
            self._log_or_store(place, path, status, forms, trackers)

    def _stranger(self, place: Place, entry: Entry) -> None:
        """A file whose name says nothing: a log if it plainly is one. What cannot be read is
        nobody's loss as long as nothing says that it is a log."""
        forms = [f for f in self._walker.formats if f.may_have_name(entry.name)]
        kind, path = (place.path, _suffix(entry.name)), place.path / entry.name
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
        elif (status.st_dev, status.st_ino) not in self._seen:
            self._claimed(place, path, status, [form], form)

    def _log_or_store(
        self,
        place: Place,
        path: Path,
        status: Status,
        forms: list[Format],
        trackers: Sequence[Tracker],
    ) -> None:
        """A regular file of a name that fits ``forms`` or ``trackers``."""
        stores = self._walker.stores
        tracker = next((t for t in trackers if stores.claims(t, path)), None)
        if tracker is not None:
            self._seen.add((status.st_dev, status.st_ino))
            self._store(path, place.name, tracker, within=True)
        elif not forms:
            names = " or ".join(t.name for t in trackers)
            self.tree.refuse(path, f"is no database of {names}, or damaged")
        else:
            self._file(place, path, status, forms)

    def _file(self, place: Place, path: Path, status: Status, forms: list[Format]) -> None:
        form = self._claim(place, path, status, forms)
        if form is None and status.st_size > HEAD_BYTES and any(f.anywhere for f in forms):
            self._later.append((place, path, status, forms))
        else:
            self._claimed(place, path, status, forms, form)

    def _claimed(
        self,
        place: Place,
        path: Path,
        status: Status,
        forms: list[Format],
        form: Format | None,
    ) -> None:
        """Sort a file into the tree that ``form`` claims, or none of ``forms``."""
        if form is not None:
            self._seen.add((status.st_dev, status.st_ino))
            place.logs += 1
            place.claimed.add(_suffix(path.name))
            self._add(place, path, form, status)
        elif forms:
            found = [(form, self._walker.heads.answer(form, path)) for form in reversed(forms)]
            said = [a for form, a in found if a.lost or a.own or not form.common]
            said.sort(key=lambda answer: not answer.lost)
            if said and said[0].reason:
                self.tree.refuse(path, said[0].reason, lost=said[0].lost)
            if not all(answer.decided for _, answer in found):
                self.tree.unclaimed.append(path)

    def _add(self, place: Place, path: Path, form: Format, status: Status) -> None:
        home = form.home(place.name, path)
        rowless = self._walker.heads.answer(form, path).rowless
        size, modified = status.st_size, status.st_mtime
        found = Candidate(path, home, form, size, modified, rowless=rowless)
        self.tree.candidates.append(found)

    def _checkpoint(self, place: Place, names: set[str]) -> None:
        """The state of the training in its newest checkpoint."""
        matches = (CHECKPOINT.fullmatch(n) for n in names)
        forms = [f for f in self._walker.formats if f.claims_name(CHECKPOINT_LOG)]
        for number in sorted((int(m.group(1)) for m in matches if m), reverse=True):
            path = place.path / f"checkpoint-{number}" / CHECKPOINT_LOG
            try:
                status = status_of(path)
                form = self._walker.heads.format_of(forms, path, status)
            except OSError:
                continue  # being written, or one of another framework
            if form is not None:
                self._add(place, path, form, status)
                return

    def _store(self, path: Path, directory: str, tracker: Tracker, *, within: bool) -> None:
        """The runs of a tracker's store; ``within``: it is a file of the directory."""
        try:
            runs = self._walker.stores.runs_of(path, tracker)
        except OSError as error:
            self.tree.trouble(path, reason_of(error))
            return
        above = directory if within else directory.rpartition("/")[0]
        for run in runs:
            where = above if within or run.name else directory
            self.tree.candidates.append(
                Candidate(path, where, None, run.size, run.modified, tracker, run.part, run.name)
            )


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


def _content(path: Path) -> str:
    """What a file holds, for people; empty when it holds nothing."""
    lines, size, ended, blank = 0, 0, True, True
    most = _MOST_REMOTE_BYTES if is_remote(path) else _MOST_BYTES
    with opened(path) as read:
        while size < most and (piece := read(_PIECE, size)):
            if b"\0" in piece:
                return "holds bytes that are no text"
            blank = blank and not piece.strip()
            lines, size, ended = lines + piece.count(b"\n"), size + len(piece), piece[-1:] == b"\n"
        more = "more than " if size >= most and read(1, size) else ""

    lines += not ended
    if blank:
        return ""
    word = "line" if lines == 1 else "lines"
    return f"{more}{lines:,} {word} of text, no row with a step and numbers was recognised"
