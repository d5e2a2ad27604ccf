"""Names of runs: a name that was given stays, and is given only once."""

from __future__ import annotations

import itertools


class RunNames:
    """The names of runs, given for ever."""

    def __init__(self) -> None:
        self._given: dict[tuple[int, str], str] = {}
        self._taken: set[tuple[int, str]] = set()

    def give(self, number: int, identity: str, *wanted: str) -> str:
        """The name that a run of a logdir (by number) has, or the first free one of ``wanted``;
        a number is added to the last of them when none is free."""
        known = self._given.get((number, identity))
        if known is None:
            free = (n for n in wanted if (number, n) not in self._taken)
            numbered = (f"{wanted[-1]}~{n}" for n in itertools.count(2))
            more = (n for n in numbered if (number, n) not in self._taken)
            known = self._given[number, identity] = next(itertools.chain(free, more))
            self._taken.add((number, known))
        return known

    def recall(self, number: int, identity: str, name: str) -> None:
        """Give the name that a run had when another process searched."""
        self._given[number, identity] = name
        self._taken.add((number, name))
