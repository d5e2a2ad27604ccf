"""A program of the user that is run for a moment."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

#: Bytes at the end of what a program says that are read.
_SAID_BYTES = 4096


class Ended(NamedTuple):
    """How a program ended."""

    code: int | None
    """Its exit code; None when it could not run, or took too long."""
    said: str
    """The last line that it wrote to standard error; without a code the reason."""


class ChildProcess:
    """Runs a program without a shell, one at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def run(
        self, words: Sequence[str], patience_s: float, given: bytes = b"", **options: Any
    ) -> Ended:
        """Run a program that finds ``given`` on its standard input; it and its children are killed
        after so many seconds. ``options`` are those of Popen. Files, not pipes: a child that lives
        on holds nobody up."""
        with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as errors:
            source.write(given)
            source.seek(0)
            try:
                process = self._process = subprocess.Popen(
                    words, stdin=source, stdout=subprocess.DEVNULL, stderr=errors,
                    start_new_session=True, **options,
                )  # fmt: skip
                code = process.wait(patience_s)
            except subprocess.TimeoutExpired as error:
                self.kill()
                process.wait()
                return Ended(None, f"ended, for it took more than {error.timeout:g} s")
            except (OSError, ValueError) as error:
                return Ended(None, getattr(error, "strerror", None) or str(error))
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - _SAID_BYTES))
            return Ended(code, errors.read().decode("utf-8", "replace").strip().rpartition("\n")[2])

    def kill(self) -> None:
        """End the program and its children, if it runs; from any thread."""
        process = self._process
        if process is not None and process.poll() is None:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
