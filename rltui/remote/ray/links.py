"""What the driver knows of nodes and places. Records only."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from rltui.remote.ray.clock_offset import ClockOffset
from rltui.remote.ray.message import Again, Chosen, NodeFacts, Offsets
from rltui.remote.ray.node import Node
from rltui.remote.ray.place import Place


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
