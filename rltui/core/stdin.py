"""Names of standard input as a log."""

from __future__ import annotations

from pathlib import Path

#: On the command line.
PIPE = Path("-")
#: On the screen.
PIPE_NAME = "standard input"
