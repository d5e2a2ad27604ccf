"""The runs that ``--run`` means, among those that are read.

What shares a directory with a chosen log may be read, too: only the points show that it is of
another run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rltui.core.batch import RunKey
from rltui.session.naming import Naming
from rltui.session.run import RunView


class RunFilter:
    """Owned by the session."""

    def __init__(self, naming: Naming) -> None:
        self._naming = naming
        self._others: set[RunKey] = set()
        """Runs that were read, and not chosen by their names when they appeared."""

    def take(self, key: RunKey) -> None:
        """A run appears."""
        self._naming.add(key)
        if not self._naming.is_chosen(key):
            self._others.add(key)

    @property
    def hidden(self) -> set[RunKey]:
        """The runs that are not to be shown."""
        return {key for key in self._others if not self._naming.is_chosen(key)}

    def shown(self, views: Mapping[RunKey, RunView]) -> Mapping[RunKey, RunView]:
        """Those of the runs that are to be shown."""
        hidden = self.hidden if self._others else ()
        return {k: v for k, v in views.items() if k not in hidden} if hidden else views

    def chosen(self, keys: Iterable[RunKey]) -> set[RunKey]:
        """Those of all runs that another session has read."""
        keys = list(keys)
        for key in keys:
            self._naming.add(key)
        return {key for key in keys if self._naming.is_chosen(key)}
