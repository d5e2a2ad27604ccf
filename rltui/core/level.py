"""Small enumerations: level, run state, exit, direction."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, IntEnum


class Level(IntEnum):
    """How good or bad something is. Ordered: the level of a group is its maximum."""

    UNKNOWN = 0
    OK = 1
    WATCH = 2
    BAD = 3

    @property
    def word(self) -> str:
        """The word used in JSON and in documents: unknown, ok, watch, bad."""
        return self.name.lower()


def worst(levels: Iterable[Level]) -> Level:
    """The maximum of several levels; UNKNOWN when there are none."""
    return max(levels, default=Level.UNKNOWN)


class RunState(str, Enum):
    """What a run is doing, according to its files."""

    LIVE = "live"
    STALLED = "stalled"
    FINISHED = "finished"
    STOPPED = "stopped"
    CRASHED = "crashed"
    UNKNOWN = "unknown"


class ExitKind(str, Enum):
    """How a run ended."""

    FINISHED = "finished"
    CRASHED = "crashed"
    CANCELLED = "cancelled"


class Direction(str, Enum):
    """Where a metric should go: up, down, stay inside a range, or nowhere in particular."""

    UP = "up"
    DOWN = "down"
    INSIDE = "inside"
    NONE = "none"
