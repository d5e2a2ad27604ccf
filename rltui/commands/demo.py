"""``rltui demo``: write a realistic live run and watch it."""

from __future__ import annotations

import argparse
import contextlib
import sys
from functools import partial
from pathlib import Path

from rltui.commands.command import Command, Exit, add_screen, number_in, open_config
from rltui.commands.departure import Departure, departing
from rltui.commands.standard_output import emit

#: Steps of a whole run.
_TOTAL_STEPS = 400


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scenario", metavar="NAME", default="kl-blowup", help="see --list")
    parser.add_argument(
        "--speed",
        type=number_in(0.01, 100.0, "speeds go from 0.01 to 100"),
        default=1.0,
        metavar="X",
        help="steps per second",
    )
    parser.add_argument("--list", action="store_true", help="list the scenarios")
    parser.add_argument("--config", metavar="FILE", type=Path, help="configuration file")
    add_screen(parser)


def _run(options: argparse.Namespace) -> int:
    from rltui.demo import SCENARIOS

    if options.list:
        emit("".join(f"{s.id:18} {s.summary}\n" for s in SCENARIOS.values()))
        return Exit.OK
    return departing(partial(_watch, options), sys.stderr, debugged=options.debug)


def _watch(options: argparse.Namespace, departure: Departure) -> int:
    from rltui.commands.terminal import need_terminal
    from rltui.commands.watch import show
    from rltui.demo import SCENARIOS, DemoWriter, demo_runs
    from rltui.session import Session

    config = open_config(options)
    import tempfile

    with tempfile.TemporaryDirectory(prefix="rltui-demo-") as directory:
        logdir = Path(directory) / "demo"
        runs = demo_runs(logdir, options.scenario, _TOTAL_STEPS)
        history = SCENARIOS[options.scenario].history
        need_terminal("demo")
        for run in runs:
            run.write_history(history)
        with contextlib.ExitStack() as stack:
            for writer in [DemoWriter(run) for run in runs]:
                stack.callback(writer.stop)
                writer.start(options.speed)
            return show(Session([logdir], config), config, departure)


COMMAND = Command(
    "demo",
    "write a realistic live run into a temporary directory and watch it",
    "rltui demo --scenario entropy-collapse --speed 4",
    _arguments,
    _run,
)
