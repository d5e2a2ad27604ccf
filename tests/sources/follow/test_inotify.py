"""What the system reports, as far as it does."""

from __future__ import annotations

import ctypes
import errno
import os
import queue
import threading
from pathlib import Path

import pytest

from rltui.sources.follow.inotify import Inotify, most_watches


class RefusesInstances:
    """A C library whose user has as many instances of inotify as allowed."""

    def inotify_init1(self, flags: int) -> int:
        return -1


class RefusesWatches:
    """A C library whose user has as many watches as allowed."""

    def inotify_init1(self, flags: int) -> int:
        return os.open(os.devnull, os.O_RDONLY)

    def inotify_add_watch(self, *_: object) -> int:
        ctypes.set_errno(errno.ENOSPC)
        return -1


@pytest.mark.parametrize("library", [object(), RefusesWatches(), RefusesInstances()])
def test_a_system_without_inotify_is_polled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: object
) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: library)
    notifier = Inotify(lambda path, structural, directory: None)
    assert not notifier.start([tmp_path])
    assert not notifier.watched
    notifier.stop()


def test_what_happens_to_a_watched_directory_is_reported(tmp_path: Path) -> None:
    seen: queue.SimpleQueue[tuple[str, bool, bool]] = queue.SimpleQueue()
    notifier = Inotify(lambda *event: seen.put(event))
    directory, link = tmp_path / "run", tmp_path / "link"
    directory.mkdir()
    link.symlink_to(directory)
    (directory / "log").touch()
    if not notifier.start([directory, link, tmp_path / "none"]):
        pytest.skip("no inotify here")
    try:
        assert notifier.watched == {directory, link}
        (directory / "log").write_text("x")
        wait_for(seen, link / "log", structural=False, directory=False)
        (directory / "log").chmod(0o600)
        wait_for(seen, directory / "log", structural=True, directory=False)
        (directory / "log").rename(directory / "log.1")
        wait_for(seen, directory / "log.1", structural=True, directory=False)
        notifier.update([directory])
        directory.rename(tmp_path / "moved")
        wait_for(seen, directory, structural=True, directory=True)
        assert not notifier.watches(directory)  # its path leads to nothing any more
    finally:
        notifier.stop()


def wait_for(
    seen: queue.SimpleQueue[tuple[str, bool, bool]],
    path: Path,
    *,
    structural: bool,
    directory: bool,
) -> None:
    """Until this is reported; raises queue.Empty when nothing comes for ten seconds."""
    while seen.get(timeout=10) != (str(path), structural, directory):
        pass


def test_more_events_than_the_system_keeps(tmp_path: Path) -> None:
    limit = Path("/proc/sys/fs/inotify/max_queued_events")
    if not limit.exists() or int(limit.read_text()) > 100_000:
        pytest.skip("no inotify here, or too patient")
    go_on, lost = threading.Event(), threading.Event()
    notifier = Inotify(lambda path, structural, directory: bool(go_on.wait(10)), lost.set)
    files = [tmp_path / "a", tmp_path / "b"]
    assert notifier.start([tmp_path])
    try:
        for file in files:
            file.touch()
        for number in range(int(limit.read_text()) + 5000):
            os.utime(files[number % 2])
        assert not lost.is_set()
        go_on.set()
        assert lost.wait(10)
    finally:
        go_on.set()
        notifier.stop()


def test_nothing_is_left_open(tmp_path: Path) -> None:
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():
        pytest.skip("no list of descriptors here")
    before, threads = len(list(descriptors.iterdir())), threading.active_count()
    for directories in ([tmp_path], []):
        notifier = Inotify(lambda path, structural, directory: None)
        notifier.start(directories)
        notifier.stop()
        notifier.stop()
    assert len(list(descriptors.iterdir())) == before
    assert threading.active_count() == threads


@pytest.mark.parametrize(
    ("limit", "most"), [("8192\n", 2048), ("192536", 48_134), ("9" * 9, 100_000), ("?", 2048)]
)
def test_a_quarter_of_the_watches_of_a_user_is_taken(tmp_path: Path, limit: str, most: int) -> None:
    (tmp_path / "limit").write_text(limit)
    assert most_watches(tmp_path / "limit") == most
    assert most_watches(tmp_path / "none") == 2048
