"""Keeps the line of ``rltui check --format line --max-age N`` for a while.

A status bar asks every few seconds: what was read a moment ago answers it at the cost of starting
Python. It is looked up by the command line as it was typed, before options are parsed, and imports
nothing else of rltui nor anything large, for that reason.
"""

from __future__ import annotations

import os
import time
import zlib

#: As of ``typing``, whose import takes longer than all of this.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: The longest file that counts: the command line, two numbers and a line.
_MOST_BYTES = 65_536
#: Seconds after which a line is removed; ``--max-age`` goes up to a day.
_KEPT_S = 7 * 86_400
#: Variables that decide which configuration is read, beside those of ``_PREFIX``. Addresses of
#: hooks are secrets, and the line does not depend on them.
_VARIABLES = ("HOME", "XDG_CONFIG_HOME")
_PREFIX = "RLTUI_"
_SECRET = "RLTUI_HOOKS_"


def may_be_kept(arguments: Sequence[str]) -> bool:
    """Whether a command line may be one whose line is kept."""
    return any(word.startswith("--max-age") for word in arguments)


class LineCache:
    """The line of one command line, in a file of the user's cache directory.

    There is none, and none can be kept, without a home or a working directory.
    """

    def __init__(self, arguments: Sequence[str], environ: Mapping[str, str]) -> None:
        """``arguments``: the command line, as it was typed."""
        home = environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
        self._directory = f"{home}/rltui/lines"
        try:
            directory = os.getcwd()  # noqa: PTH109 - pathlib is large
        except OSError:
            directory = ""
        settings = sorted(
            (name, value)
            for name, value in environ.items()
            if name in _VARIABLES
            or (name.startswith(_PREFIX) and not name.upper().startswith(_SECRET))
        )
        self._asked = repr((directory, *arguments, settings))
        name = f"{zlib.crc32(self._asked.encode('utf-8', 'surrogateescape')):08x}"
        usable = directory and os.path.isabs(home)  # noqa: PTH117
        self._path = f"{self._directory}/{name}" if usable else ""

    def read(self) -> tuple[int, str] | None:
        """Exit code and line, None when there is none, or it is too old."""
        try:
            with open(self._path, "rb") as file:  # noqa: PTH123
                age = time.time() - os.fstat(file.fileno()).st_mtime
                content = file.read(_MOST_BYTES).decode("utf-8", "surrogateescape")
            asked, max_age_s, code, line = content.split("\n", 3)
            if asked == self._asked and 0 <= age <= float(max_age_s):
                return int(code), line
        except (OSError, ValueError):
            pass
        return None

    def write(self, max_age_s: float, code: int, line: str) -> None:
        """Keep a line for ``max_age_s`` seconds, and remove those that nobody asks for any more;
        does nothing where that cannot be written."""
        if not self._path:
            return
        content = f"{self._asked}\n{max_age_s}\n{code}\n{line}".encode("utf-8", "surrogateescape")
        part = f"{self._path}.{os.getpid()}"
        try:
            os.makedirs(self._directory, exist_ok=True)  # noqa: PTH103
            with open(part, "wb") as file:  # noqa: PTH123
                file.write(content)
            os.replace(part, self._path)  # noqa: PTH105
            oldest = time.time() - _KEPT_S
            with os.scandir(self._directory) as entries:
                for entry in entries:
                    if entry.stat(follow_symlinks=False).st_mtime < oldest:
                        os.unlink(entry.path)  # noqa: PTH108
        except OSError:
            pass
