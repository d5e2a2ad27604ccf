"""The far side's answers about its files: status, names, bytes. Regular files only, and bounded."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from rltui.remote.wire.questions import (
    MOST_NAME_BYTES,
    MOST_NAMES,
    MOST_READ,
    Answer,
    Question,
    Sort,
    What,
)

_NOT_REGULAR = "is not a regular file"
_TOO_MANY = f"holds more than {MOST_NAMES:,} names, or very long ones"


def answer(question: Question) -> Answer:
    """What there is; an error of the system is an answer, too."""
    try:
        path = Path(question.path).expanduser()
        if question.what is What.STATUS:
            return _status(path)
        if question.what is What.NAMES:
            return _names(path)
        return _bytes(path, question.begin, min(question.size, MOST_READ))
    except OSError as error:
        return Answer(error=error)
    except (RuntimeError, ValueError) as error:  # no home directory; no name
        return Answer(error=OSError(errno.EINVAL, str(error)))


def _status(path: Path) -> Answer:
    found = path.stat()
    return Answer(_sort(found.st_mode), found.st_size, found.st_mtime_ns)


def _sort(mode: int) -> Sort:
    if stat.S_ISREG(mode):
        return Sort.FILE
    return Sort.DIRECTORY if stat.S_ISDIR(mode) else Sort.OTHER


def _names(path: Path) -> Answer:
    found: list[tuple[str, Sort]] = []
    size = 0
    with os.scandir(path) as entries:
        for entry in entries:
            found.append((entry.name, _sort_of(entry)))
            size += len(os.fsencode(entry.name))
            if len(found) > MOST_NAMES or size > MOST_NAME_BYTES:
                raise OSError(errno.EFBIG, _TOO_MANY)
    return Answer(Sort.DIRECTORY, names=found)


def _sort_of(entry: os.DirEntry[str]) -> Sort:
    if entry.is_dir(follow_symlinks=False):
        return Sort.DIRECTORY
    return Sort.FILE if entry.is_file() else Sort.OTHER


def _bytes(path: Path, begin: int, size: int) -> Answer:
    if not stat.S_ISREG(path.stat().st_mode):  # opening a device may do something
        raise OSError(errno.EINVAL, _NOT_REGULAR)
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):  # it was another one
            raise OSError(errno.EINVAL, _NOT_REGULAR)
        data = os.pread(descriptor, size, begin)
        return Answer(Sort.FILE, found.st_size, found.st_mtime_ns, data=data)
    finally:
        os.close(descriptor)
