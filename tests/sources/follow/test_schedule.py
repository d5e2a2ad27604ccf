"""When files are looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.sources.follow.schedule import Schedule
from rltui.sources.options import Intervals

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


@pytest.mark.parametrize(
    ("quiet_s", "newest", "grew", "pause"),
    [
        (1.0, True, True, 0.25),
        (3600.0, True, False, 5.0),
        (90_000.0, True, False, 30.0),
        (1.0, False, False, 30.0),
    ],
    ids=["it grows", "it is quiet", "of yesterday", "not the newest of its run"],
)
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
