"""Wakes the reader when the system reports a change, by whatever means the system has."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from rltui.sources.follow.inotify import Inotify
from rltui.sources.follow.watchdog_observer import WatchdogObserver


class _Means(Protocol):
    @property
    def watched(self) -> frozenset[Path]: ...

    def watches(self, directory: Path) -> bool: ...

    def start(self, directories: Iterable[Path]) -> bool: ...

    def update(self, directories: Iterable[Path]) -> None: ...

    def stop(self) -> None: ...


class Notifier:
    """inotify where there is one: one descriptor and one thread for thousands of directories.
    watchdog elsewhere: it knows all systems, and takes threads for each directory."""

    def __init__(
        self, wake: Callable[[str, bool, bool], None], lost: Callable[[], None] | None = None
    ) -> None:
        """``wake(path, structural, directory)`` is called in a thread: a file was written, or
        (``structural``) a name or its permissions changed, perhaps those of a ``directory``;
        ``lost()``: there were more events than the system keeps, any file may have changed."""
        self._known: tuple[_Means, ...] = (Inotify(wake, lost), WatchdogObserver(wake))
        self._means: _Means | None = None

    @property
    def watched(self) -> frozenset[Path]:
        """The directories whose changes are reported."""
        return self._means.watched if self._means else frozenset()

    def watches(self, directory: Path) -> bool:
        """Whether changes of a directory are reported."""
        return self._means is not None and self._means.watches(directory)

    def start(self, directories: Iterable[Path]) -> bool:
        """Begin to listen, the most important directories first; False if that is impossible."""
        wanted = list(directories)
        self._means = next((x for x in self._known if x.start(wanted)), None)
        return self._means is not None

    def update(self, directories: Iterable[Path]) -> None:
        """Watch these directories, as many as the system grants, and no others."""
        if self._means is not None:
            self._means.update(directories)

    def stop(self) -> None:
        """Stop listening and wait for the threads."""
        if self._means is not None:
            self._means.stop()
            self._means = None
