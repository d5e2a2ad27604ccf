"""What the system reports, as far as it does. When files are looked at."""

import ctypes
import errno
import os
import queue
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from rltui.files.disk import Mounts
from rltui.sources.follow import notifier as module
from rltui.sources.follow.notifier import Notifier
from rltui.sources.follow.schedule import Schedule
from rltui.sources.options import Intervals
from tests.tables import cases


def ignore(path: str, structural: bool, directory: bool) -> None:
    """Nobody wants to know."""


@contextmanager
def started(notifier: Notifier, directories: Sequence[Path]) -> Iterator[Notifier]:
    if not notifier.start(directories):
        pytest.skip("the system grants no watch here")
    try:
        yield notifier
    finally:
        notifier.stop()


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
def test_a_system_that_grants_nothing_is_polled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: object
) -> None:
    def refuses(_: object) -> None:
        raise RuntimeError("no more threads")

    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: library)
    monkeypatch.setattr(module, "_Observer", refuses)
    notifier = Notifier(ignore)
    assert not notifier.start([tmp_path])
    notifier.update([tmp_path])
    assert not notifier.watched
    assert not notifier.reports_names_in(tmp_path)
    notifier.stop()


def test_what_happens_to_a_watched_directory_is_reported(tmp_path: Path) -> None:
    seen: queue.SimpleQueue[tuple[str, bool, bool]] = queue.SimpleQueue()
    directory, link = tmp_path / "run", tmp_path / "link"
    directory.mkdir()
    link.symlink_to(directory)
    log = directory / "log"
    log.touch()

    def wait_for(path: Path, *, structural: bool, directory: bool) -> None:
        """Until this is reported; raises queue.Empty when nothing comes for ten seconds."""
        while seen.get(timeout=10) != (str(path), structural, directory):
            pass

    inotify = Notifier(lambda *event: seen.put(event))
    with started(inotify, [directory, link, tmp_path / "none"]):
        assert inotify.watched == {directory, link}
        log.write_text("x")
        wait_for(link / "log", structural=False, directory=False)
        log.chmod(0o600)
        wait_for(log, structural=True, directory=False)
        log.rename(directory / "log.1")
        wait_for(directory / "log.1", structural=True, directory=False)
        inotify.update([directory])
        directory.rename(tmp_path / "moved")
        wait_for(directory, structural=True, directory=True)
        assert directory not in inotify.watched  # its path leads to nothing any more


def test_more_events_than_the_system_keeps(tmp_path: Path) -> None:
    limit = Path("/proc/sys/fs/inotify/max_queued_events")
    if not limit.exists() or int(limit.read_text()) > 100_000:
        pytest.skip("no inotify here, or too patient")
    go_on, lost = threading.Event(), threading.Event()
    files = [tmp_path / "a", tmp_path / "b"]
    inotify = Notifier(lambda *_: bool(go_on.wait(10)) and None, lost.set)
    with started(inotify, [tmp_path]):
        for file in files:
            file.touch()
        for number in range(int(limit.read_text()) + 5000):
            os.utime(files[number % 2])
        assert not lost.is_set()
        go_on.set()
        assert lost.wait(10)


@pytest.mark.parametrize("local", [True, False])
def test_whether_every_write_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local: bool
) -> None:
    """Not where others may write, nor what is written by another name."""
    monkeypatch.setattr(Mounts, "reports_writes", lambda self, directory: local)
    names = plain, linked, hard, other = [tmp_path / n for n in ("plain", "link", "hard", "other")]
    plain.touch()
    other.touch()
    linked.symlink_to(plain)
    os.link(other, hard)
    notifier = Notifier(ignore)
    assert not notifier.reports_writes_to(plain)
    with started(notifier, [tmp_path]):
        assert notifier.reports_names_in(tmp_path) == local
        assert [notifier.reports_writes_to(n) for n in names] == [local, False, False, False]
        assert not notifier.reports_writes_to(tmp_path / "run" / "below")
        assert not notifier.reports_writes_to(tmp_path / "missing")


@pytest.mark.parametrize("inotify", [True, False])
def test_a_written_file_wakes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inotify: bool
) -> None:
    """By watchdog where there is no inotify, and no more directories than it has threads for."""
    if not inotify:
        monkeypatch.setattr(module, "ctypes", SimpleNamespace(CDLL=lambda *_, **__: object()))
        monkeypatch.setattr(module, "_MOST_OBSERVED", 1)
    other = tmp_path / "other"
    other.mkdir()
    woken: queue.Queue[tuple[str, bool, bool]] = queue.Queue()
    with started(Notifier(lambda *event: woken.put(event)), [tmp_path]) as notifier:
        assert notifier.watched == {tmp_path}
        (tmp_path / "file").write_text("x")
        assert woken.get(timeout=10)[0] == str(tmp_path / "file")
        notifier.update([other, tmp_path])
        assert notifier.watched == ({other, tmp_path} if inotify else {other})
    assert not notifier.watched


A, B = Path("a"), Path("b")


def test_a_file_that_the_system_reports_is_polled_rarely() -> None:
    """Until it grows without a report: then inotify does not work there."""
    schedule = Schedule(Intervals(0.25, 5.0), lambda path: True)
    schedule.add(A, 100.0, 0.0, newest=True)
    schedule.due(100.0)
    schedule.polled(A, 100.0, grew=False)
    assert schedule.next_due(100.0) == pytest.approx(5.0)
    schedule.wake(A, 101.0)
    assert schedule.due(101.0) == [A]
    schedule.polled(A, 101.0, grew=True)
    assert schedule.due(105.75) == []
    assert schedule.due(106.0) == [A]
    schedule.polled(A, 106.0, grew=True)
    assert schedule.next_due(106.0) == pytest.approx(0.25)


@cases(__file__, "a_new_file_is_due_at_once_and_then_as_often_as_it_may_grow")
def test_a_new_file_is_due_at_once_and_then_as_often_as_it_may_grow(
    quiet_s: float, newest: bool, grew: bool, pause: float
) -> None:
    schedule = Schedule(Intervals(0.25, 5.0))
    schedule.add(A, 100.0, quiet_s, newest=newest)
    assert schedule.due(100.0) == [A]
    schedule.polled(A, 100.0, grew=grew)
    assert schedule.next_due(100.0) == pytest.approx(pause)
    assert schedule.due(99.9 + pause) == []
    assert schedule.due(100.0 + pause) == [A]
