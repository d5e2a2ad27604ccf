"""``rltui demo``: write a realistic live run and watch it."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from rltui.commands.command import Command, Exit, add_screen, open_config
from rltui.core.errors import UsageError

#: Steps written before the screen opens, and steps of the whole run.
_HISTORY_STEPS, _TOTAL_STEPS = 120, 400


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scenario", metavar="NAME", default="kl-blowup", help="see --list")
    parser.add_argument("--speed", type=_speed, default=1.0, metavar="X", help="steps per second")
    parser.add_argument("--list", action="store_true", help="list the scenarios")
    parser.add_argument("--config", metavar="FILE", type=Path, help="configuration file")
    add_screen(parser)


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0.01 <= speed <= 100.0:
        raise argparse.ArgumentTypeError("speeds go from 0.01 to 100")
    return speed


def _run(options: argparse.Namespace) -> int:
    from rltui.core.yaml_document import nearest
    from rltui.demo import SCENARIOS

    if options.list:
        for scenario in SCENARIOS.values():
            sys.stdout.write(f"{scenario.id:18} {scenario.summary}\n")
        return Exit.OK
    if options.scenario not in SCENARIOS:
        hint = nearest(options.scenario, SCENARIOS)
        raise UsageError(
            f"no scenario {options.scenario!r}; one of {', '.join(SCENARIOS)}"
            + (f"; did you mean {hint!r}?" if hint else "")
        )
    return _watch(options)


def _watch(options: argparse.Namespace) -> int:
    from rltui.commands.watch import need_terminal, show
    from rltui.demo import DemoRun, DemoWriter
    from rltui.session import Session

    need_terminal()
    config = open_config(options)
    with tempfile.TemporaryDirectory(prefix="rltui-demo-") as directory:
        logdir = Path(directory) / "demo"
        run = DemoRun(logdir, options.scenario, 7, _TOTAL_STEPS)
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
