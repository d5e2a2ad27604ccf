"""``rltui replay`` and ``rltui demo``: the app over runs that are not live, or not real."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from uuid import uuid4

from rltui.commands.command import nothing_readable, open_config, open_session
from rltui.commands.departure import Departure, departing
from rltui.commands.standard_output import emit
from rltui.commands.terminal import need_terminal
from rltui.commands.verbs import REPLAY_SPEED, Exit
from rltui.commands.watch import reading, show
from rltui.core.errors import UsageError
from rltui.core.installation import need
from rltui.core.text import first_of
from rltui.demo import SCENARIOS, DemoWriter, demo_runs
from rltui.session import Session

#: Steps of a whole demo run.
_STEPS = 400


def replay(options: argparse.Namespace) -> int:
    """Run the app over a run that grows as it did."""
    return departing(partial(_replay, options), sys.stderr, debugged=options.debug)


def _replay(options: argparse.Namespace, departure: Departure) -> int:
    need_terminal("replay")
    config = open_config(options)
    with reading(", ".join(map(str, options.logdirs))):
        session = open_session(options, config)
        session.read_all()
        from rltui.tui.playback import ReplayStart  # slow: the line above covers it

    runs = [r for r in session.runs() if r.points.last_step is not None]
    if not runs:
        return nothing_readable(options, session)
    if len(runs) > 1:
        names = first_of([run.name for run in runs])
        raise UsageError(
            f"replay shows one run, and there are {len(runs)}: choose with --run ({names})"
        )

    (run,) = runs
    first = run.points.first_step or 0
    to = options.to
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
    need("demo", "textual", "tensorboard")
    need_terminal("demo")
    config = open_config(options)
    place = Path(tempfile.gettempdir(), f"rltui-demo-{uuid4().hex}")
    logdir = place / "demo"
    history = SCENARIOS[options.scenario].history
    with ExitStack() as stack:
        # Before the directory is there: a signal between the two leaves nothing behind.
        stack.callback(shutil.rmtree, place, ignore_errors=True)
        place.mkdir(mode=0o700)
        runs = demo_runs(logdir, options.scenario, _STEPS)
        runs[0].write_history(history)  # the others' does not keep the first paint waiting
        for writer in [DemoWriter(run) for run in runs]:
            stack.callback(writer.stop)
            writer.start(options.speed, history)

        return show(Session([logdir], config), config, departure)
