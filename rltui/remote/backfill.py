"""Reads runs of one host again, over a second connection that is open only while needed.

Threads do it, so that neither the main thread nor the connection that follows the logs, which may
be busy for minutes, delays it or is delayed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from rltui.core.batch import Batch, Sources
from rltui.core.clock import Clock
from rltui.core.errors import SourceError, UnreachableError, VanishedError
from rltui.files.trouble import Backoff
from rltui.formats import ALL_FORMATS
from rltui.remote.stream_client import Caller, Conversation, Paths, StreamError
from rltui.remote.wire.messages import Again, KnownFile
from rltui.sources.follow.resume import HandedOver, without_content
from rltui.sources.follow.threaded_reader import Arriving, BatchQueue

#: Batches that may be queued: some megabytes.
_MOST_WAITING = 4
#: Logs that can be read again; stores of trackers cannot.
_FILES = frozenset(f.name for f in ALL_FORMATS)
_STOPPED = "the reader was stopped"


class ReadFiles:
    """How far the files of a host, or of one place on it, have been read."""

    def __init__(self) -> None:
        self.known = HandedOver()
        """The newest batch of each file, with far paths."""
        self._files: dict[Path, Batch] = {}
        """The same by local path."""

    def note(self, there: Batch, here: Path) -> None:
        """Record a batch of the far side; ``here``: the local path of its file."""
        if not there.sampled:
            self.known.note(there)
            self._files[here] = without_content(there)

    def wanted(self, sources: Sources, generations: Iterable[int], paths: Paths) -> Again | None:
        """The request that reads these files of a run again; None where the far side could not
        return what was read before, or the files are not of this host."""
        files = [self._files[path] for path in sources if path in self._files]
        lost = len(files) < len(sources) or any(b.gone or b.generation for b in files)
        if lost or any(generations) or not _FILES.issuperset(b.source.format for b in files):
            return None
        return Again(
            files[0].run,
            tuple(
                KnownFile(paths.there(path), s.offset, s.modified, self._files[path].finished)
                for path, s in sources.items()
            ),
        )


class EndError(Exception):
    """Queued after the last batch."""


class Rereading(Caller):
    """Asks one host to read runs again, one after the other, each in a thread."""

    def __init__(
        self, connect: Callable[[], Conversation], on_news: Callable[[], None], clock: Clock
    ) -> None:
        """``connect`` opens a connection and searches; it raises StreamError or SourceError.
        ``on_news`` is called in a thread for each batch and for the end."""
        super().__init__()
        self._connect = connect
        self._on_news = on_news
        self._clock = clock
        self._open: set[BatchQueue] = set()
        """Queues of the runs that are still being read."""
        self._backoff = Backoff()
        self._why = ""
        """Why the host could not be reached at the last attempt."""

    def read(self, wanted: Again) -> Arriving:
        """Begin to read files again; returns their batches as they arrive."""
        queue = BatchQueue(self._on_news, _MOST_WAITING)
        self._open.add(queue)
        threading.Thread(
            target=self._run, args=(wanted, queue), name="rltui-again", daemon=True
        ).start()
        return Arriving(_batches_in(queue), lambda: queue.wait(0))

    def close(self) -> None:
        """End the connection and fail all runs. A later :meth:`read` opens another connection."""
        queues = self._open
        self._open = set()
        for queue in queues:
            queue.close()
            queue.fail(UnreachableError(_STOPPED))
        super().close()

    def _run(self, wanted: Again, queue: BatchQueue) -> None:
        """Read one run; the body of a thread."""
        error: Exception = EndError()
        with self._lock:
            try:
                self._read(wanted, queue)
            except VanishedError as failure:
                error = failure
            except (StreamError, SourceError) as failure:
                self._hang_up()
                error = UnreachableError(str(failure))
            except BaseException as failure:  # noqa: BLE001 - raised where the batches are taken
                self._hang_up()
                error = failure if isinstance(failure, Exception) else RuntimeError(str(failure))
        if queue in self._open:
            self._open.discard(queue)
            queue.fail(error)  # calls on_news

    def _read(self, wanted: Again, queue: BatchQueue) -> None:
        """Raises StreamError, SourceError and VanishedError."""
        is_told = self._talk is None
        if self._talk is None:
            self._check(queue)
            self._talk = self._connected()
            self._check(queue)
        try:
            if not self._talk.keeps(wanted):
                raise VanishedError("its files do not hold it any more")
            paths = self._talk.paths
            assert paths is not None
            for batch in self._talk.batches():
                is_told = True
                queue.put(paths.batch(batch))
                self._check(queue)
        except StreamError:
            if is_told:
                raise
            self._hang_up()  # that connection had ended meanwhile
            self._read(wanted, queue)

    def _check(self, queue: BatchQueue) -> None:
        """Raise StreamError when nobody waits for a run any more."""
        if queue not in self._open:
            raise StreamError(_STOPPED)

    def _connected(self) -> Conversation:
        """A new connection. Raises StreamError and SourceError."""
        now = self._clock.monotonic()
        if self._backoff.waits(now):
            raise StreamError(self._why)
        try:
            talk = self._connect()
        except (StreamError, SourceError) as error:
            self._backoff.failed(now)
            self._why = str(error)
            raise
        self._backoff.succeeded()
        return talk


def _batches_in(queue: BatchQueue) -> Iterator[Batch]:
    """The batches of a run, as they arrive. Raises the error that ended it."""
    while True:
        queue.wait(None)
        try:
            found = queue.drain(1)
        except EndError:
            return
        yield from found
