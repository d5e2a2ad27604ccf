"""Reads files of one host over a connection of its own: samples and settings, and where there is no
rltui the logs, too.

The first question opens it; the host ends it after a minute without one, and the next question
opens it again. So questions never wait behind the batches of the logs.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from rltui.core.address import RemotePath
from rltui.core.batch import Note
from rltui.core.clock import Clock
from rltui.core.errors import SourceError, UnreachableError
from rltui.core.level import Level
from rltui.files.disk import offer
from rltui.files.remote.server import Info, RemoteServer
from rltui.files.remote.status import RemoteEntry, RemoteStatus, remote_status
from rltui.files.remote.store import RemoteStore, register
from rltui.files.trouble import Backoff
from rltui.remote.host_script import MOST_READ, NOT_REGULAR
from rltui.remote.ssh.connection import CommandProcess, HostPaths, script_command
from rltui.remote.stream_client import Caller, Conversation, StreamError
from rltui.remote.wire.messages import Answer, Name, Question, Sort, What
from rltui.sources.discovery.processes import FileHold
from rltui.sources.follow.reader import Reader
from rltui.sources.options import ReaderOptions

#: Longest wait for an answer, seconds.
_PATIENCE_S = 60.0
#: Questions sent at once: few enough to fit the buffers of pipe and socket.
_TOGETHER = 100
#: Bytes of a file that is read whole.
MOST_WHOLE = 64 << 20
#: Most seconds between two listings of a directory that changes, and of one that is quiet.
_PACE_S = 0.1
_MOST_PAUSE_S = 1.0
_NEITHER = (
    "{host} has no python3 ({why}) and no rltui like the one here: copy its logs (scp -r), "
    "mount them (sshfs), or name one of the two where ssh does not find it "
    "(RLTUI_REMOTE_COMMAND, RLTUI_REMOTE_PYTHON)"
)
_MODES = {Sort.FILE: stat.S_IFREG, Sort.DIRECTORY: stat.S_IFDIR, Sort.OTHER: stat.S_IFIFO}
_Answered = tuple[Answer, bytes]


class SshFiles(Caller):
    """A :class:`~rltui.files.disk.Store`. Thread-safe; one question at a time. Questions may take
    long, so call it from a worker thread. All methods raise OSError."""

    def __init__(
        self, root: RemotePath, command: Sequence[str], clock: Clock, first: bytes = b""
    ) -> None:
        """``command`` answers questions on the host of ``root``, once it has read ``first``."""
        super().__init__()
        self.root = root
        self.missing = ""
        """Program that the host lacks and the command needs, as far as is known."""
        self._command = tuple(command)
        self._first = first
        self._clock = clock
        self._expected: dict[Question, _Answered] = {}
        """Answers fetched ahead by :meth:`expect`."""
        self._closes = 0
        """Number of calls of :meth:`close`."""
        self._backoff = Backoff()
        self._why = ""
        """Why the host did not answer the last question; empty when it did."""

    # -- files ------------------------------------------------------------------------------

    def status(self, path: Path) -> RemoteStatus:
        """Of a file or directory, links followed."""
        found, _ = self._ask(Question(What.STATUS, _place(path)))
        return _status(path, found)

    def entries(self, path: Path) -> list[RemoteEntry]:
        """The names in a directory."""
        found, _ = self._ask(Question(What.NAMES, _place(path)))
        entries = []
        for listed in found.names:
            child = path / listed.name
            status = partial(_status, child, listed)
            if listed.sort is Sort.OTHER:  # perhaps a link to a directory
                status = partial(self.status, child)
            mode = _MODES[listed.sort]
            entries.append(RemoteEntry(str(listed.name), str(child), mode, status))
        return entries

    def is_directory(self, path: Path) -> bool:
        """Whether there is a directory."""
        return self.status(path).is_directory

    def read(self, path: Path, begin: int, end: int | None) -> bytes:
        """The bytes from ``begin`` to ``end`` (None: the end of the file), fewer where the file
        ends."""
        if end is None:
            end = self.end_of(path, begin)
            if end - begin > MOST_WHOLE:
                raise OSError(errno.EFBIG, f"is too large to be sent: {end >> 20} MiB")
        (data,) = self.ranges([(path, begin, end)])
        if isinstance(data, OSError):
            raise data
        return data

    def end_of(self, path: Path, begin: int) -> int:
        """Where a file ends, but behind ``begin``: so a read asks for a byte at least, and what is
        no file is refused."""
        answer, _ = self.ask([Question(What.STATUS, _place(path))])[0]
        return max(answer.size, begin + 1)

    def ranges(self, ranges: Sequence[tuple[Path, int, int]]) -> list[bytes | OSError]:
        """The bytes of some files from a place up to another, on one way there and back."""
        questions = [
            [
                Question(What.BYTES, _place(path), at, min(MOST_READ, end - at))
                for at in range(begin, end, MOST_READ)
            ]
            for path, begin, end in ranges
        ]
        answers = iter(self.ask(list(chain.from_iterable(questions))))
        return [_joined(own, islice(answers, len(own))) for own in questions]

    def hold(self, path: Path, kind: str) -> FileHold | None:
        """Whether a log of a format is held open there; None where that cannot be told."""
        return self._ask(Question(What.HOLD, _place(path), kind=kind))[0].hold

    def expect(self, directories: Sequence[Path], wanted: Callable[[str], bool]) -> None:  # noqa: ARG002 - as of Store
        """List directories that will be needed next in one round trip. Never raises."""
        self._expected = {}
        if len(directories) < 2:
            return
        with suppress(OSError):
            questions = [Question(What.NAMES, _place(path)) for path in directories]
            self._expected = dict(zip(questions, self.ask(questions), strict=True))

    @property
    def notes(self) -> tuple[Note, ...]:
        """Why the host did not answer the last question; nothing when it did."""
        return (Note(self.root, None, Level.WATCH, self._why),) if self._why else ()

    def costs(self) -> None:
        """None: it is no server that counts requests."""

    # -- the connection ---------------------------------------------------------------------

    def close(self) -> None:
        """End the connection, from any thread; a question under way fails."""
        self._closes += 1
        super().close()

    def _ask(self, question: Question) -> _Answered:
        found = self._expected.pop(question, None) or self.ask([question])[0]
        if (error := error_in(found[0])) is not None:
            raise error
        return found

    def ask(self, questions: Sequence[Question]) -> list[_Answered]:
        """The answers to some questions, in order, which may be errors that concern one path.
        Raises OSError where the host does not answer."""
        found: list[_Answered] = []
        for begin in range(0, len(questions), _TOGETHER):
            found += self._ask_together(questions[begin : begin + _TOGETHER])
        return found

    def _ask_together(self, questions: Sequence[Question]) -> list[_Answered]:
        with self._lock:
            now = self._clock.monotonic()
            if self._backoff.waits(now):
                raise OSError(errno.EHOSTUNREACH, self._why)
            closes = self._closes
            found = None
            try:
                if self._talk is not None:
                    try:
                        found = list(self._exchange(self._talk, questions))
                    except StreamError:
                        self._hang_up()  # nobody had asked for a while, or it was lost
                        if self._closes != closes:
                            raise
                if found is None:
                    link = CommandProcess(self._command, self._first)
                    options = ReaderOptions(clock=self._clock)
                    self._talk = Conversation(link, 1, options, partial(HostPaths, [self.root]))
                    if self._closes != closes:  # meanwhile
                        raise StreamError("the reader was stopped")
                    found = list(self._exchange(self._talk, questions))
            except StreamError as error:
                self._hang_up()
                self._backoff.failed(now)
                self._why = str(error)
                self.missing = error.missing
                raise OSError(errno.EHOSTUNREACH, self._why) from None
            self._backoff.succeeded()
            self._why = ""
        return found

    def _exchange(self, talk: Conversation, questions: Sequence[Question]) -> Iterator[_Answered]:
        """The answers, in order. Raises StreamError."""
        talk.send(*questions)
        left = list(reversed(questions))
        end = self._clock.monotonic() + _PATIENCE_S
        while True:
            for event in talk.arriving():
                if isinstance(event, tuple):
                    if len(event[1]) > left.pop().size:
                        raise StreamError("it sends more than was asked for")
                    yield event
                    if not left:
                        return
                    end = self._clock.monotonic() + _PATIENCE_S
            if self._clock.monotonic() > end:
                raise StreamError("it does not answer")


def error_in(answer: Answer) -> OSError | None:
    """The error of the host's system that an answer tells."""
    if not answer.error:
        return None
    code = getattr(errno, answer.error, errno.EIO)
    return OSError(code if isinstance(code, int) else errno.EIO, answer.text)


def _status(path: Path, found: Answer | Name) -> RemoteStatus:
    return remote_status(path, _MODES[found.sort], found.size, found.modified_ns)


def _joined(questions: Sequence[Question], answers: Iterable[_Answered]) -> bytes | OSError:
    """The bytes of consecutive ranges of a file, up to its end."""
    data = bytearray()
    for question, (answer, piece) in zip(questions, answers, strict=True):
        if (error := error_in(answer)) is not None:
            return error
        data += piece
        if len(piece) < question.size:
            break
    return bytes(data)


def _place(path: Path) -> Path:
    assert isinstance(path, RemotePath)
    return Path(path.place)


# -- a host without rltui ---------------------------------------------------------------------


class HostServer(RemoteServer):
    """The host as a server; it answers many questions at once."""

    def __init__(self, files: SshFiles) -> None:
        super().__init__(files.root, lambda _: files)
        self._files = files
        self._backoff = Backoff(0.0, 0.0)  # the files have one

    @property
    def asks_together(self) -> bool:
        return True

    def name_of(self, path: Path) -> str:
        assert isinstance(path, RemotePath)
        return path.place

    def _answers(self, method: str, asked: Sequence[tuple[Path, dict[str, Any]]]) -> list[Any]:
        paths = [path for path, _ in asked]
        if method == "cat_file":
            ranges = []
            for path, how in asked:
                begin = how.get("start", 0)
                end = how.get("end")
                if end is None:
                    end = min(self._files.end_of(path, begin), begin + MOST_WHOLE)
                ranges.append((path, begin, end))
            return list(self._files.ranges(ranges))

        what = What.NAMES if method == "ls" else What.STATUS
        answers = self._files.ask([Question(what, Path(self.name_of(path))) for path in paths])
        found: list[Any] = []
        for path, (answer, _) in zip(paths, answers, strict=True):
            if (error := error_in(answer)) is not None:
                found.append(error)
            elif method == "ls":
                names = [name for name in answer.names if name.sort is not Sort.OTHER]
                found.append([_info(self.name_of(path / name.name), name) for name in names])
            elif answer.sort is Sort.OTHER:
                found.append(OSError(errno.EINVAL, NOT_REGULAR))
            else:
                found.append(_info(self.name_of(path), answer))
        return found


def _info(name: str, found: Answer | Name) -> Info:
    """Description of a file or directory as fsspec gives it."""
    kind = found.sort.value
    modified = found.modified_ns / 1e9
    return {"name": name, "type": kind, "size": found.size, "mtime": modified}


class HostReader(Reader):
    """Reads the logdirs of a host without rltui."""

    def __init__(self, logdirs: Sequence[RemotePath], options: ReaderOptions) -> None:
        """Connects. Raises UnreachableError, and SourceError for a host without Python."""
        self._store = HostStore(RemotePath(*logdirs[0].parts[:2]), options.clock)
        super().__init__(logdirs, options)

    def _interrupt(self) -> None:
        super()._interrupt()
        self._store.close()


class HostStore(RemoteStore):
    """A :class:`~rltui.files.disk.Host`."""

    most_pause_s = _MOST_PAUSE_S

    def __init__(self, root: RemotePath, clock: Clock) -> None:
        """Connects. Raises as :class:`HostReader` does."""
        command, script = script_command(root.authority, os.environ)
        self._host_files = SshFiles(root, command, clock, script)
        super().__init__(HostServer(self._host_files))
        self.use(clock, _PACE_S)
        try:
            self._host_files.ask([Question(What.STATUS, Path("/"))])
        except OSError as error:
            self.close()
            if self._host_files.missing:
                why = _NEITHER.format(host=root.authority, why=error.strerror)
                raise SourceError(why) from None
            raise UnreachableError(f"{root.authority}: {error.strerror}") from None
        offer(root, self)
        register(root, self)

    def use(self, clock: Clock, pace_s: float) -> None:
        super().use(clock, min(pace_s, _PACE_S))

    def hold(self, path: Path, kind: str) -> FileHold | None:
        """See :meth:`SshFiles.hold`."""
        return self._host_files.hold(path, kind)

    def close(self) -> None:
        """End the connection, from any thread."""
        self._host_files.close()
