"""What earns the reward, and the ceiling that the entropy leaves to it."""

import numpy as np
import pytest

from rltui.core.block import FloatArray
from rltui.core.level import Level
from rltui.draw.line import line_width, plain
from rltui.draw.view import View
from rltui.facts.reward import ceiling, earned
from rltui.pages.run.metrics_pane import top_lines
from rltui.session import JudgedRun
from tests.builders import a_batch, a_block
from tests.fakes import a_session

N = 120


def noisy(x: FloatArray | float, by: float = 0.02) -> FloatArray:
    return x + by * np.random.default_rng(int(1e6 * np.abs(np.mean(x)))).standard_normal(N)


def a_run(**more: FloatArray) -> JudgedRun:
    short, right = noisy(np.linspace(0, 1, N)), noisy(0.3)
    tags = {
        "train/rewards/short/mean": short,
        "train/rewards/right/mean": right,
        "train/rewards/never/mean": np.zeros(N),
        "train/reward": 0.5 * short + 2 * right,
        "train/completions/mean_length": noisy(100.0),
        **more,
    }
    return a_session(a_batch(a_block({k: v.tolist() for k, v in tags.items()}))).runs()[0]


def test_shares_are_by_the_weights_of_the_parts() -> None:
    found = earned(a_run())
    assert found.weighted
    parts = {p.tag.split("/")[2]: p for p in found.parts}
    short, right, never = (parts[name] for name in ("short", "right", "never"))
    assert short.rise == pytest.approx(1, abs=0.1)
    assert right.level == pytest.approx(0.6 / (0.6 + 0.5 * 0.83), abs=0.05)
    assert sum(p.variance for p in found.parts) == pytest.approx(1)
    assert short.moves
    assert not never.moves


@pytest.mark.parametrize("width", [60, 78, 92, 140])
def test_parts_of_the_reward_stand_above_its_rows(width: int) -> None:
    run = a_run()
    lines = top_lines(run, "critic", View(), width, 30)
    assert "What earns the reward?" in plain(lines[0])
    assert "short" in plain(lines[1])
    assert any("no move" in plain(x) for x in lines)
    assert all(line_width(x) <= width for x in lines)
    assert top_lines(run, "critic", View(), width, 10) == []
    assert top_lines(run, "actor", View(), width, 30) == []


def test_a_ceiling_where_the_law_holds() -> None:
    entropy = noisy(1.5 * np.exp(-np.arange(N) / 60) + 0.2, 0.005)
    reward = noisy(-0.1 * np.exp(entropy) + 0.9, 0.005)
    law = {"train/entropy": entropy, "train/reward": reward}
    found = ceiling(a_run(**law), "train/reward")
    assert found.value == pytest.approx(0.8, abs=3 * found.error + 0.01)
    assert ceiling(a_run(**law | {"train/entropy": noisy(1.0)}), "train/reward") is None
    assert ceiling(a_run(), "train/reward") is None


@pytest.mark.parametrize(("bend", "said"), [(0.0, True), (0.02, True), (0.3, False)])
def test_no_ceiling_where_the_first_rows_do_not_predict_the_later_ones(
    bend: float, said: bool
) -> None:
    entropy = noisy(1.5 * np.exp(-np.arange(N) / 60) + 0.2, 0.005)
    x = np.exp(entropy)
    reward = noisy(-0.1 * x + 0.9 + bend * np.maximum(0, 2.5 - x), 0.005)
    found = ceiling(a_run(**{"train/entropy": entropy, "train/reward": reward}), "train/reward")
    assert (found is not None) == said
    if found is not None:
        truth = 0.8 + bend * 1.5
        assert abs(found.value - truth) <= 2 * found.error + 0.01


def test_every_share_has_its_head_and_a_part_has_the_badge_of_its_spread() -> None:
    wide = noisy(0.1) + np.where(np.arange(N) < N // 2, 0.0, noisy(0.0, 2.0))
    more = {"train/rewards/right/std": noisy(0.2, 0.005), "train/rewards/short/std": np.abs(wide)}
    run = a_run(**more)
    assert run.verdict.tag_level("train/rewards/short/std") >= Level.WATCH
    head, first, *_ = (plain(x) for x in top_lines(run, "critic", View(), 92, 30))
    words = ("mean", "overall", "of level", "variance", "of rise", "success")
    assert all(word in head for word in words)
    mark = View().glyphs.badge(run.verdict.tag_level("train/rewards/short/std"))
    assert first.startswith(f"{mark} short")
    assert head.endswith(mark)
