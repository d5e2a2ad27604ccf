"""Counts what is asked of a server, and when to ask no more for a while."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

#: Longest pause between two attempts to use a server, in seconds; names that a server lists in
#: one answer.
_MOST_PAUSE_S = 60.0
_PAGE = 1000


@dataclass(slots=True)
class RequestCount:
    """Requests to one server. Figures are those that providers charge for."""

    lists: int = 0
    """Pages of names."""
    lookups: int = 0
    """Questions about one file (HEAD)."""
    reads: int = 0
    """Ranges of bytes."""
    bytes_read: int = 0
    whole_files: bool = False
    """Whether it sent a whole file where a range was asked for."""

    def listed(self, names: int) -> None:
        """A directory of some names was listed."""
        self.lists += pages(names)

    def looked_up(self) -> None:
        """The status of a file was asked for."""
        self.lookups += 1

    def read(self, size: int) -> None:
        """A range came."""
        self.reads += 1
        self.bytes_read += size


@dataclass(frozen=True, slots=True)
class RemoteCosts:
    """Requests to one server: so far, and by the minute from now on."""

    lists: int
    """Listings and look-ups of single files."""
    reads: int
    """Ranges of bytes."""
    bytes_read: int
    least: int
    """Listings and look-ups by the minute while everything is quiet."""
    most: int
    """The same while every directory changes."""
    whole_files: bool = False
    """Whether the server knows no ranges: each read costs all of the file."""


def pages(names: int) -> int:
    """Pages that a listing of some names takes."""
    return max(1, -(-names // _PAGE))


class Backoff:
    """Pauses that double from failure to failure, with jitter: many readers of one server must
    not come back at the same moment."""

    def __init__(self, jitter: Callable[[], float] = random.random) -> None:
        """``jitter`` gives numbers from 0 to 1."""
        self._jitter = jitter
        self._failures = 0
        self._until = -math.inf

    def failed(self, now: float) -> None:
        """An attempt at ``now`` (monotonic) failed."""
        pause = min(_MOST_PAUSE_S, 2.0**self._failures)
        self._failures = min(self._failures + 1, 16)
        self._until = now + pause * (0.5 + self._jitter())

    def over(self) -> None:
        """An attempt succeeded."""
        self._failures, self._until = 0, -math.inf

    def waits(self, now: float) -> bool:
        """Whether it is too early for another attempt."""
        return now < self._until
