"""``rltui watch``: the live app; without a path, a list of logs to choose from.

Also ``rltui replay``, which shows a run from its logs as if it were live.
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rltui.commands.command import Exit, nothing_readable, open_config, open_session
from rltui.commands.departure import Departure, departing, say_last
from rltui.commands.standard_output import emit, tell
from rltui.commands.terminal import (
    has_colours,
    has_terminal,
    in_browser,
    is_piped,
    kept_open,
    marker_of,
    mouse_of,
    need_terminal,
    take_pipe,
)
from rltui.commands.verbs import REPLAY_SPEED
from rltui.config import Config
from rltui.core.clock import SystemClock
from rltui.core.errors import UsageError
from rltui.core.text import cell_width, clean, fit
from rltui.demo import SCENARIOS, DemoWriter, demo_runs
from rltui.draw.theme import load_theme
from rltui.draw.view import View
from rltui.output.text_report import verdict_line
from rltui.pages.picker.lines import PathDisplay, suggestions_text
from rltui.session import Session
from rltui.sources.discovery.suggestions import LogdirFinder
from rltui.tui.keys import keys_of

if TYPE_CHECKING:
    from rltui.tui.playback import ReplayStart
    from rltui.tui.shell import Look

#: The thread that writes to the terminal, and the one that reads, get their turn this soon.
_SWITCH_S = 0.001
#: Names of runs in a message.
_MOST_NAMES = 5
#: Steps of a whole run.
_STEPS = 400


def watch(options: argparse.Namespace) -> int:
    """Run the app until the user leaves."""
    if options.logdirs or has_terminal():
        return departing(partial(_until_left, options), sys.stderr, debugged=options.debug)

    # there is no terminal to choose on: name on standard error what could be watched
    paths = _path_display()
    suggestions = LogdirFinder(paths.directory, os.environ, paths.home).find()
    tell(
        "usage: rltui watch LOGDIR...\n"
        "rltui: name a LOGDIR: there is no terminal to choose one on. This was found:\n"
        + suggestions_text(suggestions, paths, SystemClock().now())
    )
    return Exit.USAGE


def _until_left(options: argparse.Namespace, departure: Departure) -> int:
    if is_piped(options):
        return _watch_pipe(options, departure)
    need_terminal("watch")
    config = open_config(options)
    if options.logdirs:
        return _watch(_opened(options, config), config, departure, remembers=True)[0]

    # the user picks and watches by turns; there is one session at a time
    chosen: Path | None = None
    while True:
        code, chosen = _pick(config, departure, chosen)
        if chosen is None:
            return code
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


def _path_display() -> PathDisplay:
    """The working directory and the home directory, as far as there are any."""
    directory = home = None
    with suppress(OSError):
        directory = Path.cwd()
    with suppress(RuntimeError):
        home = Path.home()
    return PathDisplay(directory, home)


def _pick(config: Config, departure: Departure, before: Path | None) -> tuple[int, Path | None]:
    """Exit code, and the path that the user chose on a screen; None when they left it.
    ``before`` is what they chose the last time: the cursor is there."""
    from rltui.pages.picker.screen import PickerApp  # Textual, for who has a terminal

    paths = _path_display()
    finder = LogdirFinder(paths.directory, os.environ, paths.home)
    app = PickerApp(finder.find, paths, SystemClock(), _look(config), before)
    with departure.ending_by(app.exit):
        chosen = app.run(mouse=mouse_of(config))
    return _code_of(app.return_code), None if departure.code else chosen


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
    from rltui.pages.app import RltuiApp  # Textual, for who has a terminal
    from rltui.tui.command_history import CommandHistory  # as above
    from rltui.tui.remembered import RememberedView  # as above

    look = _look(config)
    seen = RememberedView.of_logdirs(session.logdirs, os.environ, look.view) if remembers else None
    app = RltuiApp(
        session, look, config.hooks, from_picker=from_picker, replay=replay, remembered=seen
    )
    app.history = CommandHistory.of_user(os.environ)
    gc.freeze()  # modules and documents stay: the collector need not scan them again
    sys.setswitchinterval(_SWITCH_S)

    def last_line() -> str:
        return verdict_line(session) + "\n"

    def rescue() -> str:
        app.remember()
        return last_line()

    with departure.ending_by(app.exit, rescue):
        back = bool(app.run(mouse=mouse_of(config)))
        if not (back or app.failure or in_browser()):  # which shows nothing but the app
            say_last(last_line())
    if app.failure is not None and not departure.code:
        raise app.failure
    return _code_of(app.return_code), back and not departure.code


def _code_of(app_code: int | None) -> int:
    """The exit code after an app ended: 1, as for a bad run, is Textual's for an error."""
    return Exit.INTERNAL if app_code == 1 else app_code or Exit.OK


def _look(config: Config) -> Look:
    """How the app begins."""
    from rltui.tui.shell import Look  # Textual, for who has a terminal

    view = View(
        config.view.x_axis,
        config.view.smooth,
        marker=marker_of(config),
        colours=has_colours(os.environ),
    )
    theme = load_theme(config.view.theme, config.theme_dirs)

    return Look(view, theme, keys_of(config), config.theme_dirs)


# -- replay --------------------------------------------------------------------------------


def replay(options: argparse.Namespace) -> int:
    """Run the app over a run that grows as it did."""
    return departing(partial(_replay, options), sys.stderr, debugged=options.debug)


def _replay(options: argparse.Namespace, departure: Departure) -> int:
    need_terminal("replay")
    config = open_config(options)
    with reading(", ".join(map(str, options.logdirs))):
        session = open_session(options, config)
        session.read_all()
        from rltui.tui.playback import ReplayStart  # Textual, for who has a terminal
    runs = [r for r in session.runs() if r.points.last_step is not None]
    if not runs:
        return nothing_readable(options, session)
    if len(runs) > 1:
        names = ", ".join(r.name for r in runs[:_MOST_NAMES])
        more = ", ..." if len(runs) > _MOST_NAMES else ""
        raise UsageError(
            f"replay shows one run, and there are {len(runs)}: choose with --run ({names}{more})"
        )

    (run,) = runs
    first, to = run.points.first_step or 0, options.to
    playing = to is None or options.speed is not None
    session.replay.goto(run, first if playing else to)
    session.replay.judge()

    return show(session, config, departure, ReplayStart(options.speed or REPLAY_SPEED, to, playing))


def demo(options: argparse.Namespace) -> int:
    """Watch a made-up run, or list those that there are."""
    if options.list:
        emit("".join(f"{s.id:18} {s.summary}\n" for s in SCENARIOS.values()))
        return Exit.OK
    return departing(partial(_demo, options), sys.stderr, debugged=options.debug)


def _demo(options: argparse.Namespace, departure: Departure) -> int:
    config = open_config(options)
    with tempfile.TemporaryDirectory(prefix="rltui-demo-") as directory:
        logdir = Path(directory) / "demo"
        runs = demo_runs(logdir, options.scenario, _STEPS)
        history = SCENARIOS[options.scenario].history
        need_terminal("demo")
        for run in runs:
            run.write_history(history)
        with ExitStack() as stack:
            for writer in [DemoWriter(run) for run in runs]:
                stack.callback(writer.stop)
                writer.start(options.speed)
            return show(Session([logdir], config), config, departure)
