"""Runs that stand still for the screens while their logs are read and judged further.

The screens keep the objects they have. Each of them gets a twin, which the session goes on with;
in the end the screens' objects take over what the twin has become. Texts and hyperparameters are
copied at once, the points of a run (the arrays are shared) only once it grows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rltui.core.batch import RunKey
from rltui.session.run import RunView


class Hold:
    """Owned by the session."""

    def __init__(self, views: dict[RunKey, RunView]) -> None:
        """``views`` has the twins from now on."""
        self.shown: Mapping[RunKey, RunView] = dict(views)
        """What the screens show."""
        self._twins = {id(view): view.twin() for view in self.shown.values()}
        self._originals = {id(self._twins[id(v)]): v for v in self.shown.values()}
        _replace(views, self.twin)
        for view in self.shown.values():
            view.texts, view.hyperparameters = view.texts.copy(), view.hyperparameters.copy()

    def twin(self, view: RunView) -> RunView:
        """What goes on in place of a shown run; other runs as they are."""
        return self._twins.get(id(view), view)

    def original(self, view: RunView) -> RunView:
        """What the screens show in place of a twin; other runs as they are."""
        return self._originals.get(id(view), view)

    def before_growing(self, key: RunKey) -> None:
        """The points of a run are about to change: the screens keep those of now."""
        view = self.shown.get(key)
        if view is None or view.data.memory.unloaded or view.data.memory.loading:
            return
        if view.data is self.twin(view).data:
            view.data = view.data.copy()

    def end(self, views: dict[RunKey, RunView]) -> None:
        """Hand over to the screens' objects what became of their runs; ``views`` has them again."""
        for view in self.shown.values():
            view.become(self.twin(view))
        _replace(views, self.original)


def _replace(views: dict[RunKey, RunView], other: Callable[[RunView], RunView]) -> None:
    """Put another record in the place of each run, also where it is the reference of others."""
    for key, view in views.items():
        found = views[key] = other(view)
        if found.reference is not None:
            found.reference = other(found.reference)
