"""``rltui demo``: write a realistic live run and watch it."""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from rltui.commands.command import Exit, open_config
from rltui.commands.departure import Departure, departing
from rltui.commands.standard_output import emit
from rltui.commands.terminal import need_terminal
from rltui.demo import SCENARIOS, DemoWriter, demo_runs

#: Steps of a whole run.
_STEPS = 400


def demo(options: argparse.Namespace) -> int:
    """Watch a made-up run, or list those that there are."""
    if options.list:
        emit("".join(f"{s.id:18} {s.summary}\n" for s in SCENARIOS.values()))
        return Exit.OK
    return departing(partial(_demo, options), sys.stderr, debugged=options.debug)


def _demo(options: argparse.Namespace, departure: Departure) -> int:
    from rltui.commands.watch import show  # more than a list needs
    from rltui.session import Session  # more than a list needs

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
