"""Logdirs that cannot be searched: when that is an error, and what is noted about them."""

from __future__ import annotations

import stat
from pathlib import Path

from rltui.core.address import is_remote
from rltui.core.batch import Note
from rltui.core.errors import UnreachableError
from rltui.core.level import Level
from rltui.core.yaml_document import nearest
from rltui.files.disk import listing, status, trouble
from rltui.files.trouble import MISSING, VANISHED
from rltui.sources.discovery.tree import EmptyLogError, LogdirError, Tree


class AwayLogdirError(LogdirError, UnreachableError):
    """The server of a logdir cannot be reached or used now."""


class UnreadLogdirs:
    """Knows of some numbered logdirs which could be searched, and when."""

    def __init__(self, count: int, *, waits: bool, partial: bool, absent: bool = False) -> None:
        """``waits``: an empty file is no error, nor is with it or ``partial`` a bad logdir while
        another one is good, nor with ``absent`` one that does not exist."""
        self._count = count
        self._waits = waits
        self._partial = partial or waits
        self._absent = absent
        self._found = False
        """Whether a search has succeeded."""
        self._good: set[int] = set()
        """Numbers of the logdirs that could be searched once."""
        self._errors: list[LogdirError] = []
        self.notes: tuple[Note, ...] = ()
        """Logdirs that the last search could not search, though their servers can be reached."""

    def turn(self) -> None:
        """A search begins."""
        self._errors, self.notes = [], ()

    def good(self, number: int) -> None:
        """A logdir was searched."""
        self._good.add(number)

    def bad(self, number: int, logdir: Path, error: LogdirError) -> Tree:
        """A logdir cannot be searched: what there is of it. Raises LogdirError."""
        if not (self._waits and isinstance(error, EmptyLogError)):
            away = any(note.level >= Level.WATCH for note in trouble((logdir,)))
            found = AwayLogdirError(logdir, error.reason) if away else error
            expected = self._absent and error.reason == MISSING and not is_remote(logdir)
            if not expected:
                self._errors.append(found)
            if not (self._found or self._partial or expected):
                raise found from error
            if not away:
                self.notes += (Note(logdir, None, Level.WATCH, error.reason),)
        return _tree(logdir, error, vanished=number in self._good)

    def all_tried(self) -> None:
        """A search is over. Raises LogdirError when no logdir is good."""
        if not self._found and self._errors and len(self._errors) == self._count:
            raise next((e for e in self._errors if not _is_away(e)), self._errors[0])
        self._found = True


def _is_away(error: LogdirError) -> bool:
    return isinstance(error, UnreachableError)


def _tree(logdir: Path, error: LogdirError, *, vanished: bool) -> Tree:
    """A logdir that cannot be searched now: tried again when it appears, as a file when it
    grows. ``vanished``: it could be searched before."""
    try:
        found = logdir.parent, status(logdir.parent).st_mtime_ns
        named = stat.S_ISREG(status(logdir).st_mode)
    except (OSError, ValueError):
        named = False
    if not named:
        tree = Tree(directories=[(logdir, -1)])
        tree.trouble(logdir, VANISHED if vanished and error.reason == MISSING else error.reason)
        return tree
    tree = Tree(directories=[found], unclaimed=[logdir])
    tree.refuse(logdir, error.reason)
    return tree


def similar_to(path: Path) -> Path | None:
    """What is there in place of a path of this machine that does not exist, if its name is nearly
    the same: a typing error, perhaps."""
    above = path
    while not above.parent.exists():
        above = above.parent
    try:
        found = nearest(above.name, (entry.name for entry in listing(above.parent)))
    except (OSError, ValueError):
        return None
    return None if found is None else above.with_name(found)
