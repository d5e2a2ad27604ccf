"""Texts for the terminal itself: its clipboard, its notifications; also through tmux and screen.

A terminal takes a text by OSC 52. tmux and screen swallow that unless it is wrapped for the
terminal outside of them; tmux has a buffer of its own besides. Whether any of them listens cannot
be known, so the text is also written to a file.
"""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Mapping
from pathlib import Path

from rltui.core.installation import state_directory, write_private

#: screen cuts longer control strings.
_SCREEN_BYTES = 700
_TMUX_S = 2.0


def terminal_sequence(text: str, environ: Mapping[str, str]) -> str:
    """The sequence that sets the clipboard of the terminal, also through a multiplexer."""
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
    try:
        subprocess.run(
            command, input=text.encode(), capture_output=True, timeout=_TMUX_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def write_file(text: str, environ: Mapping[str, str]) -> Path | None:
    """Write the text to ``copied.txt``, for the user alone; None when that is impossible."""
    path = state_directory(environ) / "copied.txt"
    try:
        write_private(path, text + "\n")
    except OSError:
        return None
    return path
