"""Loads after the first paint what keys and the end of the app need, so that neither waits."""

from __future__ import annotations

from collections import deque
from importlib import import_module

from textual.message_pump import MessagePump

#: Modules that are imported on first use, those that are needed soonest first.
LATER = (
    "rltui.pages.metric.related",
    "rltui.pages.findings.findings_detail",
    "rltui.pages.metric.screen",
    "rltui.pages.timing.timing_plot",
    "rltui.tui.help",
    "rltui.pages.metric.explain_screen",
    "rltui.pages.log.screen",
    "rltui.pages.comparison.open_comparison",
    "rltui.pages.hyperparameters.screen",
    "rltui.pages.samples.screen",
    "rltui.tui.writing",
    "rltui.output.text_report",
    "rltui.output.json_document",
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
