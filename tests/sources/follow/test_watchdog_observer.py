"""What watchdog reports, on systems without inotify."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.sources.follow import watchdog_observer
from rltui.sources.follow.watchdog_observer import WatchdogObserver


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


def test_watchdog_is_imported_only_when_needed() -> None:
    assert "watchdog" not in vars(watchdog_observer)
