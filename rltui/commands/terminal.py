"""What the app is shown on: a terminal, or a browser by way of textual-serve."""

from __future__ import annotations

import os
import sys

from rltui.core.errors import UsageError


def in_browser() -> bool:
    """Whether textual-serve runs this process: standard input and output carry its protocol, and
    Textual's driver for it takes the place of the terminal."""
    return os.environ.get("TEXTUAL_DRIVER", "").endswith(":WebDriver")


def has_terminal() -> bool:
    """Whether the app can be shown: standard input, output and error are a terminal, or
    :func:`in_browser`."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return in_browser() or all(s is not None and s.isatty() for s in streams)


def need_terminal(verb: str) -> None:
    """Raise UsageError when the app cannot be shown; ``verb`` is the command."""
    if not has_terminal():
        raise UsageError(
            f"{verb} needs a terminal on standard input, output and error; "
            "use `rltui snapshot` or `rltui check` in scripts and pipes"
        )
