"""A driver in a thread of the test, on a simulated cluster, in place of a process that has Ray."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection

import pytest

from rltui.remote.ray import reader
from rltui.remote.ray.driver_process import DriverProcess, serve
from rltui.remote.ray.messages import ClusterError
from tests.remote.ray.simulated_cluster import SimulatedCluster

_PATIENCE_S = 20.0


class Rig:
    """What the drivers of a test connect to."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self.cluster = cluster
        self.missing = ""
        """Why there is no cluster."""
        self.drivers: list[DriverProcess] = []

    def connect(self, _address: str) -> SimulatedCluster:
        if self.missing:
            raise ClusterError(self.missing)
        return self.cluster

    def cut(self) -> None:
        """The newest driver ends as if its process had crashed."""
        self.drivers[-1].end()


@contextmanager
def driver_threads(cluster: SimulatedCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    """JoinedReader of ``ray://`` read this cluster."""
    rig = Rig(cluster)

    class DriverThread(DriverProcess):
        def _launch(self, there: socket.socket) -> None:
            own = there.dup()
            rig.drivers.append(self)
            self._thread = threading.Thread(target=self._serve, args=(own,), daemon=True)
            self._thread.start()

        def _serve(self, own: socket.socket) -> None:
            connection = Connection(os.dup(own.fileno()))
            try:
                serve(connection, rig.connect, clock=cluster.clock)  # type: ignore[arg-type]
            finally:
                with suppress(OSError):
                    own.shutdown(socket.SHUT_RDWR)  # as the end of a process
                own.close()

        def _reap(self, patience_s: float) -> None:
            if patience_s:  # else it would be killed
                self._thread.join(_PATIENCE_S)
                assert not self._thread.is_alive()

    monkeypatch.setattr(reader, "find_spec", lambda _: True)
    monkeypatch.setattr(reader, "DriverProcess", DriverThread)
    yield rig
    for driver in rig.drivers:
        driver.end()
