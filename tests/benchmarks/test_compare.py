"""The benchmark of comparing at a tiny scale."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import compare


def test_opening_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "_RUNS", 3)
    first, again = compare.opening(tmp_path, 0.01, 1)
    assert (first[0], again[0]) == (
        "opening the comparison of 3 runs, first: ms",
        "opening the comparison of 3 runs, again, 1 times: ms, median",
    )
    assert all(0 < float(value.replace(",", "")) < 60_000 for _, value, _ in (first, again))
