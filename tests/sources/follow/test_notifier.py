"""Which means of the system wakes the reader."""

from __future__ import annotations

import ctypes
import threading
from pathlib import Path

import pytest

from rltui.sources.follow.inotify import Inotify
from rltui.sources.follow.notifier import Notifier
from rltui.sources.follow.watchdog_observer import WatchdogObserver

Means = type[Inotify | WatchdogObserver]


@pytest.fixture(params=[Inotify, WatchdogObserver])
def means(request: pytest.FixtureRequest) -> Means:
    """Each means of its own."""
    found: Means = request.param
    return found


def test_a_written_file_wakes(means: Means, tmp_path: Path) -> None:
    woken = threading.Event()
    notifier = means(lambda path, structural, directory: woken.set())
    if not notifier.start([tmp_path]):
        pytest.skip(f"{means.__name__} cannot watch here")
    try:
        (tmp_path / "file").write_text("x")
        assert woken.wait(10)
    finally:
        notifier.stop()


def test_only_the_directories_themselves_are_watched(
    means: Means, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if means is Inotify:
        monkeypatch.setattr(f"{means.__module__}.most_watches", lambda: 2)
    else:
        monkeypatch.setattr(f"{means.__module__}.MAX_WATCHES", 2)
    directories = [tmp_path / name for name in "abc"]
    for directory in directories:
        (directory / "deep").mkdir(parents=True)
    seen: list[tuple[str, bool, bool]] = []
    woken = threading.Event()

    def wake(path: str, structural: bool, directory: bool) -> None:
        seen.append((path, structural, directory))
        if path.endswith("end"):
            woken.set()

    notifier = means(wake)
    if not notifier.start(directories):
        pytest.skip(f"{means.__name__} cannot watch here")
    try:
        assert notifier.watched == {tmp_path / "a", tmp_path / "b"}
        (tmp_path / "a" / "deep" / "file").touch()
        (tmp_path / "c" / "file").touch()
        notifier.update([tmp_path / "a", tmp_path / "gone", tmp_path / "c"])
        assert notifier.watched == {tmp_path / "a"}
        notifier.update([tmp_path / "a", tmp_path / "c"])
        (tmp_path / "b" / "file").touch()
        (tmp_path / "c" / "new").mkdir()
        (tmp_path / "a" / "end").touch()
        assert woken.wait(10)
    finally:
        notifier.stop()
    structural = {path for path, structural, _ in seen if structural}
    assert structural <= {str(tmp_path / "a" / "end"), str(tmp_path / "c" / "new")}
    assert (str(tmp_path / "a" / "end"), True, False) in seen


def test_watchdog_wakes_where_there_is_no_inotify(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe = WatchdogObserver(lambda path, structural, directory: None)
    if not probe.start([tmp_path]):
        pytest.skip("watchdog cannot watch here")
    probe.stop()
    monkeypatch.setattr(Inotify, "start", lambda self, directories: False)
    woken = threading.Event()
    notifier = Notifier(lambda path, structural, directory: woken.set())
    assert notifier.start([tmp_path])
    try:
        assert notifier.watches(tmp_path)
        assert notifier.watched == {tmp_path}
        (tmp_path / "file").write_text("x")
        assert woken.wait(10)
    finally:
        notifier.stop()
    assert not notifier.watched


def test_a_system_that_grants_nothing_is_polled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_library(name: str | None, **options: object) -> None:
        raise OSError("no C library")

    monkeypatch.setattr(ctypes, "CDLL", no_library)
    monkeypatch.setattr(WatchdogObserver, "start", lambda self, directories: False)
    notifier = Notifier(lambda path, structural, directory: None)
    assert not notifier.start([tmp_path])
    notifier.update([tmp_path])
    assert not notifier.watches(tmp_path)
    notifier.stop()
