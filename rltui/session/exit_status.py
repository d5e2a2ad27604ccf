"""How a run ended, from all logs that show it."""

from __future__ import annotations

from rltui.health.crash import ExitStatus, exit_status
from rltui.store.files import RunFiles

#: A log of the run that is written this much later shows that the training went on, seconds.
_LATER_S = 60.0


def exit_status_of(files: RunFiles) -> ExitStatus | None:
    """How the run ended, or None when no log shows an end."""
    last = files.modified or 0.0
    found = [f for f in files.by_path.values() if f.source.modified >= last - _LATER_S]
    found.sort(key=lambda f: (f.source.modified, f.source.order))
    codes = [f.exit_code for f in found if f.exit_code is not None]
    tails = [f.tail for f in found if f.tail is not None]
    if not codes and not tails:
        return None
    return exit_status(tails[-1] if tails else None, codes[-1] if codes else None)
