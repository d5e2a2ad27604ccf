"""Results on standard output, messages on standard error: the only way there for all verbs.

Imports nothing else of rltui: see ``line_cache``.
"""

from __future__ import annotations

import os
import sys

#: As of ``typing``, whose import takes longer than the answer to a status bar.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO


def emit(text: str) -> None:
    """Write a result to standard output; see :func:`emitted`."""
    emitted(lambda out: out.write(text))


def emitted(write: Callable[[TextIO], object]) -> None:
    """Write a result to standard output by a function that is given the stream.

    A reader that quits early (`| head`) is no error: the exit code of the command stays what it
    is. Raises OSError for a result that cannot be written (a full disk).
    """
    try:
        write(sys.stdout)
        sys.stdout.flush()
    except OSError as error:
        discard(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            raise


def tell(text: str) -> None:
    """Write a message to standard error; where nobody reads it, the command goes on."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Let a stream lead nowhere: the interpreter flushes it once more when it ends, and an error
    would turn the exit code into 120."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
    except (OSError, ValueError):
        pass


def open_closed_streams() -> None:
    """Open the standard streams that were closed (`>&-`), before a log takes their numbers.

    Writing a result then fails as in other programs, reading finds the end, messages are lost.
    """
    for name, mode in (("stdin", os.O_RDONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, mode)
            setattr(sys, name, os.fdopen(null, "r" if name == "stdin" else "w"))
