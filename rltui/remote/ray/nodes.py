"""The nodes of a cluster with an actor on each, and the streams that they carry."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from rltui.core.clock import Clock
from rltui.remote.ray.node_reader import (
    ClusterError,
    CodeMissingError,
    LogRoot,
    Node,
    NodeReader,
)
from rltui.remote.stream_client import StreamError
from rltui.sources.discovery.log_head import EndSigns
from rltui.version import __version__

if TYPE_CHECKING:
    from rltui.remote.ray.cluster import Cluster

#: Seconds between two looks at the nodes of the cluster, and at the roots of a node.
NODES_S = 2.0
_ROOTS_S = 10.0
#: Seconds for a node to say what it has: at first Ray starts a process.
_LOOK_S = 60.0
#: Seconds for which a node waits for news in one call, and for any other answer.
_PATIENCE_S = 2.0
_ANSWER_S = 30.0
#: Nodes that are asked at once.
_TOGETHER = 32
_LEFT = "has left the cluster"


class Opening(NamedTuple):
    """Task of the process that speaks to Ray."""

    address: str
    """Of the cluster: ``auto``, or HOST:PORT of its Ray Client server."""
    logdirs: tuple[str, ...]
    """Paths on the nodes; empty: what Ray's workers write."""
    ends: EndSigns | None = None


@dataclass(slots=True)
class NodeState:
    """A node, by the name that its runs have."""

    node: Node
    actor: Any = None
    roots: dict[tuple[int, str, str], LogRoot] = field(default_factory=dict)
    """All that it ever had."""
    look_at: float = 0.0
    """Monotonic time of the next look at its roots."""
    trouble: str = ""
    """Why it cannot be read; empty when it can."""
    looked: bool = False
    """Whether it has ever said what it has."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while its actor is made or dropped."""


class Nodes:
    """All nodes of a cluster, shared by the connections of a session. Thread-safe."""

    def __init__(self, opening: Opening, connect: Callable[[str], Cluster], clock: Clock) -> None:
        """``connect`` returns the cluster of an address, and raises ClusterError."""
        self._opening = opening
        self._connect = connect
        self._clock = clock
        self._cluster: Cluster | None = None
        self._lock = threading.Lock()
        """Held while somebody looks at all nodes."""
        self._look_at = 0.0
        self.states: dict[str, NodeState] = {}
        """By label: the name of a node, with a part of its id where another one has that name."""

    @property
    def cluster(self) -> Cluster:
        """Raises ClusterError."""
        if self._cluster is None:
            self._cluster = self._connect(self._opening.address)
        return self._cluster

    def look(self) -> None:
        """Look which nodes there are and what they have, unless that was done just now. Raises
        ClusterError where the cluster does not answer, or no node can be read."""
        with self._lock:
            now = self._clock.monotonic()
            if now < self._look_at:
                return
            self._look_at = now + NODES_S
            self._renew(self.cluster.nodes())
            due = [n for n in self.states.values() if n.trouble != _LEFT and now >= n.look_at]
            with ThreadPoolExecutor(_TOGETHER) as pool:
                list(pool.map(self._look_at_roots, due))
            states = self.states.values()
            if not any(state.looked for state in states):
                raise ClusterError(next((n.trouble for n in states), "it has no node"))

    def _renew(self, alive: dict[str, Node]) -> None:
        for state in self.states.values():
            if state.node.id not in alive:
                state.trouble = _LEFT
        names = Counter(node.name for node in alive.values())
        known = {state.node.id for state in self.states.values() if state.trouble != _LEFT}
        for node in alive.values():
            if node.id in known:
                continue
            alone = names[node.name] == 1
            before = self.states.get(node.name)
            if before is not None and before.node.id != node.id and before.trouble != _LEFT:
                alone = False
            label = node.name if alone else f"{node.name}-{node.id[:6]}"
            self.states[label] = NodeState(node)

    def _look_at_roots(self, state: NodeState) -> None:
        try:
            found = self._ask(state, "look", timeout_s=_LOOK_S)
            if found.version != __version__:
                raise CodeMissingError(f"has version {found.version} of rltui")
        except ClusterError as error:
            # Ray copies rltui to the nodes once
            if isinstance(error, CodeMissingError) and self.cluster.ship_code():
                for other in self.states.values():
                    other.actor = None
                self._look_at_roots(state)
                return
            state.trouble = str(error)
            return
        state.look_at = self._clock.monotonic() + _ROOTS_S
        new = {root.key: root for root in found.roots}
        state.roots = state.roots | new  # another thread may go through the old one
        state.looked = True
        state.trouble = ""

    def _ask(self, state: NodeState, method: str, *values: object, timeout_s: float) -> Any:
        """Call a method of a node's actor, which is dropped if that fails. Raises
        ClusterError."""
        with state.lock:
            if state.actor is None:
                arguments = self._opening.logdirs, self._opening.ends
                state.actor = self.cluster.actor(state.node, NodeReader, *arguments)
            actor = state.actor
        try:
            return self.cluster.call(actor, method, values, timeout_s)
        except ClusterError:
            with state.lock:
                if state.actor is actor:
                    state.actor = None
                    state.look_at = 0.0
            self.cluster.end([actor])
            raise

    def connected(self, label: str, roots: Sequence[LogRoot]) -> ActorTransport:
        """A stream of some roots of a node. Raises StreamError."""
        state = self.states[label]
        if state.trouble:
            raise StreamError(state.trouble)

        def ask(method: str, *values: object) -> Any:
            patience_s = _ANSWER_S + _PATIENCE_S
            try:
                return self._ask(state, method, *values, timeout_s=patience_s)
            except ClusterError as error:
                raise StreamError(str(error)) from None

        return ActorTransport(ask, roots)

    def close(self) -> None:
        """End all actors and disconnect."""
        if self._cluster is not None:
            actors = [state.actor for state in list(self.states.values())]
            self._cluster.end([actor for actor in actors if actor is not None])
            self._cluster.close()


class ActorTransport:
    """A :class:`~rltui.remote.stream_client.Transport` that calls of an actor carry."""

    def __init__(self, ask: Callable[..., Any], roots: Sequence[LogRoot]) -> None:
        """``ask`` calls a method of the actor. Raises StreamError."""
        self._ask = ask
        self._channel = uuid4().hex
        self._lost: StreamError | None = None
        ask("open", self._channel, tuple(roots))

    def send(self, data: bytes) -> None:
        try:
            self._ask("feed", self._channel, data)
        except StreamError as error:
            self._lost = error

    def receive(self) -> bytes:
        """The bytes that come next, none if nothing comes for a while. Raises StreamError."""
        if self._lost is not None:
            raise self._lost
        data: bytes | None = self._ask("fetch", self._channel, _PATIENCE_S)
        if data is None:
            raise StreamError("its reader ended")
        return data

    def close(self) -> None:
        """Have :meth:`receive` raise StreamError soon."""
        self._lost = self._lost or StreamError("the reader was stopped")

    def release(self) -> None:
        """End the stream on the node."""
        try:
            self._ask("end", self._channel)
        except StreamError:
            return
