"""Terminal of the program, a browser by way of textual-serve, or a pipe that is a log (``train.py
2>&1 | tee log | rltui watch -``); and whether to write colours there."""

from __future__ import annotations

import argparse
import atexit
import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

from rltui.core.address import PIPE
from rltui.core.errors import UsageError
from rltui.core.installation import need

if TYPE_CHECKING:
    from rltui.config import Config

_TERMINAL = "/dev/tty"
_NOT_BELIEVED = " (not believed in GNU screen)"
#: How terminals that open links say what they are; the version of VTE is 0.52: 0.50 crashes.
_LINKING_PROGRAMS = ("iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "zed", "rio", "mintty")
_LINKING_TERMS = ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm", "contour")
_LINKING_VARIABLES = ("WT_SESSION", "KONSOLE_VERSION", "DOMTERM", "KITTY_WINDOW_ID")
_LINKING_VTE = 5200


def choose_colour(when: str, environ: MutableMapping[str, str]) -> None:
    """Apply ``--color`` (auto, always or never) to the environment, where libraries that write
    to the terminal look, too. GNU screen passes COLORTERM on from the terminal around it and shows
    256 colours at most: there it no longer says what libraries look for, but why."""
    known = environ.get("COLORTERM", "")
    term = environ.get("TERM", "")
    in_screen = environ.get("STY") or (term.startswith("screen") and not environ.get("TMUX"))
    if known and in_screen and not known.endswith(_NOT_BELIEVED):
        environ["COLORTERM"] = known + _NOT_BELIEVED
    if when == "auto":
        return
    environ.pop("NO_COLOR", None)
    environ.pop("FORCE_COLOR", None)
    environ["NO_COLOR" if when == "never" else "FORCE_COLOR"] = "1"


def has_colours(environ: Mapping[str, str]) -> bool:
    """Whether the user allows colours."""
    return not environ.get("NO_COLOR")


def wants_colour(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether to write colours to ``stream``. An empty variable counts as unset; NO_COLOR wins."""
    if not has_colours(environ):
        return False
    if environ.get("FORCE_COLOR"):
        return environ["FORCE_COLOR"] != "0"
    return stream.isatty() and environ.get("TERM") != "dumb"


def knows_links(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether ``stream`` is a terminal that opens links (OSC 8), as far as it says what it is; tmux
    passes them on since 3.4. ``FORCE_HYPERLINK`` (0 or 1) wins."""
    if environ.get("FORCE_HYPERLINK"):
        return environ["FORCE_HYPERLINK"] != "0"
    term = environ.get("TERM", "")
    program = environ.get("TERM_PROGRAM", "")
    if not stream.isatty() or term in ("linux", "dumb"):
        return False
    if environ.get("TMUX") or term.startswith(("screen", "tmux")):
        found = re.match(r"(\d+)\.(\d+)", environ.get("TERM_PROGRAM_VERSION", ""))
        return program == "tmux" and found is not None and (int(found[1]), int(found[2])) >= (3, 4)
    known = any(environ.get(name) for name in _LINKING_VARIABLES)
    vte = environ.get("VTE_VERSION", "")
    known = known or (vte.isdecimal() and int(vte) >= _LINKING_VTE)
    return known or program in _LINKING_PROGRAMS or term.startswith(_LINKING_TERMS)


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
    need(verb, "textual")
    if not has_terminal():
        raise UsageError(
            f"{verb} needs a terminal on standard input, output and error; "
            "use `rltui snapshot` or `rltui check` in scripts and pipes"
        )


def mouse_of(config: Config) -> bool:
    """Whether the app listens to the mouse: over ssh the terminal keeps it, for selecting."""
    if config.view.mouse != "auto":
        return config.view.mouse == "on"
    return not (os.environ.get("SSH_CONNECTION") or os.environ.get("SSH_TTY"))


def marker_of(config: Config) -> str:
    """The marker to draw with: as configured, or what the locale can show."""
    if config.view.marker != "auto":
        return config.view.marker
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    # The Linux console and dumb terminals have no braille whatever the locale says.
    plain = os.environ.get("TERM", "") in ("linux", "dumb", "vt100", "vt220")
    return "braille" if encoding == "utf8" and not plain else "ascii"


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
def reading_pipe(options: argparse.Namespace) -> Iterator[None]:
    """Surrounds a verb one of whose logs may be standard input; raises as :func:`need_pipe`."""
    if not is_piped(options):
        yield
        return
    with kept_open(0):
        need_pipe()
        yield


@contextmanager
def kept_open(pipe: int) -> Iterator[None]:
    """A context after which the training can go on writing to the pipe: see :func:`let_go`."""
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
    import subprocess  # large, and seldom needed

    with suppress(OSError):
        mode = os.fstat(pipe).st_mode
        if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
            null = subprocess.DEVNULL
            subprocess.Popen(["cat"], stdin=pipe, stdout=null, stderr=null, start_new_session=True)
