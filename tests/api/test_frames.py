"""Data frames of pandas and polars."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import rltui


@pytest.fixture
def runs(tmp_path: Path) -> rltui.Runs:
    """Two runs; the first has a tag that is not always there, and two values at one step."""
    logs: dict[str, list[dict[str, float]]] = {
        "a": [
            {"step": 1, "loss": 3.0, "kl": 0.5},
            {"step": 2, "loss": 2.0},
            {"step": 2, "loss": 1.0},
        ],
        "b": [{"step": 5, "kl": 0.25}],
    }
    for name, rows in logs.items():
        (tmp_path / name).mkdir()
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / name / "metrics.jsonl").write_text(text)
    return rltui.read(tmp_path)


def rows_of(frame: Any) -> list[tuple[Any, ...]]:
    """The rows, with None for NaN."""
    records = frame.rows() if hasattr(frame, "rows") else frame.itertuples(index=False)
    return [tuple(None if str(x) == "nan" else x for x in r) for r in records]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_long(runs: rltui.Runs, library: Any) -> None:
    pytest.importorskip(library, reason=f"{library} is not installed")
    frame = runs.frame(library=library)
    assert list(frame.columns) == ["run", "tag", "step", "wall_time", "value", "superseded"]
    assert rows_of(frame) == [
        ("a", "loss", 1, None, 3.0, False),
        ("a", "loss", 2, None, 2.0, False),
        ("a", "loss", 2, None, 1.0, False),
        ("a", "kl", 1, None, 0.5, False),
        ("b", "kl", 5, None, 0.25, False),
    ]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_wide(runs: rltui.Runs, library: Any) -> None:
    pytest.importorskip(library, reason=f"{library} is not installed")
    frame = runs.frame("wide", library=library)
    assert list(frame.columns) == ["run", "step", "loss", "kl"]
    assert rows_of(frame) == [("a", 1, 3.0, 0.5), ("a", 2, 1.0, None), ("b", 5, None, 0.25)]
    assert rows_of(runs["b"].frame("wide", library=library)) == [("b", 5, 0.25)]


def test_without_a_library_it_says_which(runs: rltui.Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(rltui.RltuiError, match="neither pandas nor polars is installed"):
        runs.frame()
    with pytest.raises(rltui.RltuiError, match=r"pandas is not installed: .* install pandas"):
        runs.frame(library="pandas")
    with pytest.raises(rltui.RltuiError, match=r"polars is not installed: .* install polars"):
        runs.frame(library="polars")


def test_unknown_words_are_refused(runs: rltui.Runs) -> None:
    with pytest.raises(rltui.RltuiError, match="unknown library"):
        runs.frame(library="arrow")  # type: ignore[arg-type]
    pytest.importorskip("pandas", reason="pandas is not installed")
    with pytest.raises(rltui.RltuiError, match="unknown shape"):
        runs.frame("tall")  # type: ignore[arg-type]
