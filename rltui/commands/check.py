"""``rltui check``: a verdict for scripts, cron, Slurm epilogs and CI."""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from rltui.commands.check_jobs import add_jobs, divided, refuse_jobs
from rltui.commands.colour import wants_colour
from rltui.commands.command import (
    Command,
    Exit,
    add_logdirs,
    add_reading,
    add_reference,
    nothing_readable,
    number_in,
    open_config,
    open_session,
    report_trouble,
    with_faults,
)
from rltui.commands.departure import departing
from rltui.commands.serve_metrics import add_metrics, check_metrics
from rltui.commands.standard_input import is_piped, kept_open, need_pipe
from rltui.commands.standard_output import emit, tell
from rltui.core.address import is_remote
from rltui.core.clock import Clock, SystemClock
from rltui.core.errors import UsageError
from rltui.core.stdin import PIPE

if TYPE_CHECKING:
    from rltui.commands.outage_lines import OutageLines
    from rltui.config import HooksConfig
    from rltui.core.level import Level
    from rltui.session import Session
    from rltui.session.event import Event, Watcher


#: Seconds that may be waited for a LOGDIR: a week in the queue of a cluster.
MOST_WAIT_S = 7 * 86_400.0
#: Seconds between two looks whether it is there.
_LOOK_S = 0.5
#: Lets a number of seconds pass.
Pause = Callable[[float], object]
#: Seconds at the end for what is still to be handed to the hook.
_LAST_S = 15.0


def follow(session: Session, hooks: HooksConfig, *, json: bool) -> None:
    """Print changes until interrupted, or until all input has ended; on standard error, what got
    out of reach, and what can be reached again."""
    from rltui.commands.outage_lines import OutageLines
    from rltui.present.output.badge_colours import painter
    from rltui.present.output.json_document import event_line, event_message
    from rltui.present.output.text_report import event_text
    from rltui.session.event import Watcher
    from rltui.session.following import turns
    from rltui.session.hook import open_hook

    paint = painter(wants_colour(sys.stdout, os.environ))
    hook = open_hook(hooks, session.clock, _complain)
    watcher, outages = Watcher(session), OutageLines(session)
    try:
        with closing(turns(session)) as following:
            for event in chain.from_iterable(_told(watcher, outages) for _ in following):
                now = session.clock.now()
                line = event_line(event) if json else paint(event_text(event, now))
                emit(line + "\n")
                if hook is not None and hook.wants(event):
                    hook.post(event_message(event))
    except KeyboardInterrupt:
        return
    finally:
        if hook is not None:
            hook.close(_LAST_S)


def _told(watcher: Watcher, outages: OutageLines) -> list[Event]:
    """What changed in the verdicts, once what changed in the reach has been told."""
    for line in outages.new():
        _complain(line)
    return watcher.events()


def _complain(text: str) -> None:
    from rltui.core.text import clean

    tell(f"rltui: {clean(text)}\n")


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_logdirs(parser)
    parser.add_argument(
        "--format",
        choices=("text", "json", "line", "openmetrics"),
        help="what is printed (default text); line has at most 80 characters, for a status bar; "
        "openmetrics is for Prometheus",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="one JSON document on standard output: --format json",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="write to FILE, whole or not at all"
    )
    parser.add_argument(
        "--max-age",
        metavar="SECONDS",
        type=number_in(0, 86400, "from 0 to 86400 seconds"),
        help="--format line: print the line of an earlier call if it is no older than this",
    )
    add_metrics(parser)
    parser.add_argument(
        "--wait",
        metavar="SECONDS",
        type=number_in(0, MOST_WAIT_S, f"from 0 to {MOST_WAIT_S:.0f} seconds"),
        help="with --follow: wait so long for a LOGDIR that does not exist yet",
    )
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
    add_jobs(parser)
    add_reading(parser)
    add_reference(parser)


def _run(options: argparse.Namespace) -> int:
    _settle_format(options)
    _refuse_contradictions(options)
    if options.follow:
        return departing(lambda _: _open_and_check(options), sys.stdout, debugged=options.debug)
    if options.max_age is not None:
        return _kept_line(options)
    gc.disable()  # what is read is needed to the end: nothing is garbage
    try:
        return _open_and_check(options)
    finally:
        gc.freeze()  # nor need the collector scan it at the end of the process
        gc.enable()


def _settle_format(options: argparse.Namespace) -> None:
    """``--json`` is short for ``--format json``; raises UsageError for another format beside it."""
    if options.json:
        if options.format not in (None, "json"):
            raise UsageError(f"--json is --format json, not --format {options.format}")
        options.format = "json"


def _refuse_contradictions(options: argparse.Namespace) -> None:
    """Raise UsageError for options that have no meaning together."""
    form = options.format or "text"
    if options.follow and (form in ("line", "openmetrics") or options.output is not None):
        raise UsageError("--follow prints lines of text or JSON on standard output")
    if options.max_age is not None and (form != "line" or options.output is not None):
        raise UsageError("--max-age needs --format line, on standard output")
    if options.metrics and form != "openmetrics":
        raise UsageError("--metric needs --format openmetrics")
    if options.wait is not None and not options.follow:
        raise UsageError("--wait needs --follow")
    refuse_jobs(options)


def _kept_line(options: argparse.Namespace) -> int:
    """Judge, and keep the line for the next call of the same command line, which finds it before
    it comes here."""
    from rltui.commands.line_cache import LineCache

    if is_piped(options):
        raise UsageError("--max-age is for logs on disk, not for standard input")
    code, text = _judged(options)
    if not options.debug:  # a debug log is of a call that reads
        LineCache(options.arguments, os.environ).write(options.max_age, int(code), text)
    emit(text)
    return code


def _open_and_check(options: argparse.Namespace) -> int:
    if not is_piped(options):
        return _check(options)
    with kept_open(0):
        need_pipe()
        return _check(options)


def _check(options: argparse.Namespace) -> int:
    if options.follow:
        return _follow(options)
    target: Path | None = options.output
    if target is not None:
        from rltui.files.output_target import check_target

        target = check_target(target, options.logdirs)
    code, text = _judged(options)
    if target is None:
        emit(text)
        return code
    from rltui.files.output_target import target_file

    with target_file(target) as file:
        file.write(text.encode("utf-8", "backslashreplace"))
    return code


def await_any(paths: Sequence[Path], seconds: float, clock: Clock, pause: Pause) -> None:
    """Wait until one of the paths exists, if they are of this machine and none does; say so."""
    from rltui.present.screens.waiting import absent_words
    from rltui.sources.discovery.logdir import similar_to

    if any(is_remote(path) or path == PIPE or path.exists() for path in paths):
        return
    for path in paths:
        _complain(f"{path}: {absent_words(similar_to(path))}; waiting for it")
    end = clock.monotonic() + seconds
    while clock.monotonic() < end and not any(path.exists() for path in paths):
        pause(_LOOK_S)


def _follow(options: argparse.Namespace) -> int:
    config = open_config(options)
    if options.wait:
        await_any(options.logdirs, options.wait, SystemClock(), time.sleep)
    session = open_session(options, config, waits=True, partial=True)
    report_trouble(session)
    if session.unmatched:
        _complain(f"{session.unmatched}; waiting for one")
    follow(session, config.hooks, json=options.format == "json")
    return with_faults(_code(options, session), session.faults)


def _judged(options: argparse.Namespace) -> tuple[int, str]:
    """Exit code, and what is to be printed."""
    check_metrics(options.metrics)
    config = open_config(options)
    # a mistake beside a pipe is told now, not when the training is over
    session = open_session(options, config, partial=not is_piped(options))
    found = divided(options, session, config)
    if found is not None:
        text = found.json() if options.format == "json" else _painted(options, found.text())
        report_trouble(session)
        code = _with_missing(_code_of(options, found.level), session)
        return with_faults(code, found.faults), text
    session.read_all()
    text = _document(options, session)
    return with_faults(_code(options, session), session.faults), text


def _document(options: argparse.Namespace, session: Session) -> str:
    """The verdict in the form that was asked for."""
    if options.format == "json":
        from rltui.present.output.json_document import check_document, dump

        return dump(check_document(session))
    if options.format == "openmetrics":
        from rltui.present.output.openmetrics import openmetrics

        return openmetrics(session, options.metrics)
    if options.format == "line":
        from rltui.present.output.status_line import status_line

        return status_line(session) + "\n"
    if not any(r.is_readable for r in session.runs()):
        return ""  # what is missing is written to standard error
    from rltui.present.output.text_report import check_text

    return _painted(options, check_text(session))


def _painted(options: argparse.Namespace, text: str) -> str:
    from rltui.present.output.badge_colours import painter

    colours = options.output is None and wants_colour(sys.stdout, os.environ)
    return painter(colours)(text)


def _code(options: argparse.Namespace, session: Session) -> int:
    """The exit code; notes and what is missing are written to standard error."""
    from rltui.core.level import worst

    runs = session.runs()
    report_trouble(session)
    if not any(r.is_readable for r in runs):
        code = nothing_readable(options, session)
        return Exit.USAGE if session.unread else code
    return _with_missing(_code_of(options, worst(r.verdict.level for r in runs)), session)


def _with_missing(code: int, session: Session) -> int:
    """The exit code where not all that was named is judged: a wrong path counts for more than
    the verdict, a host out of reach for less than a bad run."""
    if session.unread:
        return Exit.USAGE
    return Exit.NOTHING if code == Exit.OK and session.out_of_reach else code


def _code_of(options: argparse.Namespace, level: Level) -> int:
    from rltui.core.level import Level

    if options.fail_on == "never":
        return Exit.OK
    limit = Level.WATCH if options.fail_on == "watch" else Level.BAD
    return Exit.BAD if level >= limit else Exit.OK


COMMAND = Command(
    "check",
    "judge runs and say so with the exit code",
    "rltui check runs/grpo --json --fail-on watch",
    _arguments,
    _run,
)
