"""What is asked about files on another host, and the answers: ASK, ANSWER, AGAIN, KEPT."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from rltui.core.batch import RunKey
from rltui.remote.wire.framing import Frame
from rltui.remote.wire.record import (
    Record,
    WireError,
    dump,
    key_of,
    number_of,
    path_of,
    row_of,
    whole_of,
)

#: Names of a directory, bytes of all of them, and bytes of one read, at most.
MOST_NAMES, MOST_NAME_BYTES, MOST_READ = 50_000, 2 << 20, 1 << 20
_MOST_FILES = 1 << 20
_MOST_WHOLE = 1 << 62
_SIZE = struct.Struct("<I")


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
