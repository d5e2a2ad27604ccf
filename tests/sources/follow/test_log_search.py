"""When the directories are walked again."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.files.disk import Mounts
from rltui.formats import ALL_FORMATS, Options
from rltui.sources.discovery.logdir import RunFinder
from rltui.sources.discovery.run_files import Discovery
from rltui.sources.follow.notifier import Notifier
from rltui.sources.follow.schedule import LogSearch
from rltui.sources.options import Intervals, ReaderOptions
from tests.clock import ManualClock


class SlowFinder(RunFinder):
    """Takes a while to search."""

    def __init__(self, logdir: Path, clock: ManualClock, walk_s: float) -> None:
        super().__init__([logdir])
        self._clock, self._walk_s = clock, walk_s

    def find(self) -> Discovery:
        self._clock.advance(self._walk_s)
        return super().find()


@pytest.mark.parametrize(
    ("walk_s", "reported", "gap", "idle_s"),
    [
        *((0.0, False, 5.0, 60.0), (0.0, True, 1.0, 60.0), (0.2, True, 2.0, 60.0)),
        *((0.7, True, 7.0, 140.0), (0.7, False, 7.0, 140.0)),
    ],
)
def test_searching_takes_a_tenth_of_the_time_and_less_without_a_reason(
    tmp_path: Path, walk_s: float, reported: bool, gap: float, idle_s: float
) -> None:
    clock = ManualClock()
    search = LogSearch(SlowFinder(tmp_path, clock, walk_s), [tmp_path], ReaderOptions(clock))
    for _ in range(2):
        assert search.may_walk()
        search.walk()
    begun = clock.monotonic() - walk_s
    assert search.pause(begun, reported=reported) == pytest.approx(gap)
    assert search.may_walk() == (not walk_s)
    clock.advance(idle_s - 1.0)
    assert search.may_walk()
    assert search.check(reported=False) is None
    clock.advance(1.5)
    assert search.check(reported=False) is not None


@pytest.mark.parametrize("reported", [True, False])
def test_one_more_check_before_reports_are_relied_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reported: bool
) -> None:
    """What came between the walk and the first report is found soon."""
    monkeypatch.setattr(Mounts, "reports_writes", lambda self, directory: reported)
    clock = ManualClock()
    run = tmp_path / "run"
    run.mkdir()
    (run / "x.csv").write_text("step,loss\n1,2\n2,3\n")
    finder = RunFinder([tmp_path], ALL_FORMATS, Options())
    search = LogSearch(finder, [tmp_path], ReaderOptions(clock, Intervals(rescan_s=5.0)))
    notifier = Notifier(lambda path, structural, directory: None)
    search.walk()
    if not notifier.start([tmp_path, run]):
        pytest.skip("no inotify here")
    try:
        search.rely_on(notifier)
        assert search.pause(clock.monotonic(), reported=False) == pytest.approx(5.0)
        (tmp_path / "new").mkdir()
        clock.advance(5.0)
        assert search.check(reported=False) is not None
        notifier.update([tmp_path, run, tmp_path / "new"])
        search.rely_on(notifier)
        clock.advance(5.0)
        assert search.check(reported=False) is None
        pause = search.pause(clock.monotonic(), reported=False)
        assert pause == pytest.approx(50.0 if reported else 5.0)
    finally:
        notifier.stop()
