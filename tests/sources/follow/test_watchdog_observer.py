"""What watchdog reports, on systems without inotify."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from rltui.sources.follow import watchdog_observer
from rltui.sources.follow.watchdog_observer import WatchdogObserver


def test_a_written_file_wakes(tmp_path: Path) -> None:
    woken = threading.Event()
    notifier = WatchdogObserver(lambda path, structural, directory: woken.set())
    if not notifier.start([tmp_path]):
        pytest.skip("watchdog cannot watch here")
    try:
        (tmp_path / "file").write_text("x")
        assert woken.wait(10)
    finally:
        notifier.stop()


def test_a_system_that_grants_no_watch_is_polled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import watchdog.observers

    class Broken(watchdog.observers.Observer):  # type: ignore[misc, name-defined]
        def schedule(self, *args: object, **kwargs: object) -> None:
            raise OSError(28, "inotify watch limit reached")

    monkeypatch.setattr(watchdog.observers, "Observer", Broken)
    notifier = WatchdogObserver(lambda path, structural, directory: None)
    assert not notifier.start([tmp_path])
    notifier.stop()


def test_only_the_directories_themselves_are_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog_observer, "MAX_WATCHES", 2)
    directories = [tmp_path / name for name in "abc"]
    for directory in directories:
        (directory / "deep").mkdir(parents=True)
    seen: list[tuple[str, bool, bool]] = []
    woken = threading.Event()

    def wake(path: str, structural: bool, directory: bool) -> None:
        seen.append((path, structural, directory))
        if path.endswith("end"):
            woken.set()

    notifier = WatchdogObserver(wake)
    if not notifier.start(directories):
        pytest.skip("watchdog cannot watch here")
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


def test_watchdog_is_imported_only_when_needed() -> None:
    assert "watchdog" not in vars(watchdog_observer)
