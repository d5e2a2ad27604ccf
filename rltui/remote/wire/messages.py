"""The small messages of a stream: what is asked for, and how the far side is doing."""

from __future__ import annotations

import errno
import math
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

from rltui.core.batch import Note, RunKey
from rltui.remote.wire.framing import Frame
from rltui.remote.wire.record import (
    Record,
    WireError,
    dump,
    key_of,
    note_of,
    note_row,
    number_of,
    path_of,
    row_of,
    text_of,
    whole_of,
)
from rltui.sources.follow.schedule import Intervals, Watching

#: What a far side may be able to do, see :attr:`Hello.can`: answer ASK, and AGAIN.
FILES, AGAIN = "files", "again"
#: Notes about directories and files of no run.
MOST_NOTES = 1000
_MOST_RUNS = 1 << 20
#: Names of a directory, bytes of all of them, and bytes of one read, at most.
MOST_NAMES, MOST_NAME_BYTES, MOST_READ = 50_000, 2 << 20, 1 << 20
_MOST_FILES = 1 << 20
_MOST_WHOLE = 1 << 62
_SIZE = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class Hello:
    """The far side introduces itself."""

    rltui: str
    """Its version."""
    logdirs: tuple[Path, ...]
    """The paths that it was given, with the home directory in place of ``~``."""
    now: float
    """What its clock says, seconds since the epoch."""
    can: tuple[str, ...] = ()
    """What it answers beside the first version of the protocol: :data:`FILES`, :data:`AGAIN`."""

    def dump(self) -> bytes:
        """As a payload."""
        logdirs = list(map(str, self.logdirs))
        record = {"rltui": self.rltui, "logdirs": logdirs, "now": self.now}
        return dump({**record, "can": list(self.can)})

    @staticmethod
    def load(frame: Frame) -> Hello:
        """From a payload. Raises WireError."""
        record = Record.load(frame.payload)
        logdirs = record.items("logdirs", path_of, 1 << 16)
        can = record.items("can", text_of, 1 << 8)
        return Hello(record.text("rltui"), logdirs, record.number("now"), can)

    def lacks(self, ability: str) -> str:
        """Why something cannot be asked of it; empty where it can."""
        if ability in self.can:
            return ""
        why = f"rltui {self.rltui} there is too old for this"
        return f"{why}: install the same version on both sides"


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be read, and how."""

    step_keys: tuple[str, ...] = ()
    verify: bool = False
    waits: bool = False
    chooses: bool = False
    """Whether runs are chosen among those found, see FOUND and CHOSEN."""
    watch: Watching = field(default_factory=Intervals)
    known: int = 0
    """How many batches without content follow."""

    def dump(self) -> bytes:
        """As a payload."""
        watch = self.watch
        return dump(
            {
                "step_keys": list(self.step_keys),
                "verify": self.verify,
                "waits": self.waits,
                "chooses": self.chooses,
                "watch": [watch.fast_s, watch.slow_s, watch.rescan_s, bool(watch.inotify)],
                "known": self.known,
            }
        )

    @staticmethod
    def load(frame: Frame) -> Request:
        """From a payload. Raises WireError."""
        record = Record.load(frame.payload)
        return Request(
            record.items("step_keys", text_of, 1 << 12),
            record.flag("verify"),
            record.flag("waits"),
            record.flag("chooses"),
            _intervals(record.get("watch")),
            record.whole("known"),
        )


def _intervals(value: object) -> Intervals:
    if not isinstance(value, list) or len(value) != 4:
        raise WireError("intervals were expected")
    numbers = [x for x in value[:3] if isinstance(x, (int, float)) and 0.01 <= x < math.inf]
    if len(numbers) < 3:
        raise WireError("an interval is out of bounds")
    fast_s, slow_s, rescan_s = map(float, numbers)
    return Intervals(fast_s, slow_s, rescan_s, inotify=bool(value[3]))


@dataclass(frozen=True, slots=True)
class State:
    """How far the far side is; None where nothing has changed."""

    progress: tuple[int, int] | None = None
    """(bytes read, bytes known)."""
    run_count: int | None = None
    notes: tuple[Note, ...] | None = None
    unclaimed: tuple[Note, ...] | None = None

    def since(self, before: State) -> State:
        """What has changed."""
        return State(
            self.progress if self.progress != before.progress else None,
            self.run_count if self.run_count != before.run_count else None,
            self.notes if self.notes != before.notes else None,
            self.unclaimed if self.unclaimed != before.unclaimed else None,
        )

    def dump(self) -> bytes:
        """As a payload."""
        record: dict[str, object] = {}
        if self.progress is not None:
            record["progress"] = list(self.progress)
        if self.run_count is not None:
            record["runs"] = self.run_count
        if self.notes is not None:
            record["notes"] = _note_rows(self.notes)
        if self.unclaimed is not None:
            record["unclaimed"] = _note_rows(self.unclaimed)
        return dump(record)

    @staticmethod
    def load(frame: Frame) -> State:
        """From a payload. Raises WireError."""
        record = Record.load(frame.payload)
        progress = None
        if "progress" in record:
            read, known = row_of(record.get("progress"), 2)
            progress = _size(read), _size(known)
        return State(
            progress,
            record.maybe_whole("runs"),
            record.items("notes", note_of) if "notes" in record else None,
            record.items("unclaimed", note_of) if "unclaimed" in record else None,
        )


def _note_rows(notes: Sequence[Note]) -> list[list[object]]:
    """As many notes as anybody will read, and how many others there are."""
    rows = [note_row(note) for note in notes[:MOST_NOTES]]
    if len(notes) > MOST_NOTES:
        last, more = notes[MOST_NOTES], len(notes) - MOST_NOTES
        rows.append(note_row(replace(last, offset=None, message=f"and {more:,} more such notes")))
    return rows


def dump_found(keys: Sequence[RunKey]) -> bytes:
    """The runs that a search has found."""
    return dump({"runs": [[key.logdir, key.name] for key in keys]})


def load_found(frame: Frame, logdirs: int) -> tuple[RunKey, ...]:
    """The runs that a search of so many logdirs has found. Raises WireError."""
    found = Record.load(frame.payload).items("runs", key_of, _MOST_RUNS)
    if any(key.logdir >= logdirs for key in found):
        raise WireError("a run is of no logdir")
    return found


def dump_chosen(numbers: Sequence[int]) -> bytes:
    """Which of them are to be read, by their positions."""
    return dump({"chosen": list(numbers)})


def load_chosen(frame: Frame) -> tuple[int, ...]:
    """Which of them are to be read. Raises WireError."""
    return Record.load(frame.payload).items("chosen", _size, _MOST_RUNS)


def dump_error(text: str, *, bad_path: bool) -> bytes:
    """Why nothing more comes; ``bad_path``: a path is missing or no log."""
    return dump({"text": text, "bad_path": bad_path})


def load_error(frame: Frame) -> tuple[str, bool]:
    """Why nothing more comes, and whether a path is missing or no log. Raises WireError."""
    record = Record.load(frame.payload)
    return record.text("text"), record.flag("bad_path")


def dump_read(*, follow: bool) -> bytes:
    """Begin to read; ``follow``: go on at the end of the files."""
    return dump({"follow": follow})


def load_read(frame: Frame) -> bool:
    """Whether to follow. Raises WireError."""
    return Record.load(frame.payload).flag("follow")


def _size(value: object) -> int:
    return whole_of(value, 0, 1 << 62)


class What(Enum):
    """What can be asked about a path."""

    STATUS = "status"
    NAMES = "names"
    BYTES = "bytes"


class Sort(Enum):
    """What there is at a path. In a directory a link to a directory counts as something else, so
    that nobody goes round in circles."""

    FILE = "file"
    DIRECTORY = "directory"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Question:
    """About one path there, which may begin with ``~``."""

    what: What
    path: str
    begin: int = 0
    size: int = 0
    """Of the bytes that are wanted, at most :data:`MOST_READ`."""

    def dump(self) -> bytes:
        """As a payload."""
        record = {"what": self.what.value, "path": self.path}
        return dump({**record, "begin": self.begin, "size": self.size})

    @staticmethod
    def load(frame: Frame) -> Question:
        """From a payload. Raises WireError."""
        record = Record.load(frame.payload)
        try:
            what = What(record.get("what"))
        except ValueError:
            raise WireError("no such question") from None
        path = os.fspath(record.path("path"))
        size = record.whole("size", high=MOST_READ)
        return Question(what, path, record.whole("begin"), size)


@dataclass(frozen=True, slots=True)
class Answer:
    """Of one question; what it does not concern is empty."""

    sort: Sort = Sort.OTHER
    size: int = 0
    """Of the file, bytes."""
    modified_ns: int = 0
    """Nanoseconds since the epoch."""
    names: Sequence[tuple[str, Sort]] = ()
    data: bytes = b""
    error: OSError | None = None

    def dump(self) -> bytes:
        """As a payload: a record, and the bytes that were asked for."""
        record: dict[str, object] = {"sort": self.sort.value}
        if self.error is not None:
            code = errno.errorcode.get(self.error.errno or 0, "EIO")
            record = {"error": code, "text": self.error.strerror or str(self.error)}
        else:
            record |= {"size": self.size, "modified": self.modified_ns}
            record["names"] = [[name, sort.value] for name, sort in self.names]
        head = dump(record)
        return b"".join((_SIZE.pack(len(head)), head, self.data))

    @staticmethod
    def load(frame: Frame) -> Answer:
        """From a payload. Raises WireError."""
        payload = frame.payload
        end = _SIZE.size + (_SIZE.unpack_from(payload)[0] if len(payload) >= _SIZE.size else 0)
        if len(payload) < end or len(payload) < _SIZE.size:
            raise WireError("an answer is cut off")
        record = Record.load(payload[_SIZE.size : end])
        if "error" in record:
            number = getattr(errno, record.text("error"), errno.EIO)
            code = number if isinstance(number, int) else errno.EIO
            return Answer(error=OSError(code, record.text("text")))
        return Answer(
            _sort_of(record.get("sort")),
            record.whole("size"),
            record.whole("modified", low=-_MOST_WHOLE),
            record.items("names", _name_of, MOST_NAMES),
            payload[end:],
        )


def _sort_of(value: object) -> Sort:
    try:
        return Sort(value)
    except ValueError:
        raise WireError("no such sort of file") from None


def _name_of(value: object) -> tuple[str, Sort]:
    name, sort = row_of(value, 2)
    if not isinstance(name, str) or name in ("", ".", "..") or "/" in name or "\0" in name:
        raise WireError("a name was expected")
    return name, _sort_of(sort)


@dataclass(frozen=True, slots=True)
class KnownFile:
    """How far a file was read."""

    path: Path
    offset: int
    modified: float
    """Seconds since the epoch."""
    finished: bool
    """Whether its last line was read without its end."""


@dataclass(frozen=True, slots=True)
class Again:
    """A run that is to be read again as far as it was read."""

    run: RunKey
    files: tuple[KnownFile, ...]

    def dump(self, *, only_ask: bool) -> bytes:
        """As a payload; ``only_ask``: nothing is read yet."""
        files = [[str(f.path), f.offset, f.modified, f.finished] for f in self.files]
        run = [self.run.logdir, self.run.name]
        return dump({"run": run, "files": files, "only_ask": only_ask})

    @staticmethod
    def load(frame: Frame) -> tuple[Again, bool]:
        """From a payload, and whether nothing is to be read yet. Raises WireError."""
        record = Record.load(frame.payload)
        files = record.items("files", _known_file_of, _MOST_FILES)
        return Again(key_of(record.get("run")), files), record.flag("only_ask")


def _known_file_of(value: object) -> KnownFile:
    path, offset, modified, finished = row_of(value, 4)
    if not isinstance(finished, bool):
        raise WireError("neither true nor false")
    return KnownFile(path_of(path), whole_of(offset, 0, _MOST_WHOLE), number_of(modified), finished)


def dump_kept(*, kept: bool) -> bytes:
    """Whether the files still hold all that was read."""
    record: Mapping[str, object] = {"kept": kept}
    return dump(record)


def load_kept(frame: Frame) -> bool:
    """Whether the files still hold all that was read. Raises WireError."""
    return Record.load(frame.payload).flag("kept")
