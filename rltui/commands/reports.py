"""``rltui snapshot``, ``report``, ``plot`` and ``canary``: read once, print once."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from rltui.commands import command
from rltui.commands.standard_output import emit, emitted
from rltui.commands.terminal import knows_links, wants_colour
from rltui.commands.verbs import Exit
from rltui.core.address import is_remote, parse_logdir
from rltui.core.errors import UsageError
from rltui.core.installation import need
from rltui.core.yaml_document import nearest
from rltui.draw.theme import load_theme
from rltui.facts.run_columns import names_in
from rltui.facts.x_axis import KINDS, axes_of
from rltui.files.disk import check_target, target_file
from rltui.output import markdown
from rltui.output.canary import canary_document, canary_text
from rltui.output.json_document import snapshot_document
from rltui.output.json_text import dump
from rltui.output.plot import PlotOptions, find_tags, plot_text
from rltui.output.text_report import painter, snapshot_text
from rltui.session import Session


def snapshot(options: argparse.Namespace) -> int:
    """Print the state of all runs, or draw it."""
    compares = options.compare or options.group_by is not None
    if (options.json or options.svg) and compares:
        raise UsageError("--compare and --group-by make a table: as text or with --markdown")
    target = None
    if options.svg is not None:
        need("--svg", "textual")
        target = check_target(options.svg, options.logdirs)
    session = command.open_session(options)
    session.read_all()

    readable = any(r.is_readable for r in session.runs())
    if options.json:
        emit(dump(snapshot_document(session)))
    elif readable and target is not None:
        from rltui.pages.picture import snapshot_svg  # for a picture only

        with target_file(target) as file:
            file.write(snapshot_svg(session, load_theme("dark")).encode())
    elif readable:
        emit(_report(options, session, compares=compares))
    if not readable:
        return command.nothing_readable(options, session)

    return command.with_faults(Exit.OK, session.faults)


def _report(options: argparse.Namespace, session: Session, *, compares: bool) -> str:
    if compares:
        runs = session.runs()
        ending = ".md" if options.markdown else ".txt"
        return markdown.comparison_text(runs, options.group_by or "", session.reference.run, ending)
    if options.markdown:
        return markdown.snapshot_markdown(session)
    linked = session.runs() if knows_links(sys.stdout, os.environ) else ()
    return painter(wants_colour(sys.stdout, os.environ), linked)(snapshot_text(session))


def report(options: argparse.Namespace) -> int:
    """Write one HTML file with verdicts, charts and settings."""
    if options.output is None and sys.stdout.isatty():
        raise UsageError("a report is a file to open in a browser: name it with -o FILE")
    target = None if options.output is None else check_target(options.output, options.logdirs)
    session = command.open_session(options)
    session.read_all()
    command.report_trouble(session)
    if not any(r.is_readable for r in session.runs()):
        return command.nothing_readable(options, session)

    from rltui.output.html_report import html_report  # for a report only

    page = html_report(session).encode()
    if target is None:
        emitted(lambda out: out.buffer.write(page))
    else:
        with target_file(target) as file:
            file.write(page)
    return command.with_faults(Exit.OK, session.faults)


def plot(options: argparse.Namespace) -> int:
    """Print a chart of each tag that was named."""
    # leading names that are paths or addresses are further LOGDIRs; at least one TAG follows
    rest = options.names
    count = 0
    for name in rest[:-1]:
        if not (Path(name).exists() or (":/" in name and is_remote(parse_logdir(name)))):
            break
        count += 1
    names = rest[count:]
    options.logdirs = [options.logdir, *map(parse_logdir, rest[:count])]
    session = command.open_session(options)
    session.read_all()
    runs = [r for r in session.runs() if r.infos]
    if not runs:
        return command.nothing_readable(options, session)

    if options.x not in (*KINDS, "tokens", *(a for r in runs for a in axes_of(r, options.x))):
        hint = nearest(options.x, names_in(runs, settings=False))
        raise UsageError(f"no metric {options.x!r} for --x", hint=hint)
    if options.compare:
        runs = markdown.compared(runs, options.compare)
    colour = wants_colour(sys.stdout, os.environ)
    terminal = shutil.get_terminal_size((100, 30))
    width, height = options.size or (terminal.columns, max(12, terminal.lines * 2 // 3))
    groups = None if options.group_by is None else markdown.grouping_named(runs, options.group_by)
    shape = PlotOptions(width, height, options.smooth, options.log, options.x, colour, groups)

    charts = []
    for name in names:
        tags = find_tags(runs, name)
        if not tags:
            known = {t for r in runs for t in r.infos}
            raise UsageError(f"no tag or metric {name!r}", hint=nearest(name, known))
        charts += [plot_text(runs, t, shape) for t in tags]
    emit("\n".join(charts))

    return command.with_faults(Exit.OK, session.faults)


def canary(options: argparse.Namespace) -> int:
    """Inject failures into copies of the runs, and print which rules would speak."""
    session = command.open_session(options)
    session.read_all()
    runs = [r for r in session.runs() if r.infos]
    if not runs:
        return command.nothing_readable(options, session)
    document = canary_document(runs)
    emit(dump(document) if options.json else canary_text(document))
    blind = any(f["state"] == "blind" for r in document["runs"] for f in r["failures"])
    return command.with_faults(
        Exit.BAD if blind and options.fail_on_blind else Exit.OK, session.faults
    )
