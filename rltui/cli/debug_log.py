"""Log of ``--debug`` for a bug report, below ``$XDG_STATE_HOME/rltui/debug``.

It holds versions, the command, what Python's ``logging`` and standard error report, tracebacks
of all threads, and at the end what was read. ``kill -USR1`` adds where each thread is, for a
process that hangs; a fatal signal does the same.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import platform
import resource
import shlex
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from rltui.core.installation import packages
from rltui.core.text import clean
from rltui.version import __version__

if TYPE_CHECKING:
    from rltui.session import Session

#: Logs that are kept, the newest.
_KEPT = 10
#: Variables that decide how rltui starts and looks.
_VARIABLES = (
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "FORCE_COLOR",
    "FORCE_HYPERLINK",
    "TMUX",
    "LANG",
    "LC_ALL",
    "COLUMNS",
)
#: Addresses of hooks are secrets: whoever knows them can post.
_SECRET = "RLTUI_HOOKS_"

_logger = logging.getLogger("rltui")
_FORMAT = "%(asctime)s.%(msecs)03d %(threadName)s %(name)s %(levelname)s %(message)s"


class DebugLog:
    """A log file that is open while a command runs; to be used with ``with``."""

    def __init__(self, arguments: Sequence[str], directory: Path) -> None:
        """Open a file of its own in ``directory``. Raises OSError."""
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
        self.path = directory / name
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        self._file = os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace")
        self._arguments = arguments
        self._session: Session | None = None
        self._began = time.monotonic()
        self._handler = logging.StreamHandler(self._file)
        self._handler.setFormatter(_Formatter(_FORMAT, "%H:%M:%S"))
        for old in sorted(directory.glob("*.log"))[:-_KEPT]:
            old.unlink(missing_ok=True)

    def __enter__(self) -> DebugLog:
        root = logging.getLogger()
        self._before = root.level, sys.stderr, threading.excepthook
        root.addHandler(self._handler)
        root.setLevel(logging.INFO)  # libraries write credentials at DEBUG
        _logger.setLevel(logging.DEBUG)
        sys.stderr = _Tee(sys.stderr)
        threading.excepthook = self._thread_failed
        faulthandler.enable(self._file)
        faulthandler.register(signal.SIGUSR1, self._file)

        _logger.info("rltui %s, Python %s", __version__, platform.python_version())
        _logger.info("%s", platform.platform())
        _logger.info("command: rltui %s", shlex.join(self._arguments))
        _logger.info("packages: %s", _pairs(packages()["packages"]))
        known = {
            k: "..." if k.upper().startswith(_SECRET) else v
            for k, v in os.environ.items()
            if k in _VARIABLES or k.startswith("RLTUI_")
        }
        _logger.info("environment: %s", _pairs(known))

        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self._session is not None:
                for run in self._session.run_list.in_order(now=True):
                    verdict = run.verdict
                    _logger.info("run %s: %s, %s", run.name, verdict.state_word, verdict.level.word)
                    for source in run.data.files.sources.values():
                        what = (source.path, source.format, source.size, source.records)
                        _logger.info("  %s: %s, %d bytes, %d records", *what)
                for note in self._session.troubles():
                    _logger.info("note: %s at %s: %s", note.path, note.offset, note.message)
        except Exception:
            _logger.exception("the runs cannot be described")
        usage = resource.getrusage(resource.RUSAGE_SELF)
        seconds = time.monotonic() - self._began
        cpu = usage.ru_utime + usage.ru_stime
        _logger.info("end after %.2f s, %.2f CPU s, peak %d KiB", seconds, cpu, usage.ru_maxrss)
        faulthandler.unregister(signal.SIGUSR1)
        faulthandler.disable()
        level, sys.stderr, threading.excepthook = self._before
        root = logging.getLogger()
        root.removeHandler(self._handler)
        root.setLevel(level)
        _logger.setLevel(logging.NOTSET)
        self._file.close()

    def opened(self, session: Session) -> None:
        """Note which session the command works on: what it read is described at the end."""
        self._session = session
        runs = session.run_count
        _logger.info("found %d runs below %s", runs, ", ".join(map(str, session.logdirs)))

    def failed(self, error: BaseException) -> None:
        """Write the traceback of an internal error."""
        _logger.error("internal error", exc_info=error)

    def _thread_failed(self, failure: threading.ExceptHookArgs) -> None:
        name = failure.thread.name if failure.thread else "?"
        _logger.error("thread %s failed", name, exc_info=failure.exc_value)
        self._before[2](failure)


class _Formatter(logging.Formatter):
    """Shows control characters as text: a log is read in a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(map(clean, super().format(record).split("\n")))


class _Tee:
    """Standard error, of which the log has a copy."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        if text.strip():
            _logger.info("stderr: %s", text.rstrip())
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _pairs(facts: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(facts.items()))
