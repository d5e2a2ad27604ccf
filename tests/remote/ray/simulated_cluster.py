"""A cluster whose nodes are directories. Actors live in this process, and die in tests."""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rltui.remote.ray import cluster_reader, nodes, reader
from rltui.remote.ray.helper import HelperProcess, SocketTransport, serve
from rltui.remote.ray.node_reader import ClusterError, Node, NodeReader

_PATIENCE_S = 20.0


@dataclass(eq=False)
class Actor:
    node: str
    reader: NodeReader
    alive: bool = True


@dataclass
class SimulatedCluster:
    """Nodes by id; each has the logdirs below its own directory."""

    roots: dict[str, Path]
    random: random.Random = field(default_factory=lambda: random.Random(1))
    deadly: float = 0.0
    """Chance that an actor dies in a call."""
    names: dict[str, str] = field(default_factory=dict)
    actors: list[Actor] = field(default_factory=list)
    hanging: set[str] = field(default_factory=set)
    """Nodes whose streams hear nothing."""
    missing: str = ""
    """Why there is no cluster."""

    def nodes(self) -> dict[str, Node]:
        return {id_: Node(id_, self.names.get(id_, id_)) for id_ in self.roots}

    def actor(self, node: Node, cls: type[NodeReader], logdirs: Sequence[str], ends: None) -> Actor:
        root = self.roots.get(node.id, Path("/none"))
        self.actors.append(Actor(node.id, cls([f"{root}{place}" for place in logdirs], ends)))
        return self.actors[-1]

    def call(
        self, actor: Actor, method: str, values: tuple[object, ...], timeout_s: float
    ) -> object:
        if self.random.random() < self.deadly / 2:
            self.kill(actor)
        if not self._works(actor):
            raise ClusterError("its reader ended")
        if method == "feed" and actor.node in self.hanging:
            return None
        found = getattr(actor.reader, method)(*values)
        if self.random.random() < self.deadly / 2:
            self.kill(actor)
        if not self._works(actor):
            raise ClusterError("its reader ended")
        return found

    def end(self, actors: Collection[Actor]) -> None:
        for actor in actors:
            self.kill(actor)

    def kill(self, actor: Actor) -> None:
        actor.alive = False
        actor.reader.close()

    def ship_code(self) -> bool:
        return False

    def close(self) -> None:
        self.end(self.actors)

    def _works(self, actor: Actor) -> bool:
        return actor.alive and actor.node in self.roots


class Rig:
    """The helpers of a test, each a thread in place of a process, and what they connect to."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self.cluster = cluster
        self.helpers: list[HelperProcess] = []
        self.transports: list[SocketTransport] = []

    def connect(self, _address: str) -> SimulatedCluster:
        if self.cluster.missing:
            raise ClusterError(self.cluster.missing)
        return self.cluster

    def cut(self) -> None:
        """The newest helper ends as if its process had crashed."""
        self.helpers[-1]._control.shutdown(socket.SHUT_RDWR)
        for transport in self.transports:
            transport.close()
        for actor in self.cluster.actors:
            self.cluster.kill(actor)


@contextmanager
def helper_threads(cluster: SimulatedCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    """Readers of ``ray://`` read this cluster."""
    rig = Rig(cluster)

    class HelperThread(HelperProcess):
        def connected(self) -> SocketTransport | None:
            found = super().connected()
            rig.transports += [found] if found is not None else []
            return found

        def _launch(self, there: socket.socket) -> None:
            own = there.dup()
            rig.helpers.append(self)
            self._thread = threading.Thread(target=self._serve, args=(own,), daemon=True)
            self._thread.start()

        def _serve(self, own: socket.socket) -> None:
            try:
                with suppress(EOFError):
                    serve(own, rig.connect)  # type: ignore[arg-type]
            finally:
                own.close()

        def _reap(self, patience_s: float) -> None:
            if patience_s:  # else it would be killed
                self._thread.join(_PATIENCE_S)
                assert not self._thread.is_alive()

    monkeypatch.setattr("rltui.core.installation.find_spec", lambda _: True)
    monkeypatch.setattr(reader, "HelperProcess", HelperThread)
    for module in (nodes, cluster_reader):
        monkeypatch.setattr(module, "NODES_S", 0.05)
    monkeypatch.setattr(nodes, "_ROOTS_S", 0.2)
    monkeypatch.setattr(nodes, "_PATIENCE_S", 0.05)
    yield rig
    for helper in rig.helpers:
        helper.end()
