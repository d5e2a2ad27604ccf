"""Keeps the line of ``rltui check --format line`` for a while.

A status bar asks every few seconds: what was read a moment ago answers it at the cost of starting
Python. Imports nothing else of rltui, for that reason.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

#: The longest file that counts: the command line, an exit code and a line.
_MOST_BYTES = 65_536


class LineCache:
    """The line for one command line, in a file of the user's cache directory."""

    def __init__(self, arguments: Sequence[object], environ: Mapping[str, str]) -> None:
        """``arguments``: all that the line depends on but the logs."""
        home = environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
        self._asked = repr((os.getcwd(), *map(str, arguments)))  # noqa: PTH109 - as plain text
        name = f"{zlib.crc32(self._asked.encode('utf-8', 'surrogateescape')):08x}"
        self._path = Path(home) / "rltui" / "lines" / name

    def read(self, max_age_s: float) -> tuple[int, str] | None:
        """Exit code and line, None when there is none as young as that."""
        with suppress(OSError, ValueError):
            age = time.time() - self._path.stat().st_mtime
            content = self._path.read_bytes()[:_MOST_BYTES].decode("utf-8", "surrogateescape")
            asked, code, line = content.split("\n", 2)
            if asked == self._asked and 0 <= age <= max_age_s:
                return int(code), line
        return None

    def write(self, code: int, line: str) -> None:
        """Keep a line; does nothing where that cannot be written."""
        content = f"{self._asked}\n{code}\n{line}".encode("utf-8", "surrogateescape")
        part = f"{self._path}.{os.getpid()}"
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            Path(part).write_bytes(content)
            os.replace(part, self._path)  # noqa: PTH105 - a plain name
