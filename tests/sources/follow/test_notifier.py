"""Which means of the system wakes the reader."""

from __future__ import annotations

import ctypes
import threading
from pathlib import Path

import pytest

from rltui.sources.follow.inotify import Inotify
from rltui.sources.follow.notifier import Notifier
from rltui.sources.follow.watchdog_observer import WatchdogObserver


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
