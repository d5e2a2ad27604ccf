"""Answers questions about the files of a host.

``rltui stream`` uses :func:`answer`. To a host without rltui the text of this module is sent
through ``ssh HOST python3``, where :func:`serve` speaks the frames of a stream. It needs only the
standard library of Python 3.6, and writes no file.
"""

import errno
import json
import os
import select
import stat
import struct
import sys
import time
import zlib
from typing import Any, Dict, Iterator, List, Optional, Tuple

#: Version of the protocol, which changes only for what an older reader cannot skip; kinds of frames
#: as in ``rltui.remote.wire.framing``.
VERSION = 4
HELLO = 1
QUESTION = 13
ANSWER = 14
#: Names of a directory, bytes of all of them, and bytes of one read, at most.
MOST_NAMES = 50000
MOST_NAME_BYTES = 2 << 20
MOST_READ = 1 << 20
#: Largest question, bytes; seconds without one after which the connection ends.
MOST_QUESTION = 1 << 20
IDLE_S = 60.0
HEADER = struct.Struct("<IBI")
PROC = "/proc"
#: Number of the first namespace of processes of a machine (linux/proc_ns.h, PROC_PID_INIT_INO).
WHOLE_MACHINE = "pid:[4026531836]"
NOT_REGULAR = "is not a regular file"

Record = Dict[str, Any]


def answer(question: Record) -> Tuple[Record, bytes]:
    """The record of an answer, and the bytes asked for; errors of the system become answers."""
    try:
        path = os.path.expanduser(question["path"])
        what = question["what"]
        if what == "names":
            return {"sort": "directory", "names": names_in(path)}, b""
        if what == "hold":
            return {"hold": hold(path)}, b""
        status = os.stat(path)
        if what == "bytes":
            if not stat.S_ISREG(status.st_mode):  # opening a device may do something
                raise OSError(errno.EINVAL, NOT_REGULAR)
            return bytes_of(path, question.get("begin", 0), question.get("size", 0))
        return record_of(status), b""
    except OSError as error:
        code = errno.errorcode.get(error.errno or 0, "EIO")
        return {"error": code, "text": error.strerror or str(error)}, b""
    except (KeyError, TypeError, ValueError, OverflowError) as error:  # no such name, or number
        return {"error": "EINVAL", "text": str(error)}, b""


def record_of(status: os.stat_result) -> Record:
    """The status of a path."""
    sort = {stat.S_IFREG: "file", stat.S_IFDIR: "directory"}.get(stat.S_IFMT(status.st_mode))
    size = status.st_size
    modified = status.st_mtime_ns
    return {"sort": sort or "other", "size": size, "modified_ns": modified}


def bytes_of(path: str, begin: int, size: int) -> Tuple[Record, bytes]:
    """A range of a regular file, fewer bytes where it ends. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):  # it was another one
            raise OSError(errno.EINVAL, NOT_REGULAR)
        return record_of(status), os.pread(descriptor, min(size, MOST_READ), begin)
    finally:
        os.close(descriptor)


def names_in(path: str) -> List[List[Any]]:
    """[name, sort, size, time of change in ns] for each name in a directory. A link to a directory
    counts as other, so that a walk never goes in circles. Raises OSError."""
    found = []
    size = 0
    with os.scandir(path) as entries:
        for entry in entries:
            try:
                status = record_of(entry.stat())
            except OSError:  # it vanished, or its link leads nowhere
                status = {"sort": "other", "size": 0, "modified_ns": 0}
            if status["sort"] == "directory" and entry.is_symlink():
                status["sort"] = "other"
            found.append([entry.name, status["sort"], status["size"], status["modified_ns"]])
            size += len(os.fsencode(entry.name))
            if len(found) > MOST_NAMES or size > MOST_NAME_BYTES:
                text = "holds more than {:,} names, or very long ones".format(MOST_NAMES)
                raise OSError(errno.EFBIG, text)
    return found


# -- processes ----------------------------------------------------------------------------------


def hold(path: str) -> Optional[List[Optional[bool]]]:
    """[whether a process has a file open for writing, whether its writer is gone if none has].
    None where not all processes are seen. Raises OSError."""
    wanted = os.stat(path)
    namespace = PROC + "/self/ns/pid"
    if not os.path.islink(namespace) or os.readlink(namespace) != WHOLE_MACHINE:
        return None
    hidden = os.geteuid() not in (0, wanted.st_uid)
    python = False
    for pid in filter(str.isdigit, os.listdir(PROC)):
        directory = os.path.join(PROC, pid)
        own = True  # as long as that is not known
        try:
            own = os.stat(directory).st_uid == wanted.st_uid
            if writes(directory, wanted):
                return [True, True]
            if own and int(pid) != os.getpid():
                with open(directory + "/cmdline", "rb") as arguments:
                    python = python or b"python" in arguments.read(1 << 16)
        except PermissionError:
            hidden = hidden or own
        except OSError:  # it has ended meanwhile
            continue
    # other hosts may write what lies on no disk of this one
    return [None if hidden else False, not (hidden or python) and os.major(wanted.st_dev) > 0]


def writes(directory: str, wanted: os.stat_result) -> bool:
    """Whether the process of a directory of /proc has a file open for writing. Raises OSError."""
    for number in os.listdir(directory + "/fd"):
        try:
            found = os.stat("{}/fd/{}".format(directory, number))
            if (found.st_dev, found.st_ino) != (wanted.st_dev, wanted.st_ino):
                continue
            with open("{}/fdinfo/{}".format(directory, number)) as lines:
                flags = [int(line.split()[1], 8) for line in lines if line.startswith("flags:")]
        except OSError:  # it was closed meanwhile
            continue
        if flags and flags[0] & os.O_ACCMODE != os.O_RDONLY:
            return True
    return False


# -- frames -------------------------------------------------------------------------------------


def serve() -> None:
    """Answer what comes on standard input until it ends, or nothing comes for a minute."""
    out = sys.stdout.buffer
    deflate = zlib.compressobj(1)

    def send(kind: int, record: Record, data: bytes = b"") -> None:
        text = json.dumps(record).encode()
        frame = HEADER.pack(len(text) + len(data), kind, len(text)) + text + data
        out.write(deflate.compress(frame) + deflate.flush(zlib.Z_SYNC_FLUSH))
        out.flush()

    out.write("rltui-stream {}\n".format(VERSION).encode())
    send(HELLO, {"rltui": "", "logdirs": [os.path.expanduser("~")], "now": time.time()})
    for question in questions():
        send(ANSWER, *answer(question))


def questions() -> Iterator[Record]:
    """The questions of the other side."""
    inflate = zlib.decompressobj()
    waiting = bytearray()
    begun = b""
    while select.select([0], [], [], IDLE_S)[0]:
        data = os.read(0, 1 << 16)
        if not data:
            return
        if not begun.endswith(b"\n"):
            line, end, data = (begun + data).partition(b"\n")
            begun = line + end
        waiting += inflate.decompress(data)
        while len(waiting) >= HEADER.size:
            size, kind, _ = HEADER.unpack_from(waiting)
            if size > MOST_QUESTION:
                raise ValueError("a question is too large")
            end_of_frame = HEADER.size + size
            if len(waiting) < end_of_frame:
                break
            text = bytes(waiting[HEADER.size : end_of_frame])
            del waiting[:end_of_frame]
            if kind == QUESTION:
                yield json.loads(text.decode())
