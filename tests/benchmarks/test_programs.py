"""Benchmarks of a program that runs, at a tiny scale: live, many runs, for long."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import live, many
from benchmarks.data import NAME
from benchmarks.soak import Sample, Soak, Training, points_in, slope
from benchmarks.terminal import Program, Screen, quiet_home
from rltui.sources import Reader
from rltui.sources.options import ReaderOptions
from tests.clock import ManualClock


def test_screen_moves_writes_and_erases() -> None:
    screen = Screen(3, 10)
    whole = "\x1b[?1049h\x1b[2J\x1b[2;3Hab\x1b[31mc\x1b[0m\r\nx\x1b[1;1H\x1b]0;title\x07top\x1b[A"
    for char in whole:
        screen.feed(char)
    assert screen.text == "top\n  abc\nx"
    screen.feed("\x1b[2;4H\x1b[K\x1b[3;1Hyy\x1b[1;9Hlong line")
    assert screen.text == "top     lo\n  a\nyy"


def test_a_program_and_its_screen(tmp_path: Path) -> None:
    code = "import time; print('ready'); print(input()[::-1]); time.sleep(9)"
    with Program([sys.executable, "-c", code], quiet_home(tmp_path)) as program:
        assert program.until(lambda text: "ready" in text, 20) < 20
        program.send(b"abc\n")
        program.until(lambda text: "cba" in text, 20)
        assert program.written >= 13
        assert 0 < program.cpu < 10
        assert program.memory > 1
        with pytest.raises(TimeoutError):
            program.until(lambda text: "never" in text, 0.05)


def test_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "_QUIET_S", 0.1)
    live.main(["--data", str(tmp_path), "--seconds", "1", "--appends", "1", "--only", "append"])
    printed = capsys.readouterr().out
    assert "append to screen, polled, 1 appends" in printed
    assert "failed" not in printed


def test_logs_that_grow_are_restored(tmp_path: Path) -> None:
    root = many.make_runs(tmp_path / "runs", 2)
    logs = sorted(root.rglob(NAME))
    before = [(log.read_bytes(), log.stat().st_mtime) for log in logs]
    with many._growing(root) as (paths, grow):
        for path in paths:
            grow(path, 0)
        assert all(len(log.read_bytes()) > len(b) for log, (b, _) in zip(logs, before, strict=True))
    assert [(log.read_bytes(), log.stat().st_mtime) for log in logs] == before


def test_the_start_of_few_and_many(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many, "_FEW", 2)
    many.main(["--data", str(tmp_path), "--runs", "4", "--rounds", "1", "--only", "start"])
    printed = capsys.readouterr().out
    assert "4 runs, search: CPU s" in printed
    assert "first paint less the search, many against few" in printed


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
