"""How a run ended, and the last lines of its log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rltui.core.level import ExitKind
from rltui.session import RunView

if TYPE_CHECKING:
    from rltui.health.crash import ExitStatus


def exit_words(ending: ExitStatus) -> str:
    """``cancelled: Slurm time limit``, ``crashed: CUDA out of memory, then Slurm time limit``."""
    word = "cancelled" if ending.kind is ExitKind.CANCELLED else ending.kind.value
    return f"{word}: {', then '.join((ending.reason, *ending.after))}"


def last_lines(run: RunView) -> tuple[str, ...]:
    """The last lines of the console log that was written last; none without such a log."""
    path = newest_log(run)
    return () if path is None else run.data.files.tails[path].lines


def newest_log(run: RunView) -> Path | None:
    data = run.data.files
    return max(data.tails, key=lambda p: data.sources[p].modified, default=None)
