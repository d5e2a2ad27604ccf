"""Wakes the reader as soon as the system reports a change: Linux by inotify(7), others by watchdog.

Single directories are watched, not what is below them: there may be a home directory or thousands
of checkpoints below.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import itertools
import os
import select
import stat
import struct
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from rltui.files.disk import Mounts

#: Directories that are watched: this part of what all programs of a user may have, which is 8,192
#: on old systems and grows with the memory on newer ones. A watch takes about 1 KB there.
_SHARE = 4
_USUAL_LIMIT = 8192
_MOST_WATCHES = 100_000
_LIMIT = Path("/proc/sys/fs/inotify/max_user_watches")
#: The same for watchdog, which takes a thread or two for each.
_MOST_OBSERVED = 64

# bits of inotify(7)
_MODIFY = 0x2
_ATTRIBUTES = 0x4
_MOVED_FROM = 0x40
_MOVED_TO = 0x80
_CREATE = 0x100
_DELETE = 0x200
_DELETE_SELF = 0x400
_MOVE_SELF = 0x800
_UNMOUNT = 0x2000
_OVERFLOW = 0x4000
_IGNORED = 0x8000
_IS_DIR = 0x40000000
_ONLY_DIRECTORIES = 0x1000000
_NOT_UNLINKED = 0x4000000
_OF_ITSELF = _DELETE_SELF | _MOVE_SELF | _UNMOUNT
_NAMES = _ATTRIBUTES | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _OF_ITSELF
_WANTED = (_NAMES & ~_UNMOUNT) | _MODIFY | _ONLY_DIRECTORIES | _NOT_UNLINKED
_HEAD = struct.Struct("=iIII")
_BUFFER = 1 << 16
#: A busy writer makes one event for each write: they are taken together this often.
_GAP_S = 0.01
#: ``wake(path, structural, directory)`` is called in the notifier's thread: a file was written, or
#: (``structural``) a name or its permissions changed, perhaps those of a ``directory``.
Wake = Callable[[str, bool, bool], None]


def most_watches() -> int:
    """How many directories are watched at most; the others are polled."""
    try:
        granted = int(_LIMIT.read_text())
    except (OSError, ValueError):
        granted = _USUAL_LIMIT
    return min(_MOST_WATCHES, granted // _SHARE)


class _Observer:
    """watchdog, on systems without inotify. Raises ImportError, OSError or RuntimeError where it
    cannot start."""

    def __init__(self, wake: Wake) -> None:
        # needed on few systems, and it imports much
        from watchdog.events import FileSystemEventHandler
        from watchdog.observers import Observer  # as above

        class Handler(FileSystemEventHandler):
            def on_any_event(self, event: Any) -> None:
                if event.event_type in ("created", "moved", "deleted"):
                    for path in filter(None, (event.src_path, event.dest_path)):
                        wake(os.fsdecode(path), True, event.is_directory)
                elif event.event_type == "modified" and not event.is_directory:
                    wake(os.fsdecode(event.src_path), False, False)

        self._handler, self._observer = Handler(), Observer()
        self._observer.start()

    def update(self, watches: dict[Path, Any], wanted: Iterable[Path]) -> None:
        """Change ``watches`` to the first of these directories that there are."""
        wanted = list(itertools.islice(wanted, _MOST_OBSERVED))
        for path in [p for p in watches if p not in wanted]:
            with contextlib.suppress(OSError, RuntimeError, KeyError):
                self._observer.unschedule(watches.pop(path))
        for path in wanted:
            if path not in watches:
                with contextlib.suppress(OSError, RuntimeError, ValueError):
                    watch = self._observer.schedule(self._handler, str(path), recursive=False)
                    watches[path] = watch

    def stop(self) -> None:
        """Stop its threads, and wait for them."""
        self._observer.stop()
        if self._observer.ident != threading.get_ident():
            self._observer.join(timeout=5)


class Notifier:
    """Listens by one descriptor and one thread, which sleeps while nothing is written.

    Knows, too, of which files and directories the system reports every change: a directory must be
    watched and lie on a file system that only this host writes to.
    """

    def __init__(self, wake: Wake, lost: Callable[[], None] = lambda: None) -> None:
        """``lost()`` is called when there were more events than the system keeps: any file may
        have changed."""
        self.mounts = Mounts()
        self._wake = wake
        self._lost = lost
        self._library: Any = None
        self._descriptor = self._stop_read = self._stop_write = -1
        self._lock = threading.RLock()
        self._observer: _Observer | None = None
        self._watches: dict[Path, Any] = {}
        self._paths: dict[int, frozenset[Path]] = {}
        """By watch: several paths may lead to one directory."""
        self._thread: threading.Thread | None = None

    @property
    def watched(self) -> frozenset[Path]:
        """The directories whose changes are reported."""
        with self._lock:
            return frozenset(self._watches)

    def start(self, directories: Iterable[Path]) -> bool:
        """Begin to listen, the most important directories first; False if that is impossible."""
        try:
            self._library = ctypes.CDLL(None, use_errno=True)
            descriptor = self._library.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        except (OSError, AttributeError):  # not Linux
            with contextlib.suppress(ImportError, OSError, RuntimeError):
                self._observer = _Observer(self._wake)
            self.update(directories)
            return bool(self._watches)

        if descriptor < 0:  # usually 128 instances for a user
            return False

        self._descriptor = descriptor
        self._stop_read, self._stop_write = os.pipe()
        self._thread = threading.Thread(target=self._listen, name="rltui-inotify", daemon=True)
        self._thread.start()
        self.update(directories)
        if not self._watches:
            self.stop()
            return False
        return True

    def update(self, directories: Iterable[Path]) -> None:
        """Watch these directories, as many as the system grants, and no others."""
        if self._observer is not None:
            self._observer.update(self._watches, directories)
        if self._thread is None:
            return

        wanted = dict.fromkeys(itertools.islice(directories, most_watches()))
        with self._lock:
            for path in [p for p in self._watches if p not in wanted]:
                self._forget(path)

            for path in wanted:
                if path in self._watches:
                    continue
                name = os.fsencode(path)
                watch = self._library.inotify_add_watch(self._descriptor, name, _WANTED)
                if watch >= 0:
                    self._watches[path] = watch
                    self._paths[watch] = self._paths.get(watch, frozenset()) | {path}
                elif ctypes.get_errno() in (errno.ENOSPC, errno.ENOMEM):
                    return  # else that one is not there

    def stop(self) -> None:
        """Stop listening and wait for the thread."""
        observer = self._observer
        self._observer = None
        if observer is not None:
            observer.stop()
            self._watches = {}
        thread = self._thread
        self._thread = None
        if thread is None:
            return

        os.close(self._stop_write)
        if thread is not threading.current_thread():
            thread.join()

        with self._lock:
            self._watches = {}
            self._paths = {}
            os.close(self._stop_read)
            os.close(self._descriptor)

    def reports_names_in(self, directory: Path) -> bool:
        """Whether every new name in a directory is reported."""
        return directory in self._watches and self.mounts.reports_writes(directory)

    def reports_writes_to(self, path: Path) -> bool:
        """Whether every write to a file is reported. What is written by way of another name, in
        a directory that is not watched, is not."""
        if not self.reports_names_in(path.parent):
            return False

        try:
            status = os.lstat(path)
        except OSError:
            return False
        return stat.S_ISREG(status.st_mode) and status.st_nlink == 1

    def _forget(self, path: Path) -> None:
        watch = self._watches.pop(path)
        left = self._paths.get(watch, frozenset()) - {path}
        if left:
            self._paths[watch] = left
        elif self._paths.pop(watch, None) is not None:
            self._library.inotify_rm_watch(self._descriptor, watch)

    def _listen(self) -> None:
        """The body of the thread."""
        events = select.poll()
        gap = select.poll()
        events.register(self._descriptor, select.POLLIN)
        for waiting in (events, gap):
            waiting.register(self._stop_read, select.POLLIN | select.POLLHUP)

        while all(ready != self._stop_read for ready, _ in events.poll()):
            for path, mask in dict.fromkeys(self._read()):
                if mask & _OVERFLOW:
                    self._lost()
                elif mask & _NAMES:
                    self._wake(path, True, bool(mask & (_OF_ITSELF | _IS_DIR)))
                elif mask & _MODIFY:
                    self._wake(path, False, False)
            if gap.poll(1000 * _GAP_S):
                return

    def _read(self) -> Iterator[tuple[str, int]]:
        """Path and mask of each event; an empty path for what has none."""
        try:
            data = os.read(self._descriptor, _BUFFER)
        except OSError:
            return

        begin = 0
        while begin < len(data):
            watch, mask, _, length = _HEAD.unpack_from(data, begin)
            name = data[begin + _HEAD.size : begin + _HEAD.size + length].rstrip(b"\0")
            begin += _HEAD.size + length
            if mask & _OVERFLOW:
                yield "", mask
                continue
            with self._lock:
                paths = self._paths.get(watch, frozenset())
                if mask & (_IGNORED | _MOVE_SELF):  # its path leads elsewhere from now on
                    for path in paths:
                        self._forget(path)
            for path in paths:
                yield os.path.join(path, os.fsdecode(name)) if name else str(path), mask  # noqa: PTH118
