"""Runs the app over a session."""

from __future__ import annotations

import gc
import os
import sys

from rltui.commands.command import exit_code_of
from rltui.commands.departure import Departure, say_last
from rltui.commands.terminal import in_browser, mouse_of
from rltui.config import Config
from rltui.output.text_report import verdict_line
from rltui.pages.app import RltuiApp
from rltui.session import Session
from rltui.tui.command_history import CommandHistory
from rltui.tui.playback import ReplayStart
from rltui.tui.remembered import RememberedView
from rltui.tui.shell import AppOptions

#: The thread that writes to the terminal, and the one that reads, get their turn this soon.
_SWITCH_S = 0.001


def run_app(
    session: Session,
    look: AppOptions,
    config: Config,
    departure: Departure,
    *,
    from_picker: bool = False,
    replay: ReplayStart | None = None,
    remembers: bool = False,
) -> tuple[int, bool]:
    """Run the app over a session; one line with the verdict stays in the scrollback. Returns the
    exit code, and whether the user went back to the picker. ``remembers``: whether the view is kept
    for the next time."""
    seen = RememberedView.of_logdirs(session.logdirs, os.environ, look.view) if remembers else None
    app = RltuiApp(
        session, look, config.hooks, from_picker=from_picker, replay=replay, remembered=seen
    )
    app.history = CommandHistory.of_user(os.environ)
    gc.freeze()  # modules and documents stay: the collector need not scan them again
    sys.setswitchinterval(_SWITCH_S)

    def rescue() -> str:
        app.remember()
        return verdict_line(session) + "\n"

    with departure.ending_by(app.exit, rescue):
        back = bool(app.run(mouse=mouse_of(config)))
        if not (back or app.failure or in_browser()):  # which shows nothing but the app
            say_last(verdict_line(session) + "\n")
    if app.failure is not None and not departure.code:
        raise app.failure

    return exit_code_of(app.return_code), back and not departure.code
