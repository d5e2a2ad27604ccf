"""What a verb is, and the options that several share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rltui.commands.standard_output import tell
from rltui.core.address import parse_logdir
from rltui.core.errors import UsageError

if TYPE_CHECKING:
    from rltui.config import Config
    from rltui.core.batch import Note
    from rltui.session import Session
    from rltui.session.session import Choice


#: Notes about logdirs and hosts that are written at most.
_MOST_TROUBLES = 100


class Exit(IntEnum):
    """Exit codes, the same for all verbs."""

    OK = 0
    BAD = 1
    """check: a run is at or above --fail-on."""
    USAGE = 2
    """Usage or document error."""
    NOTHING = 3
    """Nothing readable below the paths; check: or a host out of reach, and no run bad."""
    INTERNAL = 70
    """Internal error, or output that cannot be written: no statement about a run."""
    INTERRUPTED = 130
    """128 + SIGINT."""


class Command(NamedTuple):
    """One verb."""

    name: str
    summary: str
    example: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def add_logdirs(parser: argparse.ArgumentParser, *, nargs: str = "+") -> None:
    """The positional LOGDIR argument."""
    words = "directory of runs, or a log file; host:/path, s3://bucket/path ..."
    parser.add_argument("logdirs", nargs=nargs, metavar="LOGDIR", type=logdir, help=words)


def logdir(text: str) -> Path:
    """The type of a LOGDIR argument."""
    try:
        return parse_logdir(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Options that select what is read and how it is interpreted."""
    parser.add_argument("--config", metavar="FILE", type=Path, help="configuration file")
    parser.add_argument(
        "--run",
        dest="run_glob",
        metavar="GLOB",
        help="only the run of this name, or runs whose name, path or first folder matches",
    )
    parser.add_argument("--framework", metavar="ID", help="read tags as this framework writes them")
    parser.add_argument(
        "--algorithm", metavar="NAME", help="say which algorithm trains: PPO, DPO ..."
    )
    parser.add_argument(
        "--verify", action="store_true", help="check the checksum of every record of event files"
    )


def add_reference(parser: argparse.ArgumentParser) -> None:
    """Options that compare the runs with another one."""
    parser.add_argument(
        "--reference", metavar="RUN", help="compare with this run: its name, or the path of its log"
    )
    parser.add_argument(
        "--align",
        choices=("step", "time", "tokens"),
        default="step",
        help="rows of the reference that are compared: of the same step (default), time since the "
        "start, or tokens",
    )


def add_screen(parser: argparse.ArgumentParser) -> None:
    """Options of the app."""
    parser.add_argument("--theme", metavar="NAME", help="dark, light, high-contrast, ...")
    parser.add_argument(
        "--marker", choices=("braille", "block", "ascii"), help="how charts are drawn"
    )
    parser.add_argument("--mouse", action=argparse.BooleanOptionalAction, help="mouse support")


def number_in(low: float, high: float, message: str) -> Callable[[str], float]:
    """The type of an option that is a number from ``low`` to ``high``."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(message)
        return value

    return read


def open_config(options: argparse.Namespace) -> Config:
    """The configuration: flags beat environment beats file beats defaults."""
    from rltui.config import load_config

    flags: Mapping[str, object] = {
        f"view.{name}": getattr(options, name)
        for name in ("theme", "marker", "mouse")
        if getattr(options, name, None) is not None
    }
    return load_config(options.config, os.environ, flags)


def choice_of(
    options: argparse.Namespace,
    *,
    waits: bool = False,
    partial: bool = False,
    later: bool = False,
    absent: bool = False,
) -> Choice:
    """Which runs are read and how, according to the options; for the rest see Choice."""
    from rltui.session.session import Choice

    return Choice(
        options.run_glob,
        options.framework,
        options.algorithm,
        options.verify,
        getattr(options, "reference", None),
        getattr(options, "align", "step"),
        waits,
        partial,
        later,
        absent,
    )


def open_session(
    options: argparse.Namespace,
    config: Config | None = None,
    *,
    waits: bool = False,
    partial: bool = False,
    later: bool = False,
    absent: bool = False,
) -> Session:
    """A session over the LOGDIR arguments; raises for paths that cannot be logs, among them an
    empty file unless it ``waits``. With ``partial`` one good path is enough; with ``later``,
    whether those elsewhere are good turns out once reading has been started; with ``absent``,
    those here need not exist yet."""
    from rltui.session import Session

    choice = choice_of(options, waits=waits, partial=partial, later=later, absent=absent)
    config = config or open_config(options)
    session = Session(options.logdirs, config, choice=choice, pipe=getattr(options, "pipe", 0))
    session.scan()
    log = getattr(options, "debug_log", None)
    if log is not None:
        log.opened(session)
    return session


def report_notes(notes: Iterable[Note], most: int, indent: str = "rltui: ") -> None:
    """Write notes about files, ``most`` of them at most, to standard error."""
    from rltui.draw.prose import note_text

    notes = list(notes)
    for note in notes[:most]:
        tell(f"{indent}{note_text(note, str(note.path))}\n")
    if len(notes) > most:
        tell(f"{indent}and {len(notes) - most} more notes\n")


def report_trouble(session: Session) -> None:
    """Write to standard error which logdirs and hosts cannot be read."""
    from rltui.core.level import Level

    report_notes((n for n in session.reach.notes if n.level >= Level.WATCH), _MOST_TROUBLES)


def with_faults(code: int, faults: Sequence[str]) -> int:
    """The exit code where rltui itself failed in some run, which is said on standard error."""
    for fault in faults[:_MOST_TROUBLES]:
        tell(f"rltui: {fault}\n")
    return Exit.INTERNAL if faults else code


def nothing_readable(options: argparse.Namespace, session: Session) -> int:
    """Report that there is no log below the LOGDIR arguments, and what was in the way."""
    from rltui.core.text import clean

    if session.naming.missed:
        tell(f"rltui: {session.naming.missed}\n")
        return Exit.NOTHING
    names = ", ".join(clean(str(p)) for p in options.logdirs)
    died = [(r, r.verdict.crash) for r in session.runs()]
    what = "no row of metrics" if any(crash for _, crash in died) else "no readable log"
    tell(f"rltui: {what} below {names}\n")
    for run, crash in died:
        if crash is not None:
            tell(f"  {run.name}: {crash.kind.value}: {crash.reason}\n")
    report_notes(session.troubles(), 10, "  ")
    return Exit.NOTHING
