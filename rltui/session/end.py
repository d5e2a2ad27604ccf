"""How a run ended, from the logs that can tell it (floor 4)."""

from __future__ import annotations

from rltui.core.batch import LogTail
from rltui.health.ending import Ending, how_it_ended
from rltui.store import RunData

#: Another log of the run that is written so much later shows that the training went on.
_LATER_S = 60.0


def ending_of(run: RunData) -> Ending | None:
    """How the run ended, or None when nothing tells that it did."""
    tail = last_words(run)
    if tail is None and run.exit_code is None:
        return None
    return how_it_ended(tail, run.exit_code)


def last_words(run: RunData) -> LogTail | None:
    """The end of the console log that was written last; None when the training went on."""
    if not run.tails:
        return None
    newest = max(run.tails, key=lambda p: (run.sources[p].modified, run.sources[p].order))
    written = run.sources[newest].modified
    if any(s.modified > written + _LATER_S for s in run.sources.values()):
        return None
    return run.tails[newest]
