"""The app that shows a session."""

from __future__ import annotations

from typing import Any

from textual.screen import Screen

from rltui.config import HooksConfig
from rltui.present.screens.keys import EVERYWHERE
from rltui.session import Session
from rltui.tui.alerts import Alerts
from rltui.tui.pump import Pump
from rltui.tui.screens.runs import RunsScreen
from rltui.tui.screens.screen import ShellScreen
from rltui.tui.shell import Look, ShellApp


class RltuiApp(ShellApp[bool], places=EVERYWHERE):
    """Shows a session. The reader thread is started on mount and joined on exit.

    Returns True when the user went back to the picker.
    """

    def __init__(
        self,
        session: Session,
        look: Look,
        hooks: HooksConfig | None = None,
        *,
        from_picker: bool = False,
    ) -> None:
        super().__init__(look)
        self._alerts = Alerts(self, session, hooks or HooksConfig(terminal="off"))
        self.session = session
        self._from_picker = from_picker
        self.pump = Pump(self, session, self._show_news)

    def get_default_screen(self) -> Screen[Any]:
        return RunsScreen(self.session, self._from_picker)

    def on_mount(self) -> None:
        """Start reading once the screen has been painted: it says what is being read."""
        self.call_after_refresh(self.pump.start)

    def on_unmount(self) -> None:
        """End the reader thread."""
        self.session.stop()
        self._alerts.close()

    def _show_news(self, new_run: bool) -> None:
        """Have every visible screen show the present facts."""
        self._alerts.look()
        for screen in reversed(self.screen_stack):
            if isinstance(screen, ShellScreen):
                screen.on_news()
            if not screen.is_modal:
                break
        if self.pump.paused:
            return
        if new_run and not isinstance(self.screen, RunsScreen) and len(self.session.views) > 1:
            self.say(f"{len(self.session.views)} runs now: r lists them")

    def action_pause(self) -> None:
        """Let the view stand still, or go on."""
        self.pump.pause()
        if isinstance(self.screen, ShellScreen):
            self.screen.on_news()

    def state_words(self, *, options: bool = True) -> str:
        words = super().state_words(options=options)
        return "  ".join(x for x in ("paused" if self.pump.paused else "", words) if x)
