"""Trouble with one file, directory or store: what failed, since when, how often, when to retry.

Each failure is reported once, and its end once more. Trouble that keeps coming back is counted
and reported ever more rarely, so that it cannot flood the notes.
"""

from __future__ import annotations

import errno
import math
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rltui.core.batch import Note
from rltui.core.level import Level
from rltui.core.text import clean

Notes = tuple[tuple[Level, str], ...]

DELETED = "was deleted or moved; what was read of it is kept"
MISSING = "no such file or directory"
IS_THERE = "is there now"
VANISHED = "vanished"
IS_BACK = "is back"
READABLE = "can be read again"
#: What is said when the trouble of this message is over, where it is not that.
_OVER = {MISSING: IS_THERE, VANISHED: IS_BACK}
#: Notes that end the trouble of a path.
_ENDS = frozenset((IS_THERE, IS_BACK, READABLE))

#: Failures that are reported one by one; after that only the 10th, the 100th, ...
_REPORTED = 6
#: Seconds until the next try: part of the time that the trouble has lasted, within bounds.
_LEAST_RETRY_S = 0.5
_MOST_RETRY_S = 5.0
_RETRY_SHARE = 0.25
#: Pauses between attempts to reach a host or server: the first, and the longest, seconds.
_LEAST_PAUSE_S = 0.5
_MOST_PAUSE_S = 30.0
#: Seconds by which two clocks may differ before one of them counts as wrong.
_SKEW_S = 60.0


def lasting(notes: Iterable[Note]) -> list[Note]:
    """Notes about trouble that lasts. One about a place in a file stays, for what was skipped there
    is missing for good; one about a whole file lasts until the file can be read again."""
    found: list[Note] = []
    for note in notes:
        if note.level >= Level.WATCH:
            found.append(note)
        elif note.offset is None and note.message in _ENDS:
            found = [n for n in found if n.path != note.path or n.offset is not None]
    return found


class GivenUpError(OSError):
    """A log format failed on a file, which is read no further; its text is for people."""


@contextmanager
def contained() -> Iterator[None]:
    """Turn any error of a log format into :class:`GivenUpError`, so that it costs one file."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        import logging  # only for logs on a server

        logging.getLogger(__name__).debug("log format failed", exc_info=True)
        raise GivenUpError(f"cannot be read further: {type(error).__name__}") from error


def is_missing(error: OSError | ValueError) -> bool:
    """Whether an error means that there is nothing of this name."""
    return isinstance(error, OSError) and error.errno in (errno.ENOENT, errno.ENOTDIR)


def reason_of(error: OSError | ValueError, failure: str = "cannot be read") -> str:
    """``failure`` and the reason the system gives, for people; cleaned."""
    if isinstance(error, GivenUpError):
        return str(error)
    detail = error.strerror if isinstance(error, OSError) else ""
    return f"{failure}: {clean(detail or str(error) or type(error).__name__)}"


class Trouble:
    """The trouble of one thing that is read again and again. Does no I/O and knows no clock."""

    __slots__ = ("_count", "_retry", "_since", "gone", "message")

    def __init__(self) -> None:
        self.message = ""
        """Message on what is wrong now; empty when nothing is."""
        self.gone = False
        """Whether the thing is missing."""
        self._count = 0
        self._since = 0.0
        self._retry = -math.inf

    def failed(self, message: str, *, gone: bool = False, now: float = 0.0) -> Notes:
        """An attempt at ``now`` (monotonic seconds) failed; returns what to report."""
        fresh = message != self.message
        if not self.message:
            self._since = now
        self.message = message
        self.gone = gone
        self.postpone(now)
        if not fresh:
            return ()
        self._count += 1

        return ((Level.WATCH, message),) if self._is_reported() else ()

    def postpone(self, now: float) -> None:
        """Back off: :meth:`waits` until the next try. What is missing needs no pause, since
        finding that out costs one ``stat``."""
        lasted = now - self._since if self.message else 0.0
        pause = min(_MOST_RETRY_S, max(_LEAST_RETRY_S, _RETRY_SHARE * lasted))
        self._retry = -math.inf if self.gone else now + pause

    def waits(self, now: float) -> bool:
        """Whether it is too early to try again, for those who back off."""
        return now < self._retry

    def over(self) -> Notes:
        """An attempt succeeded; returns what to report."""
        self._retry = -math.inf
        if not self.message:
            return ()
        was = IS_BACK if self.gone else READABLE
        self.message = ""
        self.gone = False
        return ((Level.OK, was),) if self._is_reported() else ()

    def _is_reported(self) -> bool:
        """Whether a failure that keeps coming back is still reported."""
        return self._count <= _REPORTED or str(self._count).strip("0") == "1"


class TroubledPaths:
    """The newest note of each path that belongs to no file of a run."""

    def __init__(self) -> None:
        self._notes: dict[Path, Note] = {}

    @property
    def notes(self) -> tuple[Note, ...]:
        """One note for each path; level OK when its trouble is over."""
        return tuple(self._notes.values())

    def update(self, found: Iterable[Note], readable: Container[Path]) -> None:
        """Replace the notes by those that a search ``found``; ``readable`` paths have no trouble.
        Paths that are neither troubled nor readable are forgotten."""
        troubled = {note.path: note for note in found}
        for path, note in list(self._notes.items()):
            if path in troubled or note.level is Level.OK:
                continue
            if path in readable:
                was = _OVER.get(note.message, READABLE)
                self._notes[path] = Note(path, None, Level.OK, was)
            else:
                del self._notes[path]
        self._notes.update(troubled)


# -- hosts and servers --------------------------------------------------------------------------


def skew(ahead_s: float) -> float:
    """How far another clock is ahead, seconds; 0.0 where it may well be right."""
    return ahead_s if abs(ahead_s) > _SKEW_S else 0.0


class Backoff:
    """Says when to try again: after a pause that doubles with each failure. Knows no clock."""

    def __init__(
        self,
        least_s: float = _LEAST_PAUSE_S,
        most_s: float = _MOST_PAUSE_S,
        stretch: Callable[[], float] = lambda: 1.0,
    ) -> None:
        """``stretch``: factor of the next pause, by which many readers differ."""
        self._least_s = least_s
        self._most_s = most_s
        self._stretch = stretch
        self._failures = 0
        self._at = -math.inf

    def failed(self, now: float) -> float:
        """Note a failed attempt at ``now`` (monotonic); returns the pause, seconds."""
        pause = min(self._most_s, self._least_s * 2.0 ** min(self._failures, 16)) * self._stretch()
        self._failures += 1
        self._at = now + pause
        return pause

    def succeeded(self) -> None:
        """Note an attempt that did not fail: the next pause is short again."""
        self._failures = 0
        self._at = -math.inf

    def waits(self, now: float) -> bool:
        """Whether it is too early to try again."""
        return now < self._at
