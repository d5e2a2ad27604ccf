"""The runs of a session: all that were read, and those to show, which may stand still.

While the runs stand still their logs are read and judged further. The screens keep the objects they
have. Each of these gets a twin, which the session goes on with; in the end the screens' objects
take over what the twin has become. Texts and hyperparameters are copied at once, the points of a
run (the arrays are shared) only once it grows.

What shares a directory with a log that ``--run`` names may be read, too: only the points show that
it is of another run. Such runs are not shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rltui.catalogue import Catalogue
from rltui.core.batch import RunKey
from rltui.session.hyperparameters import TextLimit, Texts
from rltui.session.naming import Naming
from rltui.session.run import Mutes, Pins, RunView
from rltui.store import RunData


class RunList:
    """Owned by the session; main thread only."""

    def __init__(self, naming: Naming, catalogue: Catalogue) -> None:
        self.all: dict[RunKey, RunView] = {}
        """Every run that was read, as it is by now: twins while the runs to show stand still."""
        self.pins = Pins()
        """What the user pinned, in all runs."""
        self.mutes = Mutes(lambda: (*self.all.values(), *self.shown.values()))
        """Findings that the user does not want to see, in all runs."""
        self._naming = naming
        self._catalogue = catalogue
        self._text_limit = TextLimit()
        self._unchosen: set[RunKey] = set()
        """Runs that were not chosen by their names when they appeared."""
        self._still: Mapping[RunKey, RunView] | None = None
        """What the screens show while it stands still."""
        self._twins: dict[int, RunView] = {}
        """Identity of a run that stands still -> what goes on in its place."""
        self._originals: dict[int, RunView] = {}
        """Identity of a twin -> what the screens show in its place."""
        self._sorted: dict[bool, tuple[Mapping[RunKey, RunView], list[RunView]]] = {}
        """Whether runs stand still -> runs, and the same in order."""

    def add(self, data: RunData) -> RunView:
        """Make the record of a run that appears."""
        self._naming.add(data.key)
        if not self._naming.is_chosen(data.key):
            self._unchosen.add(data.key)
        view = self.all[data.key] = RunView(data, self._naming, self._catalogue)
        view.pins, view.mutes = self.pins, self.mutes.names
        view.texts = Texts(self._text_limit)
        return view

    @property
    def hidden(self) -> set[RunKey]:
        """The runs that are not to be shown."""
        return {key for key in self._unchosen if not self._naming.is_chosen(key)}

    @property
    def shown(self) -> Mapping[RunKey, RunView]:
        """The runs to show, by key."""
        return self._chosen(self.all if self._still is None else self._still)

    def _chosen(self, views: Mapping[RunKey, RunView]) -> Mapping[RunKey, RunView]:
        hidden = self.hidden if self._unchosen else ()
        return {k: v for k, v in views.items() if k not in hidden} if hidden else views

    @property
    def now(self) -> Mapping[RunKey, RunView]:
        """The runs to show as they are by now, also while they stand still."""
        return self._chosen(self.all)

    def in_order(self, *, now: bool = False) -> list[RunView]:
        """The runs :attr:`shown`, or those of :attr:`now`, in the order of their keys. Sorted only
        when there are others."""
        views, still = (self.now, False) if now else (self.shown, self._still is not None)
        known = self._sorted.get(still)
        if known is None or views is not known[0] or len(views) != len(known[1]):
            known = self._sorted[still] = views, [views[key] for key in sorted(views)]
        return list(known[1])

    # -- standing still --------------------------------------------------------------------

    def hold(self) -> None:
        """Let the runs to show stand still; their logs are read and judged further."""
        if self._still is not None:
            return
        self._still = dict(self.all)
        self._twins = {id(view): view.twin() for view in self.all.values()}
        self._originals = {id(self._twins[id(v)]): v for v in self.all.values()}
        self._replace(self.twin)
        for view in self._still.values():
            view.texts, view.hyperparameters = view.texts.copy(), view.hyperparameters.copy()

    def release(self) -> None:
        """End the :meth:`hold`: the runs to show are as they are by now."""
        if self._still is None:
            return
        for view in self._still.values():
            view.become(self.twin(view))
        self._replace(self.original)
        self._still, self._twins, self._originals = None, {}, {}

    def twin(self, view: RunView) -> RunView:
        """What goes on in place of a run that stands still; other runs as they are."""
        return self._twins.get(id(view), view)

    def original(self, view: RunView) -> RunView:
        """What the screens show in place of a twin; other runs as they are."""
        return self._originals.get(id(view), view)

    def before_growing(self, key: RunKey) -> None:
        """The points of a run are about to change: the screens keep those of now."""
        view = None if self._still is None else self._still.get(key)
        if view is None or view.data.unloaded or view.data.loading:
            return
        if view.data is self.twin(view).data:
            view.data = view.data.copy()

    def _replace(self, other: Callable[[RunView], RunView]) -> None:
        """Put another record in the place of each run, also where it is the reference of others."""
        for key, view in self.all.items():
            found = self.all[key] = other(view)
            if found.reference is not None:
                found.reference = other(found.reference)
        self._sorted.clear()
