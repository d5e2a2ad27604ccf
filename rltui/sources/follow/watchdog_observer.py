"""Wakes the reader on systems without inotify. The only importer of watchdog."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

#: Directories to be notified of: watchdog takes a thread or two for each.
MAX_WATCHES = 64


class WatchdogObserver:
    """Watches single directories, not what is below them: there may be a home directory or
    thousands of checkpoints below.

    Best effort: where it does not work, polling alone does the work.
    """

    def __init__(self, wake: Callable[[str, bool, bool], None]) -> None:
        """``wake(path, structural, directory)`` is called in a thread of watchdog: a file was
        written, or (``structural``) a name changed, perhaps that of a ``directory``."""
        self._wake = wake
        self._observer: Any = None
        self._handler: Any = None
        self._watches: dict[Path, Any] = {}

    def watches(self, directory: Path) -> bool:
        """Whether changes of a directory are reported."""
        return directory in self._watches

    @property
    def watched(self) -> frozenset[Path]:
        """The directories whose changes are reported."""
        return frozenset(self._watches)

    def start(self, directories: Iterable[Path]) -> bool:
        """Begin to listen, the most important directories first; False if that is impossible."""
        try:
            from watchdog.events import FileSystemEventHandler
            from watchdog.observers import Observer
        except ImportError:
            return False
        wake = self._wake

        class Handler(FileSystemEventHandler):
            def on_any_event(self, event: Any) -> None:
                if event.event_type in ("created", "moved", "deleted"):
                    for path in (event.src_path, event.dest_path):
                        if path:
                            wake(os.fsdecode(path), True, event.is_directory)
                elif event.event_type == "modified" and not event.is_directory:
                    wake(os.fsdecode(event.src_path), False, False)

        try:
            observer = Observer()
            observer.start()
        except (OSError, RuntimeError):
            return False
        self._observer, self._handler = observer, Handler()
        self.update(directories)
        if not self._watches:
            self.stop()
        return bool(self._watches)

    def update(self, directories: Iterable[Path]) -> None:
        """Watch the first MAX_WATCHES of these directories, and no others."""
        if self._observer is None:
            return
        wanted = dict.fromkeys(itertools.islice(directories, MAX_WATCHES))
        for path in [p for p in self._watches if p not in wanted]:
            with contextlib.suppress(OSError, RuntimeError, KeyError):
                self._observer.unschedule(self._watches.pop(path))
        for path in wanted:
            if path in self._watches:
                continue
            try:
                watch = self._observer.schedule(self._handler, str(path), recursive=False)
            except FileNotFoundError:
                continue
            except (OSError, RuntimeError, ValueError):
                break  # the system gives no more
            self._watches[path] = watch

    def stop(self) -> None:
        """Stop listening and wait for the threads."""
        observer, self._observer = self._observer, None
        self._watches = {}
        if observer is not None:
            observer.stop()
            if observer.ident != threading.get_ident():
                observer.join(timeout=5)
