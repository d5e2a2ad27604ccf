"""``rltui replay``: a run from its logs as if it were live."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import TYPE_CHECKING

from rltui.commands.command import (
    Command,
    add_logdirs,
    add_reading,
    add_reference,
    add_screen,
    nothing_readable,
    number_in,
    open_config,
    open_session,
)
from rltui.commands.departure import Departure, departing
from rltui.core.errors import UsageError

if TYPE_CHECKING:
    from rltui.session import RunView, Session

#: Logged steps per second without ``--speed``.
_SPEED = 10.0
#: Names of runs in a message.
_MOST_NAMES = 5


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_logdirs(parser)
    parser.add_argument(
        "--speed",
        type=number_in(0.1, 1000.0, "speeds go from 0.1 to 1000"),
        metavar="X",
        help=f"logged steps per second ({_SPEED:g})",
    )
    parser.add_argument(
        "--to",
        type=int,
        metavar="STEP",
        help="open as it was at STEP; with --speed: play from the beginning and pause there",
    )
    add_reading(parser)
    add_reference(parser)
    add_screen(parser)


def _run(options: argparse.Namespace) -> int:
    return departing(partial(_replay, options), sys.stderr, debugged=options.debug)


def _replay(options: argparse.Namespace, departure: Departure) -> int:
    from rltui.commands.terminal import need_terminal
    from rltui.commands.watch import reading, show

    need_terminal("replay")
    config = open_config(options)
    with reading(", ".join(map(str, options.logdirs))):
        session = open_session(options, config)
        session.read_all()
        from rltui.tui.playback import ReplayStart
    run = _only_run(session)
    if run is None:
        return nothing_readable(options, session)
    first, to = run.points.first_step or 0, options.to
    playing = to is None or options.speed is not None
    session.replay.goto(run, first if playing else to)
    session.replay.judge()
    return show(session, config, departure, ReplayStart(options.speed or _SPEED, to, playing))


def _only_run(session: Session) -> RunView | None:
    """The run to replay, None when there is none that can be. Raises UsageError for several."""
    runs = [r for r in session.runs() if r.points.last_step is not None]
    if len(runs) > 1:
        names = ", ".join(r.name for r in runs[:_MOST_NAMES])
        more = ", ..." if len(runs) > _MOST_NAMES else ""
        raise UsageError(
            f"replay shows one run, and there are {len(runs)}: choose with --run ({names}{more})"
        )
    return runs[0] if runs else None


COMMAND = Command(
    "replay",
    "show a run as if it were live: values and verdicts as they were",
    "rltui replay runs/grpo --speed 20",
    _arguments,
    _run,
)
