"""Reads logs on a Ray cluster for the session: keeps a driver running and takes what it sends."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from rltui import __version__
from rltui.core.address import RemotePath
from rltui.core.batch import Batch, Note, RunKey, SourceInfo
from rltui.core.errors import SourceError, UsageError
from rltui.remote.ray.message import Alive, Begin, Looked, Opening, Reads
from rltui.remote.ray.places import Places
from rltui.sources.follow.batch_queue import BatchQueue
from rltui.sources.follow.queued import QueuedReader

if TYPE_CHECKING:
    from rltui.remote.opening import Wishes

#: A driver that says nothing for this many seconds is started anew.
_SILENT_S = 40.0
#: Seconds for a driver to connect and to search the nodes.
_LOOK_S = 180.0
#: Seconds until a driver is started again: doubled each time, up to the second.
_RETRY_S, _MOST_RETRY_S = 1.0, 30.0
#: How often a driver is started again when files are read once.
_MOST_FAILURES = 3
_STOP_S = 2.0
_UNREACHABLE = "the cluster cannot be reached"


class _LostError(Exception):
    """The driver ended or is silent."""


class RayReader(QueuedReader):
    """A :class:`~rltui.sources.follow.reading.Reading` of the logdirs on one cluster."""

    def __init__(self, logdirs: Sequence[RemotePath], wishes: Wishes) -> None:
        """Raises UsageError where Ray is not installed."""
        if find_spec("ray") is None:
            raise UsageError(f"{logdirs[0]}: needs the extra ray: pip install 'rltui[ray]'")
        self._logdirs = tuple(logdirs)
        self._reads = Reads(
            tuple("" if p.place == "/" else p.place for p in logdirs),
            __version__,
            wishes.watch.fast_s,
            wishes.watch.slow_s,
            wishes.watch.rescan_s,
            tuple(wishes.step_keys) if wishes.step_keys else None,
            wishes.verify,
            wishes.waits,
            wishes.ends,
        )
        self._places = Places(logdirs[0].authority, wishes.choose)
        super().__init__(BatchQueue())
        self._driver: _DriverProcess | None = None
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()

    # -- once ---------------------------------------------------------------------------------

    def scan(self) -> None:
        """Connect and search every node. Raises SourceError where that fails, or where no node
        has a logdir."""
        if self._driver is not None:
            return
        self._driver = self._start_driver()
        try:
            self._await_look()
        except _LostError as error:
            self._drop_driver()
            raise SourceError(f"{self._logdirs[0]}: {error}") from None
        for number, logdir in enumerate(self._logdirs):
            if number not in self._places.logdirs:
                self._drop_driver()
                raise SourceError(f"{logdir}: no node of the cluster has this path")

    def read_all(self) -> Iterator[Batch]:
        """Every file of every node to its end."""
        for attempt in range(_MOST_FAILURES + 1):
            try:
                self.scan()
                yield from self._read_once()
                break
            except _LostError as error:
                if attempt == _MOST_FAILURES:
                    raise SourceError(f"{self._logdirs[0]}: {error}") from None
            finally:
                self._drop_driver()
        failures = self._places.failures
        if failures and not self._places.run_count:
            raise SourceError(failures[0])

    def _read_once(self) -> Iterator[Batch]:
        driver = self._driver
        assert driver is not None
        driver.send(Begin(once=True))
        while True:
            message = driver.receive()
            if isinstance(message, Alive) and message.ended:
                return
            yield from self._places.take(message)

    def read_again(
        self,
        key: RunKey,  # noqa: ARG002
        sources: Mapping[Path, SourceInfo],  # noqa: ARG002
        generations: Iterable[int],  # noqa: ARG002
    ) -> Iterator[Batch] | None:
        """None: what was read once stays in memory."""
        return None

    # -- live ---------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to read. Raises SourceError, see :meth:`scan`."""
        if self._thread is not None:
            return
        self._stopping.clear()
        self.scan()
        self._queue.open()
        self._thread = threading.Thread(target=self._run, name="rltui-ray", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the driver and its actors."""
        self._stopping.set()
        self._queue.close()
        self._drop_driver()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(_STOP_S)

    def _run(self) -> None:
        try:
            self._follow()
        except BaseException as error:  # noqa: BLE001 - raised on the main thread at the next drain
            self._queue.fail(error)

    def _follow(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            driver = self._driver
            try:
                if driver is None:
                    driver = self._driver = self._start_driver()
                    self._await_look()
                driver.send(Begin(once=False))
                failures = 0
                while self._put(self._places.take(driver.receive())):
                    pass
                return
            except _LostError as error:
                self._drop_driver()
                if self._stopping.is_set() or not self._put(self._places.lost(_lost(error))):
                    return
            self._stopping.wait(min(_MOST_RETRY_S, _RETRY_S * 2**failures))
            failures += 1

    def _put(self, batches: Iterable[Batch]) -> bool:
        return all(self._queue.put(batch) for batch in batches) and not self._stopping.is_set()

    # -- driver -------------------------------------------------------------------------------

    def _start_driver(self) -> _DriverProcess:
        authority = self._logdirs[0].authority
        return _DriverProcess(Opening(authority, self._reads, self._places.known))

    def _await_look(self) -> None:
        assert self._driver is not None
        end = time.monotonic() + _LOOK_S
        while True:
            message = self._driver.receive(end - time.monotonic())
            if isinstance(message, Looked):
                if message.failure:
                    raise _LostError(message.failure)
                return
            self._queue_or_drop(self._places.take(message))

    def _queue_or_drop(self, batches: Iterable[Batch]) -> None:
        """Notes that nobody reads a place, or that somebody does again, come at any time."""
        if self._thread is not None:
            self._put(batches)

    def _drop_driver(self) -> None:
        driver, self._driver = self._driver, None
        if driver is not None:
            driver.end()

    # -- state --------------------------------------------------------------------------------

    def progress(self) -> tuple[int, int]:
        """(bytes read, bytes known) on all nodes, as of their last answers."""
        return self._places.progress

    @property
    def ended(self) -> bool:
        """False: a cluster may always log more."""
        return False

    @property
    def notes(self) -> tuple[Note, ...]:
        """Trouble with nodes and directories."""
        return self._places.notes

    @property
    def out_of_reach(self) -> tuple[Path, ...]:
        """Logdirs that no node reads any more: of the runs of one node nothing is known."""
        return tuple(self._logdirs[number] for number in sorted(self._places.unread))

    @property
    def unclaimed(self) -> tuple[Note, ...]:
        """Files that look like logs and are not read, with the reason."""
        return self._places.unclaimed

    @property
    def run_count(self) -> int:
        """Runs that the nodes found, read or not."""
        return self._places.run_count


def _lost(error: _LostError) -> str:
    text = str(error)
    return f"{_UNREACHABLE}: {text}" if text else _UNREACHABLE


class _DriverProcess:
    """A driver and the socket to it."""

    def __init__(self, opening: Opening) -> None:
        here, there = socket.socketpair()
        self._socket = here
        self._connection = Connection(os.dup(here.fileno()))
        command = [sys.executable, "-m", "rltui.remote.ray", str(there.fileno())]
        with there:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[there.fileno()],
                start_new_session=True,  # ctrl+c of the terminal is for the session's process
            )
        self.send(opening)

    def send(self, message: object) -> None:
        """Raises _LostError when the driver has ended."""
        try:
            self._connection.send(message)
        except OSError as error:
            raise _LostError("") from error

    def receive(self, timeout_s: float = _SILENT_S) -> object:
        """The next message. Raises _LostError when the driver has ended or is silent."""
        try:
            if self._connection.poll(max(0.0, timeout_s)):
                return self._connection.recv()
        except (EOFError, OSError) as error:
            raise _LostError("") from error
        raise _LostError("it does not answer")

    def end(self) -> None:
        """Have it end its actors and itself; another thread may wait for its messages."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if threading.current_thread() is threading.main_thread():
            self._connection.close()
