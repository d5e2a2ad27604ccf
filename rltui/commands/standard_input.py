"""Standard input as a log: ``train.py 2>&1 | tee log | rltui watch -``."""

from __future__ import annotations

import argparse
import atexit
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rltui.commands.terminal import in_browser
from rltui.core.errors import UsageError
from rltui.core.stdin import PIPE

_TERMINAL = "/dev/tty"


def is_piped(options: argparse.Namespace) -> bool:
    """Whether standard input is one of the logs."""
    return PIPE in options.logdirs


def need_pipe() -> None:
    """Raise UsageError when nothing is piped in."""
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("'-' reads a log from a pipe: train.py 2>&1 | tee log | rltui watch -")


def take_pipe() -> int:
    """Move the pipe away from standard input, which becomes the terminal again, for keys.

    Returns the file descriptor of the pipe. Raises UsageError when there is no pipe, or no
    terminal.
    """
    need_pipe()
    if in_browser():
        raise UsageError("standard input is what the browser sends; watch a file instead of '-'")
    try:
        terminal = os.open(_TERMINAL, os.O_RDWR)
    except OSError as error:
        raise UsageError(
            "watch - needs a terminal for the keys, and there is none; "
            "use `rltui check --follow -` in scripts"
        ) from error
    pipe = os.dup(0)
    os.dup2(terminal, 0)
    os.close(terminal)
    return pipe


@contextmanager
def kept_open(pipe: int) -> Iterator[None]:
    """However the block ends, the training goes on: see :func:`let_go`."""
    atexit.register(let_go, pipe)  # an end by force runs this only
    try:
        yield
    finally:
        atexit.unregister(let_go)
        let_go(pipe)


def let_go(pipe: int) -> None:
    """Leave a pipe without ending the training, whose next line would raise SIGPIPE.

    A ``cat`` reads on in our place and ends when the writer does. Nothing smaller works: a pipe
    must have a reader as long as the training writes, and we are about to end.
    """
    import subprocess

    with suppress(OSError):
        mode = os.fstat(pipe).st_mode
        if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
            null = subprocess.DEVNULL
            subprocess.Popen(["cat"], stdin=pipe, stdout=null, stderr=null, start_new_session=True)
