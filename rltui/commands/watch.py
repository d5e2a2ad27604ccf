"""``rltui watch``: the live app; without a path, a list of logs to choose from."""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rltui.commands.command import open_config, open_session
from rltui.commands.departure import Departure, departing, say_last
from rltui.commands.standard_output import tell
from rltui.commands.terminal import (
    has_colours,
    has_terminal,
    in_browser,
    is_piped,
    kept_open,
    knows_links,
    marker_of,
    mouse_of,
    need_terminal,
    take_pipe,
)
from rltui.commands.verbs import Exit
from rltui.config import Config
from rltui.core.text import cell_width, clean, fit
from rltui.draw.theme import load_theme
from rltui.draw.view import View
from rltui.facts.run_columns import column_names
from rltui.output.text_report import verdict_line
from rltui.session import Session
from rltui.tui.keys import keys_of
from rltui.tui.remembered import RememberedView

if TYPE_CHECKING:
    from rltui.tui.playback import ReplayStart
    from rltui.tui.shell import AppOptions

#: The thread that writes to the terminal, and the one that reads, get their turn this soon.
_SWITCH_S = 0.001


def watch(options: argparse.Namespace) -> int:
    """Run the app until the user leaves."""
    if not options.logdirs and not has_terminal():
        from rltui.commands.pick import list_suggestions  # not needed with a LOGDIR

        return list_suggestions()
    return departing(partial(_until_left, options), sys.stderr, debugged=options.debug)


def _until_left(options: argparse.Namespace, departure: Departure) -> int:
    if is_piped(options):
        return _watch_pipe(options, departure)
    need_terminal("watch")
    config = open_config(options)
    if options.logdirs:
        return _watch(_opened(options, config), config, departure, remembers=True)[0]

    # the user picks and watches by turns; there is one session at a time
    from rltui.commands.pick import pick  # not needed with a LOGDIR

    chosen: Path | None = None
    while True:
        chosen, app_code = pick(_look(config), mouse_of(config), departure, chosen)
        if chosen is None:
            return _code_of(app_code)
        options.logdirs = [chosen]
        code, back = _watch(
            _opened(options, config), config, departure, from_picker=True, remembers=True
        )
        if not back:
            return code
        gc.unfreeze()
        gc.collect()  # the session that was left


def _opened(options: argparse.Namespace, config: Config) -> Session:
    """A session over the LOGDIR arguments; a line says what is being read."""
    with reading(", ".join(map(str, options.logdirs))):
        session = open_session(options, config, waits=True, partial=True, later=True, absent=True)
        import rltui.pages.app  # noqa: F401 - slow: the line above covers it
    return session


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Say on the terminal what is being done until the app paints."""
    terminal = sys.__stdout__  # where the app paints, too
    line = fit(f"reading {clean(what)} ...", shutil.get_terminal_size().columns - 1)

    def write(text: str) -> None:
        if terminal is not None and terminal.isatty():
            terminal.write(text + "\r")
            terminal.flush()

    write(line)
    try:
        yield
    finally:
        write(" " * cell_width(line))


def _watch_pipe(options: argparse.Namespace, departure: Departure) -> int:
    """Standard input is a log; the keys come from the terminal."""
    with kept_open(0):  # until the terminal takes its place
        options.pipe = take_pipe()
    with kept_open(options.pipe):
        need_terminal("watch")
        config = open_config(options)
        return show(open_session(options, config), config, departure)


def show(
    session: Session, config: Config, departure: Departure, replay: ReplayStart | None = None
) -> int:
    """Run the app over a session; one line with the verdict stays in the scrollback."""
    return _watch(session, config, departure, replay=replay)[0]


def _watch(
    session: Session,
    config: Config,
    departure: Departure,
    *,
    from_picker: bool = False,
    replay: ReplayStart | None = None,
    remembers: bool = False,
) -> tuple[int, bool]:
    """Run the app over a session: exit code, and whether the user went back to the picker."""
    from rltui.pages.app import RltuiApp  # Textual, only for those who have a terminal
    from rltui.tui.command_history import CommandHistory  # as above

    look = _look(config)
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
        for trouble in app.undelivered:
            tell(f"rltui: {clean(trouble)}\n")
    if app.failure is not None and not departure.code:
        raise app.failure

    return _code_of(app.return_code), back and not departure.code


def _code_of(app_code: int | None) -> int:
    """The exit code after an app ended: 1, as for a bad run, is Textual's for an error."""
    return Exit.INTERNAL if app_code == 1 else app_code or Exit.OK


def _look(config: Config) -> AppOptions:
    """How the app begins."""
    from rltui.tui.shell import AppOptions  # Textual, only for those who have a terminal

    view = View(
        config.view.x_axis,
        config.view.smooth,
        marker=marker_of(config),
        colours=has_colours(os.environ),
        links=knows_links(sys.stdout, os.environ) and not in_browser(),
        columns=column_names(" ".join(config.view.columns)),
    )
    theme = load_theme(config.view.theme, config.theme_dirs)

    return AppOptions(view, theme, keys_of(config), config.theme_dirs)
