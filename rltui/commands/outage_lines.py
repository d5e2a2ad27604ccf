"""What ``check --follow`` says about logdirs that get out of reach and come back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from rltui.core.address import RemotePath
from rltui.core.level import Level
from rltui.session import Session


class OutageLines:
    """Compares what is out of reach. Owned by a command; main thread only."""

    def __init__(self, session: Session) -> None:
        """What is out of reach now has been told."""
        self._session = session
        self._lost = session.reader.out_of_reach

    def new(self) -> Iterator[str]:
        """A line for each logdir that got out of reach since the last call, and for each that did
        not stay there."""
        lost, before = self._session.reader.out_of_reach, self._lost
        self._lost = lost
        for logdir in lost:
            if logdir not in before:
                yield f"{logdir}: {self._why(logdir)}"
        at = time.strftime("%H:%M:%S", time.localtime(self._session.clock.now()))
        for logdir in before:
            if logdir not in lost:
                yield f"{logdir}: {self._unread(logdir) or f'can be reached again since {at}'}"

    def _why(self, logdir: Path) -> str:
        """The note on it, else that on its host."""
        failed = [n for n in self._session.reach.notes if n.level >= Level.WATCH]
        own = [n.message for n in failed if n.path == logdir]
        host = [n.message for n in failed if _host(n.path) == _host(logdir)]
        return next(iter(own + host), "out of reach")

    def _unread(self, logdir: Path) -> str:
        """Why it cannot be read though its host can be reached."""
        return next((n.message for n in self._session.reader.unread if n.path == logdir), "")


def _host(path: Path) -> str:
    return path.authority if isinstance(path, RemotePath) else ""
