"""Reads files of one host, such as samples and settings, over a connection of its own.

The first question opens it; the host ends it after a minute without one, and the next question
opens it again. So questions never wait behind the batches of the logs.
"""

from __future__ import annotations

import errno
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from rltui.core.address import RemotePath
from rltui.core.batch import Note
from rltui.core.clock import Clock
from rltui.core.level import Level
from rltui.files.remote.status import RemoteEntry, RemoteStatus, remote_status
from rltui.remote.conversation import Conversation, StreamError
from rltui.remote.ssh.connection import SshPaths, SshProcess
from rltui.remote.wire.messages import MOST_READ, Answer, Question, Sort, What
from rltui.sources.discovery.processes import Hold
from rltui.sources.options import ReaderOptions

#: Longest wait for an answer, and pause after a host did not answer, seconds.
_PATIENCE_S, _PAUSE_S = 60.0, 5.0
#: Questions sent at once: few enough to fit the buffers of pipe and socket.
_TOGETHER = 100
#: Bytes of a file that is read whole.
MOST_WHOLE = 64 << 20
_MODES = {Sort.FILE: stat.S_IFREG, Sort.DIRECTORY: stat.S_IFDIR, Sort.OTHER: stat.S_IFIFO}
_Answered = tuple[Answer, bytes]


class SshFiles:
    """A :class:`~rltui.files.disk.Store`. Thread-safe; one question at a time. Questions may take
    long, so call it from a worker thread. All methods raise OSError."""

    def __init__(self, root: RemotePath, command: Sequence[str], clock: Clock) -> None:
        """``command`` runs ``rltui stream`` on the host of ``root``."""
        self._root = root
        self._command = tuple(command)
        self._clock = clock
        self._lock = threading.Lock()
        self._talk: Conversation | None = None
        self._expected: dict[Question, _Answered] = {}
        """Answers fetched ahead by :meth:`expect`."""
        self._closes = 0
        """Number of calls of :meth:`close`."""
        self._refused_at: float | None = None
        self._why = ""
        """Why the host did not answer the last question; empty when it did."""

    # -- files ------------------------------------------------------------------------------

    def status(self, path: Path) -> RemoteStatus:
        """Of a file or directory, links followed."""
        found, _ = self._ask(Question(What.STATUS, _place(path)))
        return remote_status(path, _MODES[found.sort], found.size, found.modified_ns)

    def entries(self, path: Path) -> list[RemoteEntry]:
        """The names in a directory."""
        found, _ = self._ask(Question(What.NAMES, _place(path)))
        return [
            RemoteEntry(
                str(name), str(path / name), _MODES[sort], partial(self.status, path / name)
            )
            for name, sort in found.names
        ]

    def is_directory(self, path: Path) -> bool:
        """Whether there is a directory."""
        return self.status(path).is_directory

    def read(self, path: Path, begin: int, end: int | None) -> bytes:
        """The bytes from ``begin`` to ``end`` (None: the end of the file), fewer where the file
        ends."""
        if end is None and (size := self.status(path).st_size) - begin > MOST_WHOLE:
            raise OSError(errno.EFBIG, f"is too large to be sent: {size >> 20} MiB")
        last = begin + MOST_WHOLE if end is None else end
        found = bytearray()
        while (at := begin + len(found)) < last:
            size = min(MOST_READ, last - at)
            data = self._ask(Question(What.BYTES, _place(path), at, size))[1][:size]
            found += data
            if len(data) < size:
                break
        return bytes(found)

    def hold(self, path: Path, kind: str) -> Hold | None:
        """Whether a log of a format is held open there; None where that cannot be told."""
        return self._ask(Question(What.HOLD, _place(path), kind=kind))[0].hold

    def expect(self, directories: Sequence[Path], wanted: Callable[[str], bool]) -> None:  # noqa: ARG002 - as of Store
        """List directories that will be needed next in one round trip. Never raises."""
        self._expected = {}
        if len(directories) < 2:
            return
        with suppress(OSError):
            questions = [Question(What.NAMES, _place(path)) for path in directories]
            for begin in range(0, len(questions), _TOGETHER):
                part = questions[begin : begin + _TOGETHER]
                self._expected.update(zip(part, self._ask_all(part), strict=True))

    @property
    def notes(self) -> tuple[Note, ...]:
        """Why the host did not answer the last question; nothing when it did."""
        return (Note(self._root, None, Level.WATCH, self._why),) if self._why else ()

    def costs(self) -> None:
        """None: it is no server that counts requests."""

    # -- the connection ---------------------------------------------------------------------

    def close(self) -> None:
        """End the connection, from any thread; a question under way fails."""
        self._closes += 1
        talk = self._talk
        if talk is not None:
            talk.close()
        if self._lock.acquire(blocking=False):  # else the one that asks hangs up
            try:
                self._hang_up()
            finally:
                self._lock.release()

    def _ask(self, question: Question) -> _Answered:
        found = self._expected.pop(question, None) or self._ask_all([question])[0]
        answer = found[0]
        if answer.error:
            code = getattr(errno, answer.error, errno.EIO)
            raise OSError(code if isinstance(code, int) else errno.EIO, answer.text)
        return found

    def _ask_all(self, questions: Sequence[Question]) -> list[_Answered]:
        with self._lock:
            now, refused = self._clock.monotonic(), self._refused_at
            if refused is not None and now - refused < _PAUSE_S:
                raise OSError(errno.EHOSTUNREACH, self._why)
            closes, found = self._closes, None
            try:
                if self._talk is not None:
                    try:
                        found = list(self._exchange(self._talk, questions))
                    except StreamError:
                        self._hang_up()  # nobody had asked for a while, or it was lost
                        if self._closes != closes:
                            raise
                if found is None:
                    link, options = SshProcess(self._command), ReaderOptions(clock=self._clock)
                    self._talk = Conversation(link, 1, options, partial(SshPaths, [self._root]))
                    found = list(self._exchange(self._talk, questions))
            except StreamError as error:
                self._hang_up()
                self._refused_at, self._why = now, str(error)
                raise OSError(errno.EHOSTUNREACH, self._why) from None
            self._refused_at, self._why = None, ""
        return found

    def _exchange(self, talk: Conversation, questions: Sequence[Question]) -> Iterator[_Answered]:
        """The answers, in order. Raises StreamError."""
        talk.send(*questions)
        missing, end = len(questions), self._clock.monotonic() + _PATIENCE_S
        while True:
            for event in talk.arriving():
                if isinstance(event, tuple):
                    yield event
                    missing, end = missing - 1, self._clock.monotonic() + _PATIENCE_S
                    if not missing:
                        return
            if self._clock.monotonic() > end:
                raise StreamError("it does not answer")

    def _hang_up(self) -> None:
        talk, self._talk = self._talk, None
        if talk is not None:
            talk.hang_up()


def _place(path: Path) -> Path:
    assert isinstance(path, RemotePath)
    return Path(path.place)
