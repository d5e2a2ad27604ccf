"""The driver's process and the socket to it; :func:`serve` is what runs there."""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import TYPE_CHECKING

from rltui.core.clock import Clock
from rltui.remote.ray.driver import Driver
from rltui.remote.ray.messages import Alive, ClusterError, Looked, Opening

if TYPE_CHECKING:
    from rltui.remote.ray.cluster import Cluster

#: A driver that says nothing for this many seconds is started anew.
SILENT_S = 40.0
_STOP_S = 2.0


class LostError(Exception):
    """The driver ended or is silent."""


class DriverProcess:
    """A driver and the socket to it."""

    def __init__(self, opening: Opening) -> None:
        here, there = socket.socketpair()
        self._socket = here
        self._connection = Connection(os.dup(here.fileno()))
        self._lock = threading.Lock()
        self.received = 0
        """Bytes that the driver has sent."""
        with there:
            self._launch(there)
        self.send(opening)

    def send(self, message: object) -> None:
        """Raises LostError when the driver has ended. For any thread."""
        try:
            with self._lock:
                self._connection.send(message)
        except OSError as error:
            raise LostError("") from error

    def receive(self, timeout_s: float = SILENT_S) -> object:
        """The next message. Raises LostError when the driver has ended or is silent."""
        try:
            if self._connection.poll(max(0.0, timeout_s)):
                data = self._connection.recv_bytes()
                self.received += len(data)
                message: object = pickle.loads(data)
                return message
        except (EOFError, OSError) as error:
            raise LostError("") from error
        raise LostError("it does not answer")

    def end(self, *, at_once: bool = False) -> None:
        """Have the driver end its actors and itself, or kill it ``at_once``, and Ray ends them.

        The connection is closed with this object: another thread may still wait for messages."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._reap(0.0 if at_once else _STOP_S)

    def _launch(self, there: socket.socket) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "rltui.remote.ray", str(there.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[there.fileno()],
            start_new_session=True,  # ctrl+c of the terminal is for the session's process
        )

    def _reap(self, patience_s: float) -> None:
        try:
            self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def serve(
    connection: Connection,
    connect: Callable[[str], Cluster],
    *,
    on_over: Callable[[], None] = lambda: None,
    clock: Clock | None = None,
) -> None:
    """Serve the session's process until it closes ``connection``; then a thread calls ``on_over``.

    ``connect`` returns the cluster of an address, and raises ClusterError."""
    opening = connection.recv()
    assert isinstance(opening, Opening)
    said: SimpleQueue[object] = SimpleQueue()
    over = threading.Event()

    def listen() -> None:
        with suppress(EOFError, OSError):
            while True:
                said.put(connection.recv())
        over.set()
        on_over()

    threading.Thread(target=listen, daemon=True).start()
    driver: Driver | None = None
    try:
        cluster = connect(opening.address)
        driver = Driver(opening, cluster, connection.send, clock)
        driver.say(Alive())
        driver.look()
        driver.say(Looked(address=cluster.address, version=cluster.version))
        while not over.is_set():
            while not said.empty():
                driver.receive(said.get())
            driver.step()
    except ClusterError as error:
        with suppress(OSError):
            connection.send(Looked(str(error)))
    except (BrokenPipeError, ConnectionResetError):
        pass
    finally:
        if driver is not None:
            driver.close()
