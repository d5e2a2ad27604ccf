"""Texts for the terminal itself: its clipboard, its notifications; also through tmux and screen.

A terminal takes a text by OSC 52. tmux and screen swallow that unless it is wrapped for the
terminal outside of them; tmux has a buffer of its own besides. Whether any of them listens cannot
be known, so the text is also written to a file.
"""

from __future__ import annotations

import base64
import contextlib
import re
import subprocess
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.message import Message

from rltui.core.errors import UsageError
from rltui.core.installation import state_directory, write_private
from rltui.core.text import clean
from rltui.files.disk import check_target, target_file
from rltui.output.points import CSV_HEAD, csv_lines, export_rows
from rltui.output.svg import Cells, ground_of, svg
from rltui.session import RunView
from rltui.tui.screen import ShellScreen
from rltui.tui.shell import ShellApp

#: screen cuts longer control strings.
_SCREEN_BYTES = 700
_TMUX_S = 2.0


def terminal_sequence(text: str, environ: Mapping[str, str]) -> str:
    """What sets the clipboard of the terminal, through a multiplexer if there is one."""
    encoded = base64.b64encode(text.encode()).decode()
    return passed_through(f"\x1b]52;c;{encoded}\x07", environ)


def passed_through(sequence: str, environ: Mapping[str, str]) -> str:
    """A control sequence that reaches the terminal outside of tmux or screen."""
    if environ.get("TMUX"):
        return "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    if environ.get("TERM", "").startswith("screen"):
        pieces = range(0, len(sequence), _SCREEN_BYTES)
        return "".join(f"\x1bP{sequence[i : i + _SCREEN_BYTES]}\x1b\\" for i in pieces)
    return sequence


def load_tmux(text: str, environ: Mapping[str, str]) -> bool:
    """Put the text into tmux's buffer; whether that was possible. Blocks shortly."""
    if not environ.get("TMUX"):
        return False
    command = ["tmux", "load-buffer", "-"]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            command, input=text.encode(), capture_output=True, timeout=_TMUX_S, check=False
        )
        return done.returncode == 0
    return False


def write_file(text: str, environ: Mapping[str, str]) -> Path | None:
    """Write the text to ``copied.txt``, for the user alone; None when that is impossible."""
    path = state_directory(environ) / "copied.txt"
    try:
        write_private(path, text + "\n")
    except OSError:
        return None
    return path


_ENDINGS = (".svg", ".txt", ".csv")


#: Characters of a name that need no quoting anywhere.
_ODD = re.compile(r"[^A-Za-z0-9._-]+")


def write_screen(
    shell: ShellApp[Any],
    rows: Sequence[Sequence[Segment]],
    target: str,
    data: tuple[RunView, str] | None,
    *,
    over: bool = False,
) -> str:
    """Write what the ending of ``target`` says; returns what was done, for people.

    ``rows``: the screen; ``data``: the run and the tag of the chart on it. ``over``: replace an
    existing file. Raises UsageError.
    """
    if not target:
        raise UsageError("w NAME.svg, NAME.txt or NAME.csv")
    path = Path(target)
    if path.suffix not in _ENDINGS:
        raise UsageError(f"{target}: name a file that ends in {', '.join(_ENDINGS)}")
    path = check_target(path, _directories(shell.logdirs))
    if path.exists() and not over:
        raise UsageError(f"{clean(str(path))} exists: another name, or w! to replace it")
    with target_file(path) as file:
        for part in _content(shell, rows, path.suffix, data):
            file.write(part)
    return f"wrote {clean(str(path))}"


def default_name(words: Iterable[str], logdirs: Sequence[Path] = ()) -> str:
    """A file name of some words, for a picture: in the working directory, or at home when that is
    a log directory."""
    name = "-".join(x for w in words if (x := _ODD.sub("-", w).strip("-.")))
    name = f"{name or 'rltui'}.svg"
    try:
        check_target(Path(name), _directories(logdirs))
    except UsageError:
        return f"~/{name}"
    return name


def _directories(logdirs: Iterable[Path]) -> list[Path]:
    """Where logs are: the directory of a file."""
    return [p.parent if p.is_file() else p for p in logdirs]


def _content(
    shell: ShellApp[Any],
    rows: Sequence[Sequence[Segment]],
    ending: str,
    data: tuple[RunView, str] | None,
) -> Iterable[bytes]:
    if ending == ".csv":
        if data is None:
            raise UsageError("there is no chart here whose data could be written")
        run, tag = data
        yield CSV_HEAD
        yield from csv_lines(export_rows([(run.key.name, run)], {tag: None}))
        return
    if not rows:
        raise UsageError("this screen cannot be written")
    if ending == ".txt":
        lines = ("".join(s.text for s in row).rstrip() for row in rows)
        yield ("\n".join(lines).rstrip() + "\n").encode("utf-8", "backslashreplace")
        return
    fg, bg = ground_of(shell.tokens)
    cells = [[_cells(s, fg, bg) for s in row if not s.control] for row in rows]
    yield svg(cells, shell.size.width, bg, shell.title).encode()


def _cells(segment: Segment, fg: str, bg: str) -> Cells:
    look = segment.style or Style.null()
    front, back = _hex(look.color, fg), _hex(look.bgcolor, bg, foreground=False)
    if look.reverse:
        front, back = back, front
    return Cells(segment.text, front, back, bool(look.bold), bool(look.underline))


def _hex(colour: Color | None, default: str, *, foreground: bool = True) -> str:
    if colour is None or colour.is_default:
        return default
    return colour.get_truecolor(foreground=foreground).hex


#: Takes in what was read, on the main thread.
Take = Callable[[], None]


def start_thread(work: Callable[[], None]) -> None:
    """Call ``work`` on a thread of its own."""
    # A daemon: one that hangs on a dead file system must not keep rltui from ending.
    threading.Thread(target=work, name="rltui-files", daemon=True).start()


class ReadingScreen(ShellScreen[None]):
    """A screen that reads one thing at a time. As a second base: Textual follows the first one
    only for the style."""

    class Done(Message):
        """What was requested has been read."""

        def __init__(self, take: Take | None, error: Exception | None = None) -> None:
            super().__init__()
            self.take = take
            self.error = error

    reading = False
    """Whether something is being read."""

    def read(self, work: Callable[[], Take]) -> None:
        """Call ``work`` on a thread, what it returns on the main thread, then update."""
        self.reading = True
        start_thread(partial(self._work, work))

    def _work(self, work: Callable[[], Take]) -> None:
        try:
            message = self.Done(work())
        except Exception as error:  # noqa: BLE001 - raised where it is seen
            message = self.Done(None, error)
        with contextlib.suppress(RuntimeError):  # the loop may be closed already
            self.post_message(message)

    def on_reading_screen_done(self, message: Done) -> None:
        """Show what was read; an unexpected failure ends the app, so that it is seen."""
        self.reading = False
        if message.error is not None:
            raise message.error
        if message.take is not None and self.is_attached:
            message.take()
            self.update()
