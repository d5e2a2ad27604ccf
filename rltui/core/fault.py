"""The wall between runs: a fault of the program in one of them costs that run and no other.

Code that works on one run stands inside :func:`wall`: judging it, printing it, drawing it. A fault
there becomes a line of that run, which names a file with the traceback for a bug report. Errors
that rltui raises deliberately pass, as does a lack of memory: they concern more than one run.
"""

from __future__ import annotations

import os
import platform
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from rltui.core.errors import RltuiError
from rltui.core.installation import state_directory, write_private
from rltui.core.text import clean
from rltui.version import __version__

#: Errors that are no faults of one run.
PASSING = (RltuiError, MemoryError)
#: What a fault in drawing or printing a run is called.
NOT_SHOWN = "could not be shown"
#: Reports that are kept, the newest.
_KEPT = 20


class Fault(NamedTuple):
    """Failure of rltui itself, for people."""

    what: str
    """Task that failed: "could not be judged"."""
    error: str
    report: Path | None
    """The file with the traceback; None where it cannot be written."""

    @property
    def text(self) -> str:
        """One line."""
        where = f" (report: {clean(str(self.report))})" if self.report else ""
        return f"{self.what}: {self.error}{where}"


@contextmanager
def wall(what: str, take: Callable[[Fault], object]) -> Iterator[None]:
    """Hand a fault in the block to ``take`` instead of raising it; ``what`` could not be done."""
    try:
        yield
    except PASSING:
        raise
    except Exception as error:  # noqa: BLE001 - this is the wall
        take(reported(error, what))


def reported(error: Exception, what: str) -> Fault:
    """The fault, with its traceback in a file below the state directory: one file for each place
    at which the program failed, however often it does."""
    frames = traceback.extract_tb(error.__traceback__)
    place = "|".join(f"{f.filename}:{f.lineno}" for f in frames[-8:])
    name = f"{crc32(f'{type(error).__name__}|{place}'.encode()):08x}.txt"
    report: Path | None = state_directory(os.environ) / "faults" / name
    assert report is not None

    if not report.exists():
        head = f"rltui {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
        lines = "".join(traceback.format_exception(error)).split("\n")
        try:
            write_private(report, head + "\n".join(map(clean, lines)))
            kept = sorted(report.parent.glob("*.txt"), key=lambda p: p.stat().st_mtime)
            for old in kept[:-_KEPT]:
                old.unlink(missing_ok=True)
        except OSError:
            report = None

    return Fault(what, clean(f"{type(error).__name__}: {error}")[:200], report)
