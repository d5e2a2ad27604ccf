"""``rltui snapshot``: the state of all runs, once, as text, JSON, Markdown or a picture."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from rltui.commands.colour import wants_colour
from rltui.commands.command import (
    Command,
    Exit,
    add_logdirs,
    add_reading,
    add_reference,
    nothing_readable,
    open_session,
    with_faults,
)
from rltui.commands.standard_output import emit
from rltui.core.errors import UsageError


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_logdirs(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON document with every metric")
    form.add_argument("--markdown", action="store_true", help="for an issue or a chat")
    parser.add_argument("--compare", action="store_true", help="the runs side by side in one table")
    parser.add_argument(
        "--group-by",
        metavar="WHAT",
        help="groups of runs side by side: by name (without seeds), or a hyperparameter",
    )
    form.add_argument("--svg", metavar="FILE", type=Path, help="a picture, in the dark theme")
    add_reading(parser)
    add_reference(parser)


def _run(options: argparse.Namespace) -> int:
    from rltui.draw.theme import load_theme
    from rltui.files.output_target import check_target, target_file
    from rltui.output.comparison_report import comparison_markdown, comparison_text
    from rltui.output.json_document import dump, snapshot_document
    from rltui.output.markdown import snapshot_markdown
    from rltui.output.text_report import painter, snapshot_text
    from rltui.pages.picture import snapshot_svg

    compared = options.compare or options.group_by is not None
    if (options.json or options.svg) and compared:
        raise UsageError("--compare and --group-by make a table: as text or with --markdown")
    target = None if options.svg is None else check_target(options.svg, options.logdirs)
    session = open_session(options)
    session.read_all()
    readable = any(r.is_readable for r in session.runs())
    if options.json:
        emit(dump(snapshot_document(session)))
    elif readable and compared:
        write = comparison_markdown if options.markdown else comparison_text
        emit(write(session.runs(), options.group_by or "", session.reference.run))
    elif readable and target is not None:
        with target_file(target) as file:
            file.write(snapshot_svg(session, load_theme("dark")).encode())
    elif readable:
        paint = painter(wants_colour(sys.stdout, os.environ))
        emit(snapshot_markdown(session) if options.markdown else paint(snapshot_text(session)))
    if not readable:
        return nothing_readable(options, session)
    return with_faults(Exit.OK, session.faults)


COMMAND = Command(
    "snapshot",
    "show the state of all runs once, as text, JSON, Markdown or a picture",
    "rltui snapshot runs/ --json",
    _arguments,
    _run,
)
