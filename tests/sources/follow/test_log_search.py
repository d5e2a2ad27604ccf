"""When the directories are walked again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rltui.sources.follow.log_search import Directories, SearchPace
from rltui.sources.follow.schedule import Intervals


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


def test_walks_without_a_reason_are_rare_where_they_take_long() -> None:
    pace = SearchPace(Intervals(rescan_s=5.0))
    assert not pace.must_walk(59.0)
    assert pace.must_walk(60.0)
    pace.walked(100.0, 101.0)
    assert not pace.must_walk(199.0)
    assert pace.must_walk(200.0)
