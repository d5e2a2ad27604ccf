"""The runs in the order of their keys, sorted only when there are others."""

from __future__ import annotations

from collections.abc import Mapping

from rltui.core.batch import RunKey
from rltui.session.run import RunView


class SortedRuns:
    """Owned by the session. A mapping of runs may grow; no run leaves it, and none is replaced
    without :meth:`forget`."""

    def __init__(self) -> None:
        self._views: Mapping[RunKey, RunView] = {}
        self._runs: list[RunView] = []

    def of(self, views: Mapping[RunKey, RunView]) -> list[RunView]:
        """The runs of ``views``, by key."""
        if views is not self._views or len(views) != len(self._runs):
            self._views, self._runs = views, [views[key] for key in sorted(views)]
        return list(self._runs)

    def forget(self) -> None:
        """Other records stand for the runs from now on."""
        self._views, self._runs = {}, []
