"""Loads after the first paint what keys and the end of the app need, so that neither waits."""

from __future__ import annotations

from collections import deque
from importlib import import_module

from textual.message_pump import MessagePump

#: Modules that are imported on first use, those that are needed soonest first.
LATER = (
    "rltui.present.screens.related",
    "rltui.present.screens.findings_detail",
    "rltui.tui.screens.metric",
    "rltui.present.screens.timing_plot",
    "rltui.tui.screens.help",
    "rltui.tui.screens.explain",
    "rltui.tui.screens.log",
    "rltui.tui.screens.open_comparison",
    "rltui.tui.screens.hyperparameters",
    "rltui.tui.screens.samples",
    "rltui.tui.writing",
    "rltui.present.output.text_report",
    "rltui.present.output.json_document",
    "rltui.health.muting",
    "rltui.health.crash",
)
#: Pause before each of them, seconds: a key waits for one at most.
_APART_S = 0.05


class Warming:
    """Imports one module at a time on the loop of ``owner``."""

    def __init__(self, owner: MessagePump) -> None:
        self._owner = owner
        self._left = deque(LATER)

    def go_on(self) -> None:
        """Import the rest, a module after each pause."""
        if self._left:
            self._owner.set_timer(_APART_S, self._next)

    def _next(self) -> None:
        import_module(self._left.popleft())
        self.go_on()
