"""``rltui check``: a verdict for scripts, cron, Slurm epilogs and CI."""

from __future__ import annotations

import argparse
import gc
import sys
import threading
from typing import TYPE_CHECKING

from rltui.commands.command import (
    Command,
    Exit,
    add_logdirs,
    add_reading,
    add_reference,
    emit,
    nothing_readable,
    open_config,
    open_session,
    report_notes,
)
from rltui.commands.departure import departing
from rltui.commands.standard_input import is_piped, kept_open, need_pipe

if TYPE_CHECKING:
    from rltui.config import HooksConfig
    from rltui.session import Session


#: Seconds between checks of ages: a run that stalls writes nothing that would wake this loop.
_LOOK_S = 1.0


#: Seconds at the end for what is still to be handed to the hook.
_LAST_S = 15.0


def follow(session: Session, hooks: HooksConfig, *, json: bool) -> None:
    """Print changes until interrupted, or until all input has ended."""
    from rltui.present.output.json_document import event_line, event_message
    from rltui.present.output.text_report import event_text
    from rltui.session.event import Watcher
    from rltui.session.hook import open_hook

    news = threading.Event()
    session.on_news(news.set)
    watcher = Watcher(session)
    hook = open_hook(hooks, session.clock, _complain)
    session.start()
    try:
        while True:
            ended = session.ended  # read first: what came before the end is still drained
            session.drain()
            if ended and not session.busy:
                session.finish()
            session.refresh_progress()
            for event in watcher.events():
                line = event_line(event) if json else event_text(event, session.clock.now())
                emit(line + "\n")
                if hook is not None and hook.wants(event):
                    hook.post(event_message(event))
            if ended and not session.busy and not session.unsettled:
                return
            if not session.busy and not session.judging:
                news.wait(_LOOK_S)
            news.clear()
    except KeyboardInterrupt:
        return
    finally:
        session.stop()
        if hook is not None:
            hook.close(_LAST_S)


def _complain(text: str) -> None:
    from rltui.core.text import clean

    sys.stderr.write(f"rltui: {clean(text)}\n")


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_logdirs(parser)
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    parser.add_argument(
        "--follow",
        action="store_true",
        help="print a line for each change, until interrupted or the end of standard input",
    )
    parser.add_argument(
        "--fail-on",
        choices=("watch", "bad", "never"),
        default="bad",
        help="exit with 1 when a run is at this level or worse (default bad)",
    )
    add_reading(parser)
    add_reference(parser)


def _run(options: argparse.Namespace) -> int:
    if options.follow:
        return departing(lambda _: _open_and_check(options), sys.stdout)
    gc.disable()  # what is read is needed to the end: nothing is garbage
    try:
        return _open_and_check(options)
    finally:
        gc.freeze()  # nor need the collector scan it at the end of the process
        gc.enable()


def _open_and_check(options: argparse.Namespace) -> int:
    if not is_piped(options):
        return _check(options)
    with kept_open(0):
        need_pipe()
        return _check(options)


def _check(options: argparse.Namespace) -> int:
    from rltui.core.level import Level, worst
    from rltui.present.output.json_document import check_document, dump
    from rltui.present.output.text_report import check_text

    config = open_config(options)
    session = open_session(options, config, waits=options.follow)
    if options.follow:
        follow(session, config.hooks, json=options.json)
    else:
        session.read_all()
    runs = session.runs()
    readable = any(r.is_readable for r in runs)
    if options.follow:
        pass  # every change has been printed
    elif options.json:
        emit(dump(check_document(session)))
    elif readable:
        emit(check_text(session))
    report_notes((n for n in session.notes if n.level >= Level.WATCH), 100)
    if not readable:
        return nothing_readable(options, session)
    if options.fail_on == "never":
        return Exit.OK
    limit = Level.WATCH if options.fail_on == "watch" else Level.BAD
    return Exit.BAD if worst(r.verdict.level for r in runs) >= limit else Exit.OK


COMMAND = Command(
    "check",
    "judge runs and say so with the exit code",
    "rltui check runs/grpo --json --fail-on watch",
    _arguments,
    _run,
)
