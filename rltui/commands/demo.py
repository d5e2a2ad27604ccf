"""``rltui demo``: write a realistic live run and watch it."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from rltui.commands.command import Command, Exit, add_screen, number_in, open_config

#: Steps written before the screen opens, and steps of the whole run.
_HISTORY_STEPS, _TOTAL_STEPS = 120, 400


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
        for scenario in SCENARIOS.values():
            sys.stdout.write(f"{scenario.id:18} {scenario.summary}\n")
        return Exit.OK
    return _watch(options)


def _watch(options: argparse.Namespace) -> int:
    from rltui.commands.watch import need_terminal, show
    from rltui.demo import DemoRun, DemoWriter
    from rltui.session import Session

    config = open_config(options)
    with tempfile.TemporaryDirectory(prefix="rltui-demo-") as directory:
        logdir = Path(directory) / "demo"
        run = DemoRun(logdir, options.scenario, 7, _TOTAL_STEPS)
        need_terminal()
        run.write_history(_HISTORY_STEPS)
        writer = DemoWriter(run)
        writer.start(options.speed)
        try:
            return show(Session([logdir], config), config)
        finally:
            writer.stop()


COMMAND = Command(
    "demo",
    "write a realistic live run into a temporary directory and watch it",
    "rltui demo --scenario entropy-collapse --speed 4",
    _arguments,
    _run,
)
