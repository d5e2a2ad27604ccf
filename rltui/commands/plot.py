"""``rltui plot``: charts drawn once on standard output."""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
from pathlib import Path

from rltui.commands.colour import wants_colour
from rltui.commands.command import (
    Command,
    Exit,
    add_reading,
    logdir,
    nothing_readable,
    number_in,
    open_session,
    with_faults,
)
from rltui.commands.standard_output import emit
from rltui.core.address import is_remote, parse_logdir
from rltui.core.errors import UsageError


def _size(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{2,4})x(\d{1,4})", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 120x30")
    width, height = int(found[1]), int(found[2])
    if not (20 <= width <= 1000 and 5 <= height <= 1000):
        raise argparse.ArgumentTypeError("sizes go from 20x5 to 1000x1000")
    return width, height


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "logdir",
        metavar="LOGDIR",
        type=logdir,
        help="directory of runs, or a log file; more of them may follow",
    )
    parser.add_argument(
        "names",
        nargs="+",
        metavar="TAG",
        help="tag, metric or glob; one chart per tag, with all runs",
    )
    weight = number_in(0.0, math.nextafter(1.0, 0.0), "smoothing goes from 0 (none) to below 1")
    parser.add_argument("--smooth", type=weight, default=0.0, metavar="S", help="0 to below 1")
    parser.add_argument("--log", action="store_true", help="logarithmic y axis")
    parser.add_argument(
        "--x",
        choices=("step", "relative", "wall", "tokens"),
        default="step",
        help="what the x axis counts",
    )
    parser.add_argument("--size", type=_size, metavar="WxH", help="cells, default the terminal's")
    parser.add_argument(
        "--compare", nargs="+", metavar="RUN", help="only these runs, in this order: names or globs"
    )
    parser.add_argument(
        "--group-by",
        metavar="WHAT",
        help="mean and standard deviation of groups: by name (without seeds), or a hyperparameter",
    )
    add_reading(parser)


def _run(options: argparse.Namespace) -> int:
    from rltui.core.yaml_document import nearest
    from rltui.output.comparison_report import compared, grouping_named
    from rltui.output.plot import PlotOptions, find_tags, plot_text

    logdirs, names = _split(options.names)
    options.logdirs = [options.logdir, *logdirs]
    session = open_session(options)
    session.read_all()
    runs = [r for r in session.runs() if r.infos]
    if not runs:
        return nothing_readable(options, session)
    if options.compare:
        runs = compared(runs, options.compare)
    colour = wants_colour(sys.stdout, os.environ)
    import shutil

    terminal = shutil.get_terminal_size((100, 30))
    width, height = options.size or (terminal.columns, max(12, terminal.lines * 2 // 3))
    groups = None if options.group_by is None else grouping_named(runs, options.group_by)
    shape = PlotOptions(width, height, options.smooth, options.log, options.x, colour, groups)
    charts = []
    for name in names:
        tags = find_tags(runs, name)
        if not tags:
            known = {t for r in runs for t in r.infos}
            raise UsageError(f"no tag or metric {name!r}", hint=nearest(name, known))
        charts += [plot_text(runs, t, shape) for t in tags]
    emit("\n".join(charts))
    return with_faults(Exit.OK, session.faults)


def _split(names: list[str]) -> tuple[list[Path], list[str]]:
    """Further LOGDIRs and the TAGs: leading names that are paths, then at least one tag."""
    count = next((i for i, n in enumerate(names) if not _is_logdir(n)), len(names))
    count = min(count, len(names) - 1)
    return [parse_logdir(n) for n in names[:count]], names[count:]


def _is_logdir(name: str) -> bool:
    """Whether it exists here, or is an address that is no tag."""
    return Path(name).exists() or (":/" in name and is_remote(parse_logdir(name)))


COMMAND = Command(
    "plot",
    "draw charts of tags once, with all runs in one chart",
    "rltui plot runs/ actor/entropy 'critic/score/*' --smooth 0.6 --compare a 'b_*'",
    _arguments,
    _run,
)
