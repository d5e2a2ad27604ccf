"""Results on standard output. Imports nothing else of rltui: see ``line_cache``."""

from __future__ import annotations

import os
import sys


def emit(text: str) -> None:
    """Write a result to standard output; a reader that quits early (`| head`) is no error."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # Keeps the interpreter from complaining about the same pipe again at exit; the exit
        # code of the command stays what it is.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
