"""When the directories are walked again."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.files.disk import Mounts
from rltui.formats import ALL_FORMATS, Options
from rltui.sources.discovery.logdir import RunFinder
from rltui.sources.follow.log_search import LogSearch, SearchPace
from rltui.sources.follow.notifier import Notifier
from rltui.sources.follow.schedule import Intervals
from tests.clock import ManualClock


@pytest.mark.parametrize(
    ("walk_s", "check_s", "reported", "gap"),
    [
        *((0.0, 0.0, False, 5.0), (0.0, 0.0, True, 1.0), (0.2, 0.0, True, 2.0)),
        *((0.7, 0.0, True, 7.0), (0.7, 0.0, False, 7.0), (0.1, 0.6, False, 6.0)),
    ],
)
def test_looking_for_new_files_takes_a_tenth_of_the_time(
    walk_s: float, check_s: float, reported: bool, gap: float
) -> None:
    pace = SearchPace(Intervals())
    assert pace.may_walk(100.0)
    pace.walked(100.0, 100.0 + walk_s)
    pace.checked(100.0, 100.0 + check_s)
    assert pace.gap(reported=reported) == pytest.approx(gap)
    assert pace.may_walk(100.1 + 11 * walk_s)
    assert pace.may_walk(100.1 + 5 * walk_s) == (walk_s < 0.02)


def test_a_file_that_may_become_a_log_is_watched(tmp_path: Path) -> None:
    unclaimed = tmp_path / "x.jsonl"
    unclaimed.touch()
    clock = ManualClock()
    finder = RunFinder([tmp_path], ALL_FORMATS, Options())
    search = LogSearch(finder, [tmp_path], clock, Intervals())
    search.walk()
    assert search.check(reported=False) is None
    for content in ("{}", "{}\n"):
        unclaimed.write_text(content)
        assert search.check(reported=False) is not None
        assert search.check(reported=False) is None


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
    search = LogSearch(finder, [tmp_path], clock, Intervals(rescan_s=5.0))
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


@pytest.mark.parametrize(
    ("walk_s", "relies", "after"), [(0.0, False, 60.0), (1.0, False, 200.0), (0.0, True, 600.0)]
)
def test_walks_without_a_reason_are_rare(walk_s: float, relies: bool, after: float) -> None:
    """Rarer where they take long, or where the system reports everything."""
    pace = SearchPace(Intervals(rescan_s=5.0))
    pace.walked(100.0, 100.0 + walk_s)
    pace.relies = relies
    assert pace.gap(reported=False) == pytest.approx(max(10 * walk_s, 50.0 if relies else 5.0))
    assert not pace.must_walk(after - 1.0)
    assert pace.must_walk(after)
