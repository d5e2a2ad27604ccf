"""Speaks to Ray: chooses who reads what, and hands on what the nodes send."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rltui.core.clock import Clock, SystemClock
from rltui.remote.ray.message import (
    Again,
    Alive,
    Chosen,
    ClusterError,
    CodeMissingError,
    Node,
    NodeFacts,
    NodeTrouble,
    Offsets,
    Opening,
    Phase,
    Placed,
    PlaceNews,
    Reread,
    Standing,
    Task,
    Turn,
    Turned,
)
from rltui.remote.ray.node_reader import NodeReader
from rltui.remote.ray.place import Place

if TYPE_CHECKING:
    from rltui.remote.ray.cluster import Cluster

#: Seconds for the actors to start: Ray starts a process for each.
_START_S = 60.0
#: Seconds between two looks at the nodes of the cluster, and at the places of a node.
_NODES_S, _PLACES_S = 2.0, 10.0
#: Seconds for which a node may wait for news in one call.
_PATIENCE_S = 5.0
#: Seconds until it looks up from calls under way.
_WAIT_S = 0.2
#: Seconds without a word to the session's process.
_ALIVE_S = 5.0
#: Seconds until a reader that ended is started again: doubled each time, up to the second.
_RETRY_S, _MOST_RETRY_S = 1.0, 30.0
#: A node on which readers end more often than this is given up when files are read once.
_MOST_FAILURES = 3

_LEFT = "has left the cluster"


class ClockOffset:
    """Measured by calls: what a call does happens after it was sent and before its answer comes.

    So each call gives bounds, which are as far apart as the call was on its way.
    """

    def __init__(self) -> None:
        self.ahead_s = (-math.inf, math.inf)
        """Seconds by which it is ahead, at least and at most."""

    def measured(self, sent: float, received: float, there: tuple[float, float]) -> None:
        """Take a call into account: times here, and ``there`` at its beginning and its end; all
        in seconds since the epoch."""
        begun, ended = there
        least, most = ended - received, begun - sent
        if least > most:
            return  # one of the clocks was set meanwhile
        narrowed = max(least, self.ahead_s[0]), min(most, self.ahead_s[1])
        self.ahead_s = narrowed if narrowed[0] <= narrowed[1] else (least, most)


@dataclass(slots=True)
class PlacedPlace:
    """A place, who reads it, and how far."""

    place: Place
    label: str
    offsets: Offsets
    reader: str = ""
    """Id of the node; empty for nobody."""


@dataclass(slots=True)
class Link:
    """A node with its actor."""

    node: Node
    actor: Any = None
    call: Any = None
    """Its turn that is under way."""
    called_at: float = 0.0
    """Time when that began, seconds since the epoch."""
    errands: deque[Chosen | Again] = field(default_factory=deque)
    aside: Any = None
    """The call for the first errand, beside its turn."""
    clock: ClockOffset = field(default_factory=ClockOffset)
    facts: NodeFacts | None = None
    seen: dict[tuple[int, str, str], Place] = field(default_factory=dict)
    looked: bool = False
    look_at: float = 0.0
    """Monotonic time of the next look at its places."""
    opens: deque[int] = field(default_factory=deque)
    failures: int = 0
    retry_at: float = 0.0
    trouble: str = ""


class Driver:
    """One turn and one errand per node at a time; hands on what they returned before it asks
    again."""

    def __init__(
        self,
        opening: Opening,
        cluster: Cluster,
        send: Callable[[object], None],
        clock: Clock | None = None,
    ) -> None:
        self._reads = opening.reads
        self._cluster = cluster
        self._send = send
        self._clock = clock or SystemClock()
        self._links: dict[str, Link] = {}
        self._places = [PlacedPlace(place, label, dict(o)) for place, label, o in opening.places]
        self._numbers = {p.place.key: n for n, p in enumerate(self._places)}
        self._ended: set[int] = set()
        self._nodes_at = 0.0
        self._spoke_at = 0.0
        self._phase = ""
        self._task: Task | None = None
        """None: nothing yet."""

    def begin(self, task: Task) -> None:
        """Do that with what was found, from the next turn on."""
        self._task = task

    @property
    def begun(self) -> bool:
        """Whether it was told what to do."""
        return self._task is not None

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do until it is told something."""
        busy = any(n.call is not None or n.errands for n in self._links.values())
        return self.ended and not busy

    def take(self, message: Chosen | Again) -> None:
        """What the session's process asks of the node that reads a place."""
        link = self._links.get(self._places[message.place].reader)
        if link is not None and link.actor is not None:
            link.errands.append(message)
        elif isinstance(message, Again):
            self.say(Reread(message.id, failure="nobody reads it now"))

    def look(self) -> None:
        """Search every node once. Raises ClusterError if no node can run a reader."""
        end = self._clock.monotonic() + _START_S
        self._refresh_nodes()
        while not all(done := [bool(n.looked or n.trouble) for n in self._links.values()]):
            self._tell_phase(f"{sum(done)} of {len(done)} nodes have started a reader")
            self.step()
            if self._clock.monotonic() >= end:
                break
        if not any(n.looked for n in self._links.values()):
            why = next((n.trouble for n in self._links.values()), "it has no node")
            raise ClusterError(why or "no node answers")

    # -- one round ----------------------------------------------------------------------------

    def step(self) -> None:
        """Ask nodes that are idle, and take what one of them returned."""
        now = self._clock.monotonic()
        if not self.ended:
            if now >= self._nodes_at:
                self._refresh_nodes()
            for link in self._links.values():
                if link.call is None and now >= link.retry_at:
                    self._ask(link, now)
        for link in self._links.values():
            if link.aside is None and link.errands:
                link.aside = self._cluster.aside(link.actor, link.errands[0])
        turns = {link.call: link for link in self._links.values() if link.call is not None}
        asides = {link.aside: link for link in self._links.values() if link.aside is not None}
        for call in self._cluster.wait([*turns, *asides], _WAIT_S):
            if call in turns:
                self._take(turns[call])
            else:
                self._take_aside(asides[call])
        if now - self._spoke_at >= _ALIVE_S and not self.ended:
            self.say(Alive())

    @property
    def ended(self) -> bool:
        """Whether all that was asked for is done."""
        if self._task not in (Task.SEARCH, Task.ONCE):
            return False
        idle = all(n.trouble or (n.looked and not n.opens) for n in self._links.values())
        owned = {n for n, p in enumerate(self._places) if p.reader}
        return idle and owned <= self._ended

    def say(self, message: object) -> None:
        """Send to the session's process; waits while that takes no more."""
        self._send(message)
        self._spoke_at = self._clock.monotonic()

    def close(self) -> None:
        """End all actors."""
        self._cluster.end([n.actor for n in self._links.values() if n.actor is not None])
        self._cluster.close()

    # -- nodes --------------------------------------------------------------------------------

    def _refresh_nodes(self) -> None:
        self._nodes_at = self._clock.monotonic() + _NODES_S
        nodes = self._cluster.nodes()
        for gone in self._links.keys() - nodes.keys():
            link = self._links.pop(gone)
            self.say(NodeTrouble(link.node.name, _LEFT))
            self._drop_errands(link, _LEFT)
            self._release(link, _LEFT)
        for node in nodes.values():
            if node.id not in self._links:
                self._links[node.id] = Link(node)

    def _ask(self, link: Link, now: float) -> None:
        if link.actor is None:
            link.actor = self._cluster.actor(link.node, NodeReader, self._reads)
        looks = now >= link.look_at
        if self._task is None and not looks:
            return
        opens = tuple(self._opened(link) if self._task is not None else ())
        quiet = 0.0 if looks or opens else _PATIENCE_S
        link.called_at = self._clock.now()
        turn = Turn(opens, looks, quiet, self._task or Task.FOLLOW)
        link.call = self._cluster.ask(link.actor, turn)

    def _opened(self, link: Link) -> list[tuple[int, Place, Offsets]]:
        found = []
        while link.opens:
            number = link.opens.popleft()
            found.append((number, link.seen[self._places[number].place.key], self._offsets(number)))
        return found

    def _offsets(self, number: int) -> Offsets:
        return dict(self._places[number].offsets)

    def _take(self, link: Link) -> None:
        call, link.call = link.call, None
        try:
            turned = self._cluster.result(call)
        except CodeMissingError as error:
            if not self._ship():
                self._fail(link, str(error))
            return
        except ClusterError as error:
            self._fail(link, str(error))
            return
        if turned.version != self._reads.version:
            if not self._ship():
                self._fail(link, f"has version {turned.version} of rltui")
            return
        for news in turned.news:
            self._hand_on(news)
        if turned.places is not None:
            self._found(link, turned.places)
            self._tell_facts(link, turned)

    def _take_aside(self, link: Link) -> None:
        call, link.aside = link.aside, None
        errand = link.errands.popleft()
        try:
            piece = self._cluster.result(call)
        except ClusterError as error:
            if isinstance(errand, Again):
                self.say(Reread(errand.id, failure=str(error)))
            return
        if isinstance(errand, Again):
            if piece.more:
                link.errands.append(errand)
            self.say(piece)

    def _hand_on(self, news: PlaceNews) -> None:
        self.say(news)
        placed = self._places[news.place]
        placed.offsets.update(news.offsets)
        if news.state is not None and news.state.ended:
            self._ended.add(news.place)
            if self._task is Task.FOLLOW:
                placed.reader = ""  # tried again when the node is searched next time

    def _found(self, link: Link, places: tuple[Place, ...]) -> None:
        link.look_at = self._clock.monotonic() + _PLACES_S
        link.seen |= {place.key: place for place in places}
        if link.trouble or not link.looked:
            self.say(NodeTrouble(link.node.name, ""))
        link.looked, link.failures, link.trouble = True, 0, ""
        for key in link.seen:
            number = self._numbers.get(key)
            if number is None:
                number = self._add(link, link.seen[key])
            if not self._places[number].reader:
                self._assign(number, link)

    def _tell_facts(self, link: Link, turned: Turned) -> None:
        link.clock.measured(link.called_at, self._clock.now(), turned.clock)
        facts = NodeFacts(link.node, len(link.seen), link.clock.ahead_s, turned.memory_bytes)
        if facts != link.facts:
            link.facts = facts
            self.say(facts)

    def _tell_phase(self, text: str) -> None:
        if text != self._phase:
            self._phase = text
            self.say(Phase(text))

    def _add(self, link: Link, place: Place) -> int:
        number = self._numbers[place.key] = len(self._places)
        label = "" if place.shared else self._label(link)
        self._places.append(PlacedPlace(place, label, {}))
        self.say(Placed(place, label))
        return number

    def _label(self, link: Link) -> str:
        """The name of a node, with a part of its id where another node has that name."""
        name = link.node.name
        alike = [n for n in self._links.values() if n.node.name == name]
        taken = {p.label for p in self._places if p.reader not in ("", link.node.id)}
        return name if len(alike) == 1 and name not in taken else f"{name}-{link.node.id[:6]}"

    def _assign(self, number: int, link: Link) -> None:
        self._places[number].reader = link.node.id
        link.opens.append(number)
        self.say(Standing(number, link.node.id))

    # -- trouble ------------------------------------------------------------------------------

    def _fail(self, link: Link, why: str) -> None:
        """An actor failed: start another one later, or leave its places to other nodes."""
        self._end(link, why)
        link.failures += 1
        if self._task is not Task.FOLLOW and link.failures > _MOST_FAILURES:
            self._release(link, why)
        pause = min(_MOST_RETRY_S, _RETRY_S * 2 ** (link.failures - 1))
        link.retry_at = self._clock.monotonic() + pause
        link.trouble = why
        self.say(NodeTrouble(link.node.name, why))
        self._nodes_at = 0.0  # the node may be gone

    def _ship(self) -> bool:
        """Have Ray copy rltui to the nodes, and begin anew; False if it has done so before."""
        if not self._cluster.ship_code():
            return False
        for link in self._links.values():
            self._end(link, "its reader begins anew")
        return True

    def _end(self, link: Link, why: str) -> None:
        """End the actor of a node; another one begins where it ended."""
        self._drop_errands(link, why)
        if link.actor is not None:
            self._cluster.end([link.actor])
        link.actor = link.call = None
        link.look_at = 0.0
        own = [n for n, p in enumerate(self._places) if p.reader == link.node.id]
        link.opens = deque(own)

    def _drop_errands(self, link: Link, why: str) -> None:
        errands, link.errands, link.aside = link.errands, deque(), None
        for errand in errands:
            if isinstance(errand, Again):
                self.say(Reread(errand.id, failure=f"{link.node.name}: {why}"))

    def _release(self, link: Link, why: str) -> None:
        """A node has gone: others that see its places read them on."""
        for number, placed in enumerate(self._places):
            if placed.reader != link.node.id:
                continue
            placed.reader = ""
            others = (n for n in self._links.values() if placed.place.key in n.seen)
            heir = next((n for n in others if n is not link), None)
            if heir is not None:
                self._assign(number, heir)
            else:
                self.say(Standing(number, "", f"{link.node.name} {why}"))
