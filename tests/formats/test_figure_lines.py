"""Nothing is dropped in silence: lines that look like metrics and became no rows are named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.cli.program import run
from rltui.formats.last_line import figure_lines

_ROWS = range(100)
_KNOWN = "".join(f"step {i}: loss 0.{i:02d}\n" for i in range(5))
_SENTENCES = "".join(f"[{i}] begins\nthe reward was {i / 10:.3f}\n" for i in _ROWS)
_ARROWS = "".join(f"done; reward -> {i / 10:.3f}; kl -> {1 / (i + 1):.4f}\n" for i in _ROWS)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("train.log", _SENTENCES, "100 lines look like metrics and became no rows"),
        ("train.log", _SENTENCES, "first line 2: the reward was 0.000"),
        ("train.log", _KNOWN + _ARROWS, "100 lines look like metrics and became no rows"),
        (
            "progress.csv",
            "step,reward,loss\n" + "".join(f"{i},{i / 10}\n" for i in _ROWS),
            "line 2 has 2 cells, the header 3 names",
        ),
        (
            "metrics.jsonl",
            "".join(json.dumps({"step": i, "loss": 0.1}) + "\n" for i in range(5))
            + "".join(json.dumps({"reward": i, "loss": 0.1}) + "\n" for i in _ROWS),
            "rows so far have figures and no step",
        ),
    ],
)
@pytest.mark.parametrize("verb", ["check", "doctor"])
def test_lines_that_became_no_rows_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str, name: str, text: str, said: str
) -> None:
    (tmp_path / name).write_text(text)
    beside = tmp_path / "well" / "metrics.jsonl"
    beside.parent.mkdir()
    beside.write_text("".join(json.dumps({"step": i, "loss": 0.1}) + "\n" for i in range(9)))
    run([verb, str(tmp_path)])
    captured = capsys.readouterr()
    whole = " ".join((captured.out + captured.err).split())
    assert said in whole


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"step 0 reward 0.094 kl 0.000\n" * 50,
        b"epoch 3 took 4.5 s\nloaded 4 shards\n" * 50,
        "│ kl │ 0.1 │\n".encode() * 50,
    ],
)
def test_lines_whose_names_have_rows_are_none(text: bytes) -> None:
    assert figure_lines(text, ["actor/kl", "reward"]) is None


@given(st.binary(max_size=400))
def test_any_bytes(text: bytes) -> None:
    found = figure_lines(text * 3)
    assert found is None or (found.lines > 0 and found.text.isprintable())
