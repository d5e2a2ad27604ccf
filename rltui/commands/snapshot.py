"""``rltui snapshot``: the state of all runs, once, as text, JSON or Markdown."""

from __future__ import annotations

import argparse

from rltui.commands.command import (
    Command,
    Exit,
    add_logdirs,
    add_reading,
    add_reference,
    emit,
    nothing_readable,
    open_session,
)


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_logdirs(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON document with every metric")
    form.add_argument("--markdown", action="store_true", help="for an issue or a chat")
    add_reading(parser)
    add_reference(parser)


def _run(options: argparse.Namespace) -> int:
    from rltui.present.output.json_document import dump, snapshot_document
    from rltui.present.output.markdown import snapshot_markdown
    from rltui.present.output.text_report import snapshot_text

    session = open_session(options)
    session.read_all()
    readable = any(r.is_readable for r in session.runs())
    if options.json:
        emit(dump(snapshot_document(session)))
    elif readable:
        emit(snapshot_markdown(session) if options.markdown else snapshot_text(session))
    if not readable:
        return nothing_readable(options, session)
    return Exit.OK


COMMAND = Command(
    "snapshot",
    "print the state of all runs once, as text, JSON or Markdown",
    "rltui snapshot runs/ --json",
    _arguments,
    _run,
)
