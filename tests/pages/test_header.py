"""Line 1 of the list of runs: what has room, and what goes first."""

from __future__ import annotations

from collections import Counter

import pytest

from rltui.core.level import Level
from rltui.draw.line import plain
from rltui.draw.view import View
from rltui.facts.runs import RunCounts
from rltui.pages.run.header import runs_header

STATES = Counter(live=1, stalled=2, crashed=3, cancelled=4, finished=15, quiet=6, ended=27)
COUNTS = RunCounts(58, 58, STATES, Counter({Level.BAD: 7, Level.WATCH: 9}))


def header(width: int, label: str = "runs") -> str:
    return plain(runs_header(COUNTS, label, View(), width))


def test_a_wide_screen_counts_every_state() -> None:
    assert "1 live  2 stalled  3 crashed  4 cancelled  15 finished  6 quiet" in header(120)


def test_what_is_over_goes_before_what_is_live() -> None:
    line = header(80)
    assert "1 live  2 stalled  3 crashed  …" in line
    assert "cancelled" not in line
    assert "ended" not in line


def test_many_logdirs_leave_room_for_what_is_live() -> None:
    line = header(80, ", ".join(f"gpu-{i:02}:experiments" for i in range(9)))
    assert "1 live  3 crashed" in line
    assert line.startswith(" gpu-00")


@pytest.mark.parametrize(("read", "badge"), [(22, False), (58, True)])
def test_runs_are_called_ok_when_all_were_read(read: int, badge: bool) -> None:
    counts = RunCounts(58, read, STATES, Counter({Level.OK: read}))
    line = plain(runs_header(counts, "many", View(), 120))
    assert line.rstrip().endswith("✔ ok") is badge
