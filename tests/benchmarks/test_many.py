"""The benchmark of a list of many runs at a tiny scale."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import many
from benchmarks.data import NAME


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
