"""``rltui check``: a verdict for scripts, cron, Slurm epilogs and CI."""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from rltui.commands import command
from rltui.commands.departure import GRACE_S, departing
from rltui.commands.line_cache import LineCache
from rltui.commands.standard_output import emit, tell
from rltui.commands.terminal import is_piped, knows_links, reading_pipe, wants_colour
from rltui.commands.verbs import MANY_RUNS, MOST_JOBS, Exit
from rltui.core.address import PIPE, RemotePath, is_remote
from rltui.core.clock import Clock, SystemClock
from rltui.core.errors import UsageError
from rltui.core.installation import state_directory
from rltui.core.level import Level, worst
from rltui.core.text import Json, clean
from rltui.facts.runs import absent_words
from rltui.files.disk import check_target, target_file
from rltui.output.openmetrics import openmetrics
from rltui.output.text_report import check_text, event_text, painter, status_line
from rltui.session import JudgedRun, Session
from rltui.session.event import Event, Watcher, updates
from rltui.sources.discovery.logdir import similar_to

if TYPE_CHECKING:
    from rltui.config import HooksConfig

#: Forms in which what is printed of a run depends on that run alone.
_DIVIDED = ("text", "json", "brief")
#: What ``check`` may be asked for and ``brief`` may not.
_PLAIN: Json = {
    "output": None,
    "max_age": None,
    "metrics": [],
    "wait": None,
    "follow": False,
    "ray": False,
}
#: Seconds between two looks whether an awaited LOGDIR is there.
_LOOK_S = 0.5
#: Lets a number of seconds pass.
Pause = Callable[[float], object]
#: Seconds at the end for what is still to be handed to the hook.
_LAST_S = 15.0


def check(options: argparse.Namespace) -> int:
    """Judge the runs; the exit code says how they are."""
    # --format brief is the verb of that name without its own options
    vars(options).update({"since": None, "skipped": False, "as_json": False, **vars(options)})
    if options.json:
        if options.format not in (None, "json"):
            raise UsageError(f"--json is --format json, not --format {options.format}")
        options.format = "json"
    _refuse_contradictions(options)
    if options.follow:
        return departing(lambda _: _follow(options), sys.stdout, debugged=options.debug)
    gc.disable()  # what is read is needed to the end: nothing is garbage
    try:
        if options.max_age is None:
            return _check(options)
        # kept for the next call of this command line, which finds it before it comes here
        if is_piped(options):
            raise UsageError("--max-age is for logs on disk, not for standard input")
        code, text = _judged(options)
        if not options.debug:  # a debug log is of a call that reads
            LineCache(options.arguments, os.environ).write(options.max_age, int(code), text)
        emit(text)
        return code
    finally:
        gc.freeze()  # nor need the collector scan it at the end of the process
        gc.enable()


def brief(options: argparse.Namespace) -> int:
    """Say in few words how the runs are; the exit code is that of ``check``."""
    vars(options).update(_PLAIN, as_json=options.json, json=False, format="brief")
    return check(options)


def _refuse_contradictions(options: argparse.Namespace) -> None:
    """Raise UsageError for options that have no meaning together."""
    form = options.format or "text"
    to_file = options.output is not None
    depends = options.reference is not None or form not in _DIVIDED
    for wrong, message in (
        (
            options.follow and (form not in ("text", "json") or to_file),
            "--follow prints lines of text or JSON on standard output",
        ),
        (
            options.max_age is not None and (form != "line" or to_file),
            "--max-age needs --format line, on standard output",
        ),
        (options.metrics and form != "openmetrics", "--metric needs --format openmetrics"),
        (options.wait is not None and not options.follow, "--wait needs --follow"),
        (
            options.ray and (options.follow or depends),
            "--ray is for text or JSON, without --follow and --reference",
        ),
    ):
        if wrong:
            raise UsageError(message)


# -- once ----------------------------------------------------------------------------------


def _check(options: argparse.Namespace) -> int:
    with reading_pipe(options):
        target: Path | None = options.output
        if target is not None:
            target = check_target(target, options.logdirs)
        code, text = _judged(options)
        if target is None:
            emit(text)
            return code
        with target_file(target) as file:
            file.write(text.encode("utf-8", "backslashreplace"))
        return code


def _judged(options: argparse.Namespace) -> tuple[int, str]:
    """Exit code, and what is to be printed."""
    command.check_metrics(options.metrics)
    config = command.open_config(options)
    # a mistake beside a pipe is told now, not when the training is over
    session = command.open_session(options, config, partial=not is_piped(options))

    count = _process_count(options, session)
    if count > 1 or options.ray:
        from rltui.commands.check_jobs import divided  # processes are seldom worth their start

        found = divided(options, session, config, count)
        if found is not None:
            if options.format == "brief":
                text = _answer(options, found.brief(skipped=options.skipped))
            else:
                text = found.json() if options.format == "json" else _painted(options, found.text())
            command.report_trouble(session)
            code = _with_missing(_code_of(options, found.level), session)
            return command.with_faults(code, found.faults), text

    session.read_all()
    text = _document(options, session)
    return command.with_faults(_code(options, session), session.faults), text


def _process_count(options: argparse.Namespace, session: Session) -> int:
    """How many processes are to judge the runs; 1 where they must see each other, or where only
    this process has what it reads."""
    runs = session.found
    if runs is None or options.reference is not None or (options.format or "text") not in _DIVIDED:
        return 1
    if is_piped(options) or any(map(is_remote, session.logdirs)):
        return 1
    if options.jobs is not None:
        return min(int(options.jobs), len(runs))
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        cores = os.cpu_count() or 1

    return min(cores, MOST_JOBS) if len(runs) > MANY_RUNS else 1


def _document(options: argparse.Namespace, session: Session) -> str:
    """The verdict in the form that was asked for; a status bar need not wait for other forms."""
    if options.format == "json":
        from rltui.output.json_document import check_document  # one form of four
        from rltui.output.json_text import dump  # one form of four

        return dump(check_document(session))
    if options.format == "openmetrics":
        return openmetrics(session, options.metrics)
    if options.format == "line":
        return status_line(session) + "\n"
    if not any(r.is_readable for r in session.runs()):
        return ""  # what is missing is written to standard error

    if options.format == "brief":
        from rltui.output.brief import brief_document  # one form of five

        return _answer(options, brief_document(session, skipped=options.skipped))
    return _painted(options, check_text(session), session.runs())


def _answer(options: argparse.Namespace, document: Json) -> str:
    """A brief, which is kept; only what changed since an earlier one, if that is asked for and
    still there."""
    from rltui.output import brief as words  # one form of five
    from rltui.output.json_text import dump  # as above
    from rltui.session.answers import Answers  # as above

    found = words.answered(document, options.since, Answers(state_directory(os.environ)))
    return dump(found) if options.as_json else words.text_of(found)


def _painted(options: argparse.Namespace, text: str, runs: Iterable[JudgedRun] = ()) -> str:
    if options.output is not None:
        return text
    linked = runs if knows_links(sys.stdout, os.environ) else ()
    return painter(wants_colour(sys.stdout, os.environ), linked)(text)


def _code(options: argparse.Namespace, session: Session) -> int:
    """The exit code; notes and what is missing are written to standard error."""
    runs = session.runs()
    command.report_trouble(session)
    if not any(r.is_readable for r in runs):
        code = command.nothing_readable(options, session)
        return Exit.USAGE if session.reader.state.unread else code
    return _with_missing(_code_of(options, worst(r.verdict.level for r in runs)), session)


def _with_missing(code: int, session: Session) -> int:
    """The exit code where not all that was named is judged: a wrong path counts for more than
    the verdict, a host out of reach for less than a bad run."""
    if session.reader.state.unread:
        return Exit.USAGE
    return Exit.NOTHING if code == Exit.OK and session.reader.state.out_of_reach else code


def _code_of(options: argparse.Namespace, level: Level) -> int:
    if options.fail_on == "never":
        return Exit.OK
    limit = Level.WATCH if options.fail_on == "watch" else Level.BAD
    return Exit.BAD if level >= limit else Exit.OK


# -- for as long as something changes --------------------------------------------------------


def _follow(options: argparse.Namespace) -> int:
    with reading_pipe(options):
        config = command.open_config(options)
        if options.wait:
            await_any(options.logdirs, options.wait, SystemClock(), time.sleep)
        session = command.open_session(options, config, waits=True, partial=True)
        command.report_trouble(session)
        if session.naming.missed:
            _complain(f"{session.naming.missed}; waiting for one")
        follow(session, config.hooks, json=options.format == "json")
        return command.with_faults(_code(options, session), session.faults)


def await_any(paths: Sequence[Path], seconds: float, clock: Clock, pause: Pause) -> None:
    """Say what is missing and wait until one of the paths exists, if all are local and none
    does."""
    if any(is_remote(path) or path == PIPE or path.exists() for path in paths):
        return
    for path in paths:
        _complain(f"{path}: {absent_words(similar_to(path))}; waiting for it")
    end = clock.monotonic() + seconds
    while clock.monotonic() < end and not any(path.exists() for path in paths):
        pause(_LOOK_S)


def follow(session: Session, hooks: HooksConfig, *, json: bool) -> None:
    """Print changes until interrupted, or until all input has ended; on standard error, what got
    out of reach, and what can be reached again."""
    from rltui.output.json_document import event_line, event_message  # not for a verdict in text
    from rltui.session.hook import open_hook  # only who follows has one

    paint = painter(wants_colour(sys.stdout, os.environ))
    hook = open_hook(hooks, session.clock, _complain)
    watcher = Watcher(session)
    outages = OutageLines(session)
    last_s = _LAST_S

    def changes() -> list[Event]:
        for line in outages.new():
            _complain(line)
        return watcher.events()

    try:
        with closing(updates(session)) as following:
            for event in chain.from_iterable(changes() for _ in following):
                now = session.clock.now()
                line = event_line(event) if json else paint(event_text(event, now))
                emit(line + "\n")
                if hook is not None and hook.wants(event):
                    hook.post(event_message(event))
    except KeyboardInterrupt:
        return
    except SystemExit:  # by a signal, which leaves little time
        last_s = GRACE_S / 2
        raise
    finally:
        if hook is not None:
            hook.close(last_s)


def _complain(text: str) -> None:
    tell(f"rltui: {clean(text)}\n")


class OutageLines:
    """Messages about logdirs that get out of reach or come back. Main thread only."""

    def __init__(self, session: Session) -> None:
        """Logdirs that are out of reach now have been reported."""
        self._session = session
        self._lost = tuple(session.reader.state.out_of_reach)

    def new(self) -> Iterator[str]:
        """A line for each logdir that got out of reach since the last call, and for each that did
        not stay there."""
        lost = tuple(self._session.reader.state.out_of_reach)
        before = self._lost
        self._lost = lost
        for logdir in lost:
            if logdir not in before:
                yield f"{logdir}: {self._why(logdir)}"
        at = time.strftime("%H:%M:%S", time.localtime(self._session.clock.now()))
        for logdir in before:
            if logdir not in lost:
                unread = (n.message for n in self._session.reader.state.unread if n.path == logdir)
                yield f"{logdir}: {next(unread, f'can be reached again since {at}')}"

    def _why(self, logdir: Path) -> str:
        """The message of the note on a logdir, else of that on its host."""
        failed = [n for n in self._session.reach.notes if n.level >= Level.WATCH]
        own = [n.message for n in failed if n.path == logdir]
        host = [n.message for n in failed if _host(n.path) == _host(logdir)]
        return next(iter(own + host), "out of reach")


def _host(path: Path) -> str:
    return path.authority if isinstance(path, RemotePath) else ""
