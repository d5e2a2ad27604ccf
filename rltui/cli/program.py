"""Runs one command: its options, its exit code, errors as one line."""

from __future__ import annotations

import argparse
import gc
import os
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from rltui.cli.parser import build_parser, needed_commands, parse, spelled_out
from rltui.commands import NAMES
from rltui.commands.colour import choose_colour
from rltui.commands.command import Exit
from rltui.commands.standard_output import tell
from rltui.core.errors import RltuiError, UnreachableError

if TYPE_CHECKING:
    from rltui.cli.debug_log import DebugLog


def _harmless(text: str) -> str:
    """A message with control characters (from a path, say) made visible."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def run(arguments: Sequence[str]) -> int:
    """Run the command of a command line; returns the exit code."""
    _be_modest()
    words = spelled_out(arguments, (*NAMES, "help"))
    options = parse(build_parser(needed_commands(words)), words)
    options.arguments = arguments
    choose_colour(options.color, os.environ)
    options.debug_log = _debug_log(arguments) if options.debug else None
    with options.debug_log or nullcontext():
        return _guarded(options)


def _debug_log(arguments: Sequence[str]) -> DebugLog | None:
    """An open log, named on standard error; None where it cannot be written."""
    from rltui.cli.debug_log import DebugLog
    from rltui.core.home import state_directory

    directory = state_directory(os.environ) / "debug"
    try:
        log = DebugLog(arguments, directory)
    except OSError as error:
        _complain(f"no debug log: {error.filename or directory}: {error.strerror or error}")
        return None
    _complain(f"debug log: {log.path}")
    return log


def _be_modest() -> None:
    """Settings of a process that shares its machine with a training.

    numpy's OpenBLAS would start a thread per core, which rltui has no use for, and the garbage
    collector would scan the imported modules over and over.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(20_000, 20, 20)


def _guarded(options: argparse.Namespace) -> int:
    """Run the command; an expected error is one line and never returns the exit code of a bad
    run."""
    code: int = Exit.INTERNAL
    log: DebugLog | None = options.debug_log
    try:
        code = options.run(options)
    except RltuiError as error:
        _complain(str(error))
        # a host that is down is no mistake of who typed the command
        code = Exit.NOTHING if isinstance(error, UnreachableError) else Exit.USAGE
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    except OSError as error:
        code = output_failed(error)
        if log is not None:
            log.failed(error)
    except Exception as error:  # noqa: BLE001 - a traceback is for those who ask for it
        _complain(f"internal error: {type(error).__name__}: {error}")
        if log is None:
            _complain("--debug writes a log with the traceback")
        else:
            log.failed(error)
    return code


def output_failed(error: OSError) -> int:
    """Say what cannot be written or read; returns the exit code."""
    _complain(f"{error.filename or 'output'}: {error.strerror or error}")
    return Exit.INTERNAL


def _complain(text: str) -> None:
    tell(f"rltui: {_harmless(text)}\n")
