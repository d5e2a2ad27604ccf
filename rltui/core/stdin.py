"""Standard input as a log: how it is named."""

from __future__ import annotations

from pathlib import Path

#: How it is written on the command line.
PIPE = Path("-")
#: How people read it.
PIPE_NAME = "standard input"
