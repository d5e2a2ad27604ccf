"""A cluster whose nodes are directories, for the driver: actors run in this process, one call at a
time, and die when the test says so."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rltui.remote.ray.messages import (
    ClusterError,
    Node,
    NodeNews,
    Search,
    Searched,
    ToNode,
    Wanted,
)
from rltui.remote.ray.node_reader import NodeReader
from tests.clock import ManualClock

#: Seconds to wait for the thread of a reader.
_NEWS_S = 0.02


@dataclass(eq=False)
class Actor:
    node: str
    reader: NodeReader
    alive: bool = True


@dataclass(eq=False)
class Call:
    actor: Actor
    looks: bool = False
    request: ToNode | Search | None = None
    done: bool = False
    result: NodeNews | Searched | None = None


@dataclass
class SimulatedCluster:
    """Nodes by id; each has the logdirs below its own directory."""

    roots: dict[str, Path]
    clock: ManualClock = field(default_factory=ManualClock)
    random: random.Random = field(default_factory=lambda: random.Random(1))
    deadly: float = 0.0
    """Chance that an actor dies in a call."""
    names: dict[str, str] = field(default_factory=dict)
    clock_offsets: dict[str, float] = field(default_factory=dict)
    """Seconds by which the clocks of nodes are ahead."""
    actors: list[Actor] = field(default_factory=list)
    most_at_once: int = 0

    address = "10.0.0.1:6379"
    version = "2.60.0"

    def nodes(self) -> dict[str, Node]:
        return {id_: Node(id_, self.names.get(id_, id_)) for id_ in self.roots}

    def actor(self, node: Node, cls: type[NodeReader], reads: Wanted) -> Actor:
        root = self.roots[node.id]
        reads = reads._replace(logdirs=tuple(f"{root}{p}" for p in reads.logdirs))
        self.actors.append(Actor(node.id, cls(reads)))
        return self.actors[-1]

    def fetch_news(self, actor: Actor, patience_s: float, *, looks: bool) -> Call:
        return Call(actor, looks)

    def handle(self, actor: Actor, asked: ToNode | Search) -> Call:
        return Call(actor, request=asked)

    def wait(self, calls: Sequence[Call], timeout_s: float) -> list[Call]:
        self.clock.advance(timeout_s)
        if not calls:
            return []
        self.most_at_once = max(self.most_at_once, len(calls))
        turns = [id(call.actor) for call in calls if call.request is None]
        requests = [id(call.actor) for call in calls if call.request is not None]
        for actors in (turns, requests):
            assert len(set(actors)) == len(actors), "two calls of one kind to one node"
        call = self.random.choice(calls)
        if self.random.random() < self.deadly / 2:
            self.kill(call.actor)
        if self._works(call.actor):
            call.result, call.done = self._done(call), True
        if self.random.random() < self.deadly / 2:
            self.kill(call.actor)
        return [call]

    def _done(self, call: Call) -> NodeNews | Searched | None:
        if call.request is not None:
            return call.actor.reader.handle(call.request)
        fetched = call.actor.reader.fetch_news(_NEWS_S, looks=call.looks)
        now = self.clock.now() + self.clock_offsets.get(call.actor.node, 0.0)
        return fetched._replace(clock=(now, now))

    def result(self, call: Call) -> NodeNews | Searched | None:
        if not (call.done and self._works(call.actor)):
            raise ClusterError("its reader ended")
        return call.result

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
