"""The runs of a session beside one of them, the reference run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rltui.core.batch import RunKey
from rltui.session.run import RunView

if TYPE_CHECKING:
    from rltui.health.model import Finding


class Comparison:
    """Which run the others are compared with, and where they differ. Main thread only."""

    def __init__(self, views: Mapping[RunKey, RunView]) -> None:
        self._views = views
        self.wanted: RunKey | str | None = None
        """Key or name of the reference run, or the end of its path; None for none."""

    @property
    def reference(self) -> RunView | None:
        """The reference run; None while it is not known."""
        wanted = self.wanted
        if wanted is None:
            return None
        if isinstance(wanted, RunKey):
            return self._views.get(wanted)
        return next((v for v in self._views.values() if _is_named(v, wanted)), None)

    def findings(self, view: RunView) -> tuple[Finding, ...]:
        """Where a run has left the course of the reference run, as at most one finding."""
        reference = view.reference = self.reference
        if reference is None or reference is view or view.recognition is None:
            return ()
        from rltui.health.reference import Compared, departure

        vital = tuple(k for q in view.recognition.scenario.questions for k in q.metrics)
        own = Compared(view.data, view.infos)
        found = departure(own, Compared(reference.data, reference.infos), vital)
        return () if found is None else (found,)


def _is_named(view: RunView, name: str) -> bool:
    return name in (view.name, view.key.name) or view.key.name.endswith(f"/{name}")
