"""Texts and samples on the screen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import grpo_batch
from tests.tui.hand import open_app, read_at_once

LONG = "a very long answer with \x1b[31m[red]markup[/red] " + "and more words " * 200


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read_at_once(monkeypatch)


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    rows = [
        {"input": "1+1?", "output": "two", "score": 1.0},
        {"input": "2+2?", "output": LONG, "score": 0.0, "gts": "four"},
        {"input": "3+3?", "output": "six", "score": 0.5},
    ]
    for step in (20, 40):
        path = tmp_path / "rollouts" / f"{step}.jsonl"
        path.parent.mkdir(exist_ok=True)
        lines = [json.dumps({**row, "step": step, "note": f"at {step}"}) for row in rows]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def at(logdir: Path) -> Any:
    batch = grpo_batch(60, run=".")
    object.__setattr__(batch, "run_path", logdir)
    return open_app(batch, logdirs=(logdir,))


async def test_the_worst_sample_of_the_newest_step_is_read_with_one_key(logdir: Path) -> None:
    async with at(logdir) as hand:
        await hand.press("T")
        assert "step 40" in hand.text
        assert "mean reward 0.500, 0 to 1.00" in hand.text
        assert "2+2?" in hand.text, "the prompt of the worst"
        assert "\\x1b[31m[red]markup[/red]" in hand.text
        assert len(hand.ids) == 3
        await hand.press("j")
        assert "3+3?" in hand.text
        assert "2+2?" not in hand.text


async def test_order_step_and_filter(logdir: Path) -> None:
    async with at(logdir) as hand:
        await hand.press("T", "o")
        assert "1+1?" in hand.text, "the best"
        await hand.press("o")
        assert "2+2?" in hand.text, "the longest"
        assert hand.footer.rstrip().endswith("longest first")
        await hand.press("h")
        assert "step 20  1 of 2" in hand.text
        assert "2+2?" in hand.text
        await hand.press("l", "slash", "s", "i", "x", "enter")
        assert "step 40" in hand.text
        assert "1 of 3" in hand.text
        assert "3+3?" in hand.text
        await hand.press("escape")
        assert len(hand.ids) == 3


async def test_a_long_sample_opens_whole_and_esc_leads_back(logdir: Path) -> None:
    async with at(logdir) as hand:
        await hand.press("T", "enter", "G")
        assert "and more words" in hand.text
        assert "gts" in hand.text
        await hand.press("escape")
        assert "worst reward first" in hand.text
        await hand.press("y")
        assert "score: 0" in hand.notices
        await hand.press("T")
        assert hand.run.is_current


async def test_the_step_of_the_crosshair_on_the_metric_screen(logdir: Path) -> None:
    async with at(logdir) as hand:
        await hand.press("3", "enter", "g", "T")
        assert "step 20" in hand.text
        await hand.press("escape")
        assert hand.metric.is_current


async def test_a_run_without_samples_says_what_to_do(tmp_path: Path) -> None:
    async with at(tmp_path) as hand:
        await hand.press("T")
        assert "rollout_data_dir" in hand.text
        await hand.press("h", "l", "left_square_bracket", "right_square_bracket", "o", "y", "enter")
        assert "rollout_data_dir" in hand.text


async def test_every_size(logdir: Path) -> None:
    async with at(logdir) as hand:
        await hand.press("T")
        for size in ((200, 50), (160, 45), (80, 24), (40, 10), (20, 5)):
            await hand.resize(*size)
            assert len(hand.lines) == size[1]
            assert size[1] < 10 or "2+2?" in hand.text or "a very long" in hand.text
