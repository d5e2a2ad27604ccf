"""The findings that the user does not want to see."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from rltui.health.model import MutedFinding

if TYPE_CHECKING:
    from rltui.session.run import RunView


class Mutes(Collection[MutedFinding]):
    """Names of findings; they are muted in all runs of a session."""

    def __init__(self, runs: Callable[[], Iterable[RunView]]) -> None:
        """``runs`` returns the records of all runs, shown or not."""
        self._runs = runs
        self.names: frozenset[MutedFinding] = frozenset()

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[MutedFinding]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def replace(self, names: Iterable[MutedFinding]) -> None:
        """Leave the findings of these names, and no others, out of the verdict of every run."""
        self.names = frozenset(names)
        for run in self._runs():
            run.mutes = self.names
            run.version += 1

    def toggle(self, name: MutedFinding) -> bool:
        """Mute a finding, or no longer; whether it is muted now."""
        self.replace(self.names ^ {name})
        return name in self.names
