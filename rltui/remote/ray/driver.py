"""Assigns roots to the nodes of a Ray cluster and forwards what the nodes send."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rltui.core.clock import Clock, SystemClock
from rltui.remote.ray import messages
from rltui.remote.ray.node_reader import NodeReader

if TYPE_CHECKING:
    from rltui.remote.ray.cluster import Cluster

#: Seconds for the actors to start: Ray starts a process for each.
_START_S = 60.0
#: Seconds between two looks at the nodes of the cluster, and at the roots of a node.
_NODES_S, _ROOTS_S = 2.0, 10.0
#: Seconds for which a node may wait for news in one call.
_PATIENCE_S = 5.0
#: Longest wait for calls under way in one step, seconds.
_WAIT_S = 0.2
#: Seconds of silence after which the session's process gets a sign of life.
_ALIVE_S = 5.0
#: Seconds until a reader that ended is started again: doubled each time, up to the second.
_RETRY_S, _MOST_RETRY_S = 1.0, 30.0

_LEFT = "has left the cluster"


class ClockOffset:
    """Offset of a node's clock, bounded by calls: a node reads its clock after a call was sent and
    before the result arrives."""

    def __init__(self) -> None:
        self.bounds_s = (-math.inf, math.inf)
        """Seconds by which the node's clock is ahead: (at least, at most)."""

    def measured(self, sent: float, received: float, there: tuple[float, float]) -> None:
        """Narrow the bounds by a call: local times when it was sent and received, and the node's
        times ``there`` at its beginning and end; all in seconds since the epoch."""
        begun, ended = there
        least, most = ended - received, begun - sent
        if least > most:
            return  # one of the clocks was set meanwhile
        narrowed = max(least, self.bounds_s[0]), min(most, self.bounds_s[1])
        self.bounds_s = narrowed if narrowed[0] <= narrowed[1] else (least, most)


@dataclass(slots=True)
class _RootRecord:
    """A root and the node that reads it."""

    root: messages.LogRoot
    label: str
    reader: str = ""
    """Id of the node; empty for nobody."""


@dataclass(slots=True)
class _NodeRecord:
    """A node with its actor."""

    node: messages.Node
    actor: Any = None
    call: Any = None
    """Its call for news that is under way."""
    called_at: float = 0.0
    """Time when that began, seconds since the epoch."""
    asked: deque[messages.ToNode | messages.Search] = field(default_factory=deque)
    request: Any = None
    """The call for the first of ``asked`` that is under way."""
    clock: ClockOffset = field(default_factory=ClockOffset)
    facts: messages.NodeFacts | None = None
    seen: dict[tuple[int, str, str], messages.LogRoot] = field(default_factory=dict)
    told: set[int] = field(default_factory=set)
    """Numbers of the roots that the session was told this actor reads."""
    channels: set[int] = field(default_factory=set)
    looked: bool = False
    look_at: float = 0.0
    """Monotonic time of the next look at its roots."""
    failures: int = 0
    retry_at: float = 0.0
    trouble: str = ""


class Driver:
    """Runs at most two calls per node at a time, one for news and one for a request, and forwards
    a result before it makes the next call."""

    def __init__(
        self,
        opening: messages.Opening,
        cluster: Cluster,
        send: Callable[[object], None],
        clock: Clock | None = None,
    ) -> None:
        self._reads = opening.reads
        self._cluster = cluster
        self._send = send
        self._clock = clock or SystemClock()
        self._nodes: dict[str, _NodeRecord] = {}
        self._roots = [_RootRecord(root, label) for root, label in opening.roots]
        self._numbers = {p.root.key: n for n, p in enumerate(self._roots)}
        self._nodes_at = 0.0
        self._spoke_at = 0.0

    def receive(self, message: object) -> None:
        """Handle a message of the session's process."""
        if isinstance(message, messages.Search):
            for number, record in enumerate(self._roots):
                owner = self._nodes.get(record.reader)
                if owner is not None:
                    owner.asked.append(messages.Search(number, owner.seen[record.root.key]))
        elif isinstance(message, messages.Failed):
            record = self._roots[message.root]
            if record.reader in self._nodes:
                self._nodes[record.reader].told.discard(message.root)
            record.reader = ""
        elif isinstance(message, messages.ToNode):
            record = self._roots[message.root]
            owner = self._nodes.get(record.reader)
            if message.opens and (owner is None or owner.actor is None):
                self.say(messages.ChannelLost(message.channel, "nobody reads it now"))
            elif owner is not None and owner.actor is not None:
                if message.opens:
                    owner.channels.add(message.channel)
                    message = message._replace(at=owner.seen[record.root.key])
                owner.asked.append(message)

    def look(self) -> None:
        """Search every node once. Raises ClusterError if no node can run a reader."""
        end = self._clock.monotonic() + _START_S
        self._refresh_nodes()
        while not all(n.looked or n.trouble for n in self._nodes.values()):
            self.step()
            if self._clock.monotonic() >= end:
                break
        if not any(n.looked for n in self._nodes.values()):
            why = next((n.trouble for n in self._nodes.values()), "it has no node")
            raise messages.ClusterError(why or "no node answers")

    # -- one round ----------------------------------------------------------------------------

    def step(self) -> None:
        """Call idle nodes and forward what one of them returned."""
        now = self._clock.monotonic()
        if now >= self._nodes_at:
            self._refresh_nodes()
        for record in self._nodes.values():
            if record.call is None and now >= record.retry_at:
                if record.actor is None:
                    record.actor = self._cluster.actor(record.node, NodeReader, self._reads)
                looks = now >= record.look_at
                record.called_at = self._clock.now()
                patience_s = 0.0 if looks else _PATIENCE_S
                record.call = self._cluster.fetch_news(record.actor, patience_s, looks=looks)
            if record.request is None and record.asked and record.actor is not None:
                record.request = self._cluster.handle(record.actor, record.asked[0])

        calls = {r.call: r for r in self._nodes.values() if r.call is not None}
        requests = {r.request: r for r in self._nodes.values() if r.request is not None}
        for call in self._cluster.wait([*calls, *requests], _WAIT_S):
            if call in calls:
                self._returned(calls[call])
            else:
                self._handled(requests[call])
        if now - self._spoke_at >= _ALIVE_S:
            self.say(messages.Alive())

    def say(self, message: object) -> None:
        """Send to the session's process; blocks while its socket is full."""
        self._send(message)
        self._spoke_at = self._clock.monotonic()

    def close(self) -> None:
        """End all actors."""
        self._cluster.end([n.actor for n in self._nodes.values() if n.actor is not None])
        self._cluster.close()

    def _returned(self, record: _NodeRecord) -> None:
        """Forward the news of a node."""
        call, record.call = record.call, None
        try:
            fetched = self._cluster.result(call)
            if fetched.version != self._reads.version:
                raise messages.CodeMissingError(f"has version {fetched.version} of rltui")
        except messages.ClusterError as error:
            if not (isinstance(error, messages.CodeMissingError) and self._ship()):
                self._fail(record, str(error))
            return
        for news in fetched.news:
            if news.ended:
                record.channels.discard(news.channel)
            self.say(news)
        if fetched.roots is not None:
            self._note_roots(record, fetched.roots)
            record.clock.measured(record.called_at, self._clock.now(), fetched.clock)
            ahead_s, memory = record.clock.bounds_s, fetched.memory_bytes
            facts = messages.NodeFacts(record.node, len(record.seen), ahead_s, memory)
            if facts != record.facts:
                record.facts = facts
                self.say(facts)

    def _note_roots(self, record: _NodeRecord, roots: tuple[messages.LogRoot, ...]) -> None:
        """Assign to a node the roots that it sees and no other node reads."""
        record.look_at = self._clock.monotonic() + _ROOTS_S
        record.seen |= {root.key: root for root in roots}
        if record.trouble or not record.looked:
            self.say(messages.NodeTrouble(record.node.name, ""))
        record.looked, record.failures, record.trouble = True, 0, ""
        for key, root in record.seen.items():
            number = self._numbers.get(key)
            if number is None:
                number = self._numbers[key] = len(self._roots)
                label = "" if root.shared else self._label(record)
                self._roots.append(_RootRecord(root, label))
                self.say(messages.NewRoot(root, label))
            if self._roots[number].reader in ("", record.node.id) and number not in record.told:
                self._assign(number, record)

    def _handled(self, record: _NodeRecord) -> None:
        call, record.request = record.request, None
        asked = record.asked.popleft()
        try:
            found = self._cluster.result(call)
        except messages.ClusterError as error:
            if isinstance(asked, messages.Search):
                self.say(messages.Searched(asked.root, failure=str(error)))
            else:
                self.say(messages.ChannelLost(asked.channel, str(error)))
            return
        if found is not None:
            self.say(found)

    def _label(self, record: _NodeRecord) -> str:
        """The name of a node, with a part of its id where another node has that name."""
        name = record.node.name
        alike = [n for n in self._nodes.values() if n.node.name == name]
        taken = {p.label for p in self._roots if p.reader not in ("", record.node.id)}
        return name if len(alike) == 1 and name not in taken else f"{name}-{record.node.id[:6]}"

    def _assign(self, number: int, record: _NodeRecord) -> None:
        self._roots[number].reader = record.node.id
        record.told.add(number)
        self.say(messages.Assigned(number, record.node.id))

    # -- nodes and their trouble --------------------------------------------------------------

    def _refresh_nodes(self) -> None:
        """Update the list of nodes; roots of a node that has left go to another that sees them."""
        self._nodes_at = self._clock.monotonic() + _NODES_S
        nodes = self._cluster.nodes()
        for gone in self._nodes.keys() - nodes.keys():
            record = self._nodes.pop(gone)
            self.say(messages.NodeTrouble(record.node.name, _LEFT))
            self._end_channels(record, _LEFT)
            for number, root in enumerate(self._roots):
                if root.reader != gone:
                    continue
                root.reader = ""
                key = root.root.key
                heir = next((n for n in self._nodes.values() if key in n.seen), None)
                if heir is not None and heir.actor is not None:
                    self._assign(number, heir)
                else:
                    self.say(messages.Assigned(number, "", f"{record.node.name} {_LEFT}"))
        for node in nodes.values():
            if node.id not in self._nodes:
                self._nodes[node.id] = _NodeRecord(node)

    def _fail(self, record: _NodeRecord, why: str) -> None:
        """An actor failed: start another one later."""
        self._end(record, why)
        record.failures += 1
        pause = min(_MOST_RETRY_S, _RETRY_S * 2 ** (record.failures - 1))
        record.retry_at = self._clock.monotonic() + pause
        record.trouble = why
        self.say(messages.NodeTrouble(record.node.name, why))
        self._nodes_at = 0.0  # the node may be gone

    def _ship(self) -> bool:
        """Have Ray copy rltui to the nodes and restart all actors; False if done before."""
        if not self._cluster.ship_code():
            return False
        for record in self._nodes.values():
            self._end(record, "its reader begins anew")
        return True

    def _end(self, record: _NodeRecord, why: str) -> None:
        """End the actor of a node; the next one resumes where it ended."""
        self._end_channels(record, why)
        if record.actor is not None:
            self._cluster.end([record.actor])
        record.actor = record.call = None
        record.look_at = 0.0
        record.told.clear()

    def _end_channels(self, record: _NodeRecord, why: str) -> None:
        asked, record.asked, record.request = record.asked, deque(), None
        for channel in record.channels:
            self.say(messages.ChannelLost(channel, f"{record.node.name}: {why}"))
        record.channels.clear()
        for search in asked:
            if isinstance(search, messages.Search):
                self.say(messages.Searched(search.root, failure=why))
