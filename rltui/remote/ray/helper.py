"""The process that speaks to Ray, the connections to it, and what runs there."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from rltui.core.clock import Clock, SystemClock
from rltui.remote.ray.cluster_reader import ClusterReader
from rltui.remote.ray.node_reader import ClusterError
from rltui.remote.ray.nodes import Nodes, Opening
from rltui.remote.ssh.connection import SILENCE_S
from rltui.remote.stream import Stream
from rltui.remote.stream_client import StreamError
from rltui.remote.wire.codec import WireError

if TYPE_CHECKING:
    from rltui.remote.ray.cluster import Cluster

_STOP_S = 2.0
_PIECE = 1 << 18


class HelperProcess:
    """The process, and the socket over which it is handed its connections."""

    def __init__(self, opening: Opening) -> None:
        here, there = socket.socketpair()
        self._control = here
        with there:
            self._launch(there)
        with Connection(os.dup(here.fileno())) as first, suppress(OSError):
            first.send(opening)

    def connected(self) -> SocketTransport | None:
        """A new connection; None where the process has ended."""
        here, there = socket.socketpair()
        with there:
            try:
                socket.send_fds(self._control, [b"+"], [there.fileno()])
            except OSError:
                here.close()
                return None
        return SocketTransport(here)

    def end(self, *, at_once: bool = False) -> None:
        """Have it end its actors and itself, or kill it ``at_once``, and Ray ends them."""
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        self._control.close()
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


class SocketTransport:
    """A :class:`~rltui.remote.stream_client.Transport`."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection

    def send(self, data: bytes) -> None:
        with suppress(OSError):
            self._socket.sendall(data)

    def receive(self) -> bytes:
        """Wait for bytes and return them. Raises StreamError."""
        try:
            if not select.select([self._socket], [], [], SILENCE_S)[0]:
                raise StreamError("it does not answer")
            data = self._socket.recv(_PIECE)
        except (OSError, ValueError):
            data = b""
        if not data:
            raise StreamError("the cluster cannot be reached")
        return data

    def close(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def release(self) -> None:
        self._socket.close()


# -- in the process -----------------------------------------------------------------------------


def serve(
    control: socket.socket,
    connect: Callable[[str], Cluster],
    *,
    on_over: Callable[[], None] = lambda: None,
    clock: Clock | None = None,
) -> None:
    """Serve the session's process until it ends or the cluster is lost; then call ``on_over``.

    ``connect`` returns the cluster of an address, and raises ClusterError."""
    with Connection(os.dup(control.fileno())) as first:
        opening = first.recv()
    nodes = Nodes(opening, connect, clock or SystemClock())
    try:
        while passed := socket.recv_fds(control, 1, 1)[1]:
            connection = socket.socket(fileno=passed[0])
            threading.Thread(
                target=_serve_one, args=(connection, control, opening, nodes), daemon=True
            ).start()
    except OSError:
        pass
    finally:
        on_over()
        nodes.close()


def _serve_one(
    connection: socket.socket, control: socket.socket, opening: Opening, nodes: Nodes
) -> None:
    """Serve one connection. A cluster that is lost ends the process."""
    logdirs = [Path("/", place.lstrip("/")) for place in opening.logdirs]
    stream = Stream(
        logdirs,
        connection.sendall,
        opening.ends,
        reader_of=lambda options, known: ClusterReader(nodes, logdirs, options, known),
    )
    threading.Thread(target=_listen, args=(stream, connection), daemon=True).start()
    threading.Thread(target=stream.beat, daemon=True).start()
    failure = stream.serve()
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    if isinstance(failure, ClusterError):
        with suppress(OSError):
            control.shutdown(socket.SHUT_RDWR)


def _listen(stream: Stream, connection: socket.socket) -> None:
    with connection, suppress(OSError, WireError):
        while data := connection.recv(_PIECE):
            stream.feed(data)
    stream.close()
