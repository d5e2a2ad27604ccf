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

from rltui.commands.command import exit_code_of, open_config, open_session
from rltui.commands.departure import Departure, departing
from rltui.commands.terminal import (
    has_colours,
    has_terminal,
    is_piped,
    kept_open,
    marker_of,
    mouse_of,
    need_terminal,
    take_pipe,
)
from rltui.config import Config
from rltui.core.text import cell_width, clean, fit
from rltui.draw.theme import load_theme
from rltui.draw.view import View
from rltui.session import Session
from rltui.tui.keys import keys_of

if TYPE_CHECKING:
    from rltui.tui.playback import ReplayStart
    from rltui.tui.shell import AppOptions


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
        return _run(options, config, departure)[0]

    # the user picks and watches by turns; there is one session at a time
    from rltui.commands.pick import pick  # not needed with a LOGDIR

    chosen: Path | None = None
    while True:
        chosen, app_code = pick(_look(config), mouse_of(config), departure, chosen)
        if chosen is None:
            return exit_code_of(app_code)
        options.logdirs = [chosen]
        code, back = _run(options, config, departure, from_picker=True)
        if not back:
            return code
        gc.unfreeze()
        gc.collect()  # the session that was left


def _run(
    options: argparse.Namespace, config: Config, departure: Departure, *, from_picker: bool = False
) -> tuple[int, bool]:
    """Run the app over the LOGDIR arguments; until it paints, a line says what is being read.
    Returns the exit code, and whether the user went back to the picker."""
    with reading(", ".join(map(str, options.logdirs))):
        session = open_session(options, config, waits=True, partial=True, later=True, absent=True)
        from rltui.commands.app import run_app  # slow: the line above covers it

    look = _look(config)
    return run_app(session, look, config, departure, from_picker=from_picker, remembers=True)


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
    from rltui.commands.app import run_app  # Textual, only for those who have a terminal

    return run_app(session, _look(config), config, departure, replay=replay)[0]


def _look(config: Config) -> AppOptions:
    """How the app begins."""
    from rltui.tui.shell import AppOptions  # Textual, only for those who have a terminal

    view = View(
        config.view.x_axis,
        config.view.smooth,
        marker=marker_of(config),
        colours=has_colours(os.environ),
    )
    theme = load_theme(config.view.theme, config.theme_dirs)

    return AppOptions(view, theme, keys_of(config), config.theme_dirs)
