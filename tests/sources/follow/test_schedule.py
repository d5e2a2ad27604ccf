"""When files are looked at."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from rltui.sources.follow import schedule as watch
from rltui.sources.follow.schedule import Directories, Intervals, Notifier, Pace, Schedule

A, B = Path("a"), Path("b")


def test_a_new_file_is_due_at_once_and_then_at_the_fast_interval() -> None:
    schedule = Schedule(Intervals(0.25, 5.0))
    schedule.add(A, 100.0, 1.0, newest=True)
    assert schedule.due(100.0) == [A]
    schedule.looked(A, 100.0, grew=True)
    assert schedule.due(100.2) == []
    assert schedule.next_due(100.0) == pytest.approx(0.25)
    assert schedule.due(100.25) == [A]


def test_a_quiet_file_is_looked_at_rarely() -> None:
    schedule = Schedule(Intervals(0.25, 5.0))
    schedule.add(A, 100.0, 3600.0, newest=True)
    assert schedule.due(100.0) == [A]
    schedule.looked(A, 100.0, grew=False)
    assert schedule.next_due(100.0) == pytest.approx(5.0)


def test_an_older_file_of_a_run_is_looked_at_rarely() -> None:
    schedule = Schedule(Intervals(0.25, 5.0))
    schedule.add(A, 100.0, 1.0, newest=False)
    assert schedule.due(100.0) == [A]
    schedule.looked(A, 100.0, grew=False)
    assert schedule.next_due(100.0) == pytest.approx(30.0)


def test_a_slow_writer_stays_hot_for_ten_of_its_intervals() -> None:
    schedule = Schedule(Intervals(0.25, 5.0))
    schedule.add(A, 0.0, 0.0, newest=True)
    for now in (600.0, 1200.0, 1800.0):
        schedule.due(now)
        schedule.looked(A, now, grew=True)
    for now, pause in ((6800.0, 0.25), (8800.0, 5.0)):
        assert schedule.due(now) == [A]
        schedule.looked(A, now, grew=False)
        assert schedule.next_due(now) == pytest.approx(pause)


@pytest.mark.parametrize(("tells", "pause"), [(True, 5.0), (False, 0.25)])
def test_a_file_that_the_system_tells_of_is_polled_rarely_unless_others_may_write_it(
    tells: bool, pause: float
) -> None:
    schedule = Schedule(Intervals(0.25, 5.0), lambda directory: tells)
    schedule.add(A, 100.0, 1.0, newest=True)
    schedule.due(100.0)
    schedule.looked(A, 100.0, grew=True)
    schedule.wake(A, 101.0)
    assert schedule.due(101.0) == [A]
    schedule.looked(A, 101.0, grew=True)
    assert schedule.next_due(101.0) == pytest.approx(pause)


def test_a_file_of_yesterday_is_hardly_looked_at() -> None:
    schedule = Schedule(Intervals(0.25, 5.0))
    schedule.add(A, 0.0, 90_000.0, newest=True)
    schedule.due(0.0)
    schedule.looked(A, 0.0, grew=False)
    assert schedule.next_due(0.0) == pytest.approx(30.0)


def test_waking_makes_due() -> None:
    schedule = Schedule(Intervals())
    schedule.add(A, 0.0, 0.0, newest=True)
    schedule.due(0.0)
    schedule.looked(A, 0.0, grew=False)
    assert schedule.wake(A, 0.1)
    assert schedule.due(0.1) == [A]
    assert not schedule.wake(B, 0.1)
    schedule.remove(A)
    assert schedule.due(9.0) == []


def test_a_busy_writer_is_looked_at_twenty_times_a_second() -> None:
    schedule = Schedule(Intervals(0.25, 5.0))
    schedule.add(A, 100.0, 0.0, newest=True)
    schedule.due(100.0)
    schedule.looked(A, 100.0, grew=True)
    schedule.wake(A, 100.01)
    assert schedule.due(100.01) == []
    assert schedule.due(100.05) == [A]


def test_files_become_due_together() -> None:
    schedule = Schedule(Intervals(0.25, 5.0))
    for number, path in enumerate((A, B)):
        schedule.add(path, 100.0, 0.0, newest=True)
        schedule.due(100.0)
        schedule.looked(path, 100.0 + 0.01 * number, grew=False)
    assert schedule.due(100.25) == [A, B]
    assert schedule.due(100.25) == []


def test_a_file_that_the_system_tells_of_is_polled_rarely() -> None:
    """Until it grows without being told of: then inotify does not work there."""
    schedule = Schedule(Intervals(0.25, 5.0))
    schedule.add(A, 100.0, 0.0, newest=True)
    schedule.wake(A, 101.0)
    assert schedule.due(101.0) == [A]
    schedule.looked(A, 101.0, grew=True)
    assert schedule.next_due(101.0) == pytest.approx(5.0)
    assert schedule.due(106.0) == [A]
    schedule.looked(A, 106.0, grew=True)
    assert schedule.next_due(106.0) == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("walk_s", "ask_s", "asked", "gap"),
    [
        *((0.0, 0.0, False, 5.0), (0.0, 0.0, True, 1.0), (0.2, 0.0, True, 2.0)),
        *((0.7, 0.0, True, 7.0), (0.7, 0.0, False, 7.0), (0.1, 0.6, False, 6.0)),
    ],
)
def test_looking_for_new_files_takes_a_tenth_of_the_time(
    walk_s: float, ask_s: float, asked: bool, gap: float
) -> None:
    pace = Pace(Intervals())
    assert pace.may_walk(100.0)
    pace.walked(100.0, 100.0 + walk_s)
    pace.asked(100.0, 100.0 + ask_s)
    assert pace.gap(asked=asked) == pytest.approx(gap)
    assert pace.may_walk(100.1 + 11 * walk_s)
    assert pace.may_walk(100.1 + 5 * walk_s) == (walk_s < 0.02)


def test_directories_notice_new_files(tmp_path: Path) -> None:
    directories = Directories()
    os.utime(tmp_path, ns=(1, 1))
    unclaimed = tmp_path / "x.jsonl"
    directories.set([(tmp_path, 1)], [unclaimed])
    assert not directories.changed()
    unclaimed.write_text("{}")
    assert directories.changed()
    assert not directories.changed()
    unclaimed.write_text("{}\n")
    assert directories.changed()


def test_a_change_between_looking_and_remembering_is_not_lost(tmp_path: Path) -> None:
    directories = Directories()
    directories.set([(tmp_path, 1)], [])
    assert directories.changed()


def test_inotify_wakes(tmp_path: Path) -> None:
    woken = threading.Event()
    notifier = Notifier(lambda path, structural, directory: woken.set())
    if not notifier.start([tmp_path]):
        pytest.skip("no inotify here")
    try:
        (tmp_path / "file").write_text("x")
        assert woken.wait(10)
    finally:
        notifier.stop()


def test_a_system_without_inotify_is_polled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import watchdog.observers

    class Broken(watchdog.observers.Observer):  # type: ignore[misc, name-defined]
        def schedule(self, *args: object, **kwargs: object) -> None:
            raise OSError(28, "inotify watch limit reached")

    monkeypatch.setattr(watchdog.observers, "Observer", Broken)
    notifier = Notifier(lambda path, structural, directory: None)
    assert not notifier.start([tmp_path])
    notifier.stop()


def test_only_the_directories_themselves_are_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "MAX_WATCHES", 2)
    directories = [tmp_path / name for name in "abc"]
    for directory in directories:
        (directory / "deep").mkdir(parents=True)
    told: list[tuple[str, bool, bool]] = []
    woken = threading.Event()

    def wake(path: str, structural: bool, directory: bool) -> None:
        told.append((path, structural, directory))
        if path.endswith("end"):
            woken.set()

    notifier = Notifier(wake)
    if not notifier.start(directories):
        pytest.skip("no inotify here")
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
    structural = {path for path, structural, _ in told if structural}
    assert structural <= {str(tmp_path / "a" / "end"), str(tmp_path / "c" / "new")}
    assert (str(tmp_path / "a" / "end"), True, False) in told


def test_watchdog_is_imported_only_when_needed() -> None:
    assert "watchdog" not in vars(watch)
