"""How a run ended, from the logs that can tell it."""

from __future__ import annotations

from rltui.health.crash import Ending, how_it_ended
from rltui.store import RunData

#: Another log of the run that is written so much later shows that the training went on.
_LATER_S = 60.0


def ending_of(run: RunData) -> Ending | None:
    """How the run ended, or None when nothing tells that it did."""
    last = max((s.modified for s in run.sources.values()), default=0.0)
    told = [p for p in run.facts if run.sources[p].modified >= last - _LATER_S]
    told.sort(key=lambda p: (run.sources[p].modified, run.sources[p].order))
    codes = [c for p in told if (c := run.facts[p].exit_code) is not None]
    tails = [t for p in told if (t := run.facts[p].tail) is not None]
    if not codes and not tails:
        return None
    return how_it_ended(tails[-1] if tails else None, codes[-1] if codes else None)
