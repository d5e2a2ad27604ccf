"""Small enumerations: level, run state, exit, direction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum, IntEnum
from typing import TypeVar

Value = TypeVar("Value")


class Level(IntEnum):
    """How good or bad something is. Ordered: the level of a group is its maximum."""

    UNKNOWN = 0
    """Nothing judged it."""
    OK = 1
    UNSURE = 2
    """The newest rows speak against its tick, not yet surely enough; never the level of a finding
    or of a run."""
    WATCH = 3
    BAD = 4

    @property
    def word(self) -> str:
        """The word of a verdict in JSON and in documents: unknown (also while unsure), ok, watch,
        bad."""
        return (Level.UNKNOWN if self is Level.UNSURE else self).name.lower()

    @property
    def mark(self) -> str:
        """The word of a badge: unknown, ok, unsure, watch, bad."""
        return self.name.lower()


def worst(levels: Iterable[Level]) -> Level:
    """The maximum of several levels; UNKNOWN when there are none."""
    return max(levels, default=Level.UNKNOWN)


class RunState(str, Enum):
    """State of a run, according to its files."""

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


def choose(word: str, names: Mapping[str, Value]) -> tuple[Value | None, str]:
    """Look up ``word`` in any case: a whole name, or the beginning of those of one value.

    Without such a value: None, and a hint that may be empty ("; did you mean perf or progress?").
    """
    word = word.lower()
    if word in names:
        return names[word], ""
    begun = _firsts({n: v for n, v in names.items() if word and n.startswith(word)})
    if len(begun) == 1:
        return names[begun[0]], ""
    if not begun:
        begun = _firsts({n: names[n] for n in similar(word, names, most=2, cutoff=0.5)})
    if not begun:
        return None, ""
    *others, last = begun[:4]
    return None, f"; did you mean {', '.join(others)}{' or ' if others else ''}{last}?"


def similar(word: str, options: Iterable[str], most: int, cutoff: float) -> list[str]:
    """At most so many options that are like ``word``, the closest first; ``cutoff``: 0 to 1."""
    from difflib import get_close_matches  # loaded after a mistake only

    return get_close_matches(word, list(options), most, cutoff)


def _firsts(names: Mapping[str, Value]) -> list[str]:
    """One name for each value, the first."""
    found: dict[int, str] = {}
    for name, value in names.items():
        found.setdefault(id(value), name)
    return list(found.values())
