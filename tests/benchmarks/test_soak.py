"""The long run of the monitor counts what it writes, and its slope is that of the memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.soak import Sample, Soak, Training, points_in, slope
from rltui.sources import Reader
from rltui.sources.options import ReaderOptions
from tests.clock import ManualClock


def test_points_are_counted(tmp_path: Path) -> None:
    soak = Soak(tmp_path, 8, 1.0, None)
    assert points_in(soak.logdir) == soak.points == 8 * 20 * 50
    reader = Reader([soak.logdir], ReaderOptions(ManualClock()))
    blocks = [b for batch in reader.read_all() for b in batch.blocks]
    assert sum(b.values.size for b in blocks) == soak.points


def test_accidents_lose_no_count(tmp_path: Path) -> None:
    (tmp_path / "away").mkdir()
    trainings = [Training(tmp_path / "logs", number) for number in range(8)]
    for _ in range(40):
        for training in trainings:
            training.accident()
            training.write_row()
    assert [t.points for t in trainings] == [(20 + 40) * 50] * 8
    assert 0 < points_in(tmp_path / "logs") <= 8 * 60 * 50


def test_slope() -> None:
    samples = [Sample(1000 * n, 100 + 8 * 1000 * n / 2**20, 10, 3) for n in range(20)]
    assert slope(samples) == pytest.approx(8, rel=1e-6)
