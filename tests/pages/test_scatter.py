"""A hyperparameter against the result of the runs of a sweep."""

from typing import Any

import pytest

from rltui.draw.line import line_width, plain
from rltui.draw.view import View
from rltui.facts.comparison import Comparison
from rltui.pages.comparison.lines import ShownMetric
from rltui.pages.comparison.scatter import scatter_lines, settings_to_plot
from tests.builders import a_batch, a_block, a_source
from tests.fakes import a_session, grpo_batch
from tests.tui.hand import open_app


def a_run(name: str, value: float, **hparams: object) -> Any:
    block = a_block({"critic/rewards/mean": [value] * 10})
    batch = a_batch(block, run=name, source=a_source(f"{name}/log"))
    object.__setattr__(batch, "hparams", hparams)
    return batch


def drawn(*batches: Any, size: tuple[int, int] = (60, 12), marker: str = "braille") -> list[str]:
    comparison = Comparison(a_session(*batches).runs())
    (setting, *_) = settings_to_plot(comparison)
    shown = ShownMetric(comparison, comparison.columns[0], None, View(marker=marker))
    lines = scatter_lines(shown, setting, *size)
    assert len(lines) == size[1]
    assert all(line_width(x) <= size[0] for x in lines)
    return [plain(x) for x in lines]


def test_each_run_is_a_point_above_its_value() -> None:
    low, high = a_run("a", 0.1, lr=1e-6), a_run("b", 0.9, lr=1e-5)
    lines = drawn(high, low)
    assert lines[0].startswith("reward against lr ")
    assert lines[-1].split() == ["1e-6", "1e-5"]
    rows = {x.index("●"): n for n, x in enumerate(lines) if "●" in x}
    (left, lower), (right, upper) = sorted(rows.items())
    assert lower > upper
    assert lines[-2][left] == lines[-2][right] == "┬"
    assert "●" not in "".join(drawn(low, high, marker="ascii"))


def test_equal_runs_stand_side_by_side_on_their_mean() -> None:
    runs = [a_run(f"s{n}", 0.5, lr=1e-6, seed=n) for n in range(3)]
    lines = drawn(*runs, a_run("other", 0.9, lr=1e-5, seed=1))
    assert any("───●●●───" in x for x in lines)


def test_many_values_get_an_axis_of_numbers() -> None:
    lines = drawn(*(a_run(f"r{n}", n / 20, lr=10.0**-n) for n in range(1, 20)))
    places = [x.index("●") for x in lines if "●" in x]
    assert places == sorted(places, reverse=False) or places == sorted(places, reverse=True)
    assert len(lines[-1].split()) >= 3
    words = [a_run(f"w{n}", n, opt=f"optimizer_{n}") for n in range(30)]
    below = drawn(*words, size=(120, 12))[-1].split()
    assert below[0].startswith("optimizer_0")
    assert len(below) > 3


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (40, 16)])
async def test_v_leads_to_the_scatter_and_back(size: tuple[int, int]) -> None:
    runs = [a_run(f"lr{n}", n, lr=n * 1e-6, batch=64 * (n % 2 + 1)) for n in range(1, 5)]
    async with open_app(*runs, size=size) as hand:
        await hand.press("C", "v")
        assert "reward against" in hand.text
        first = hand.lines[1]
        await hand.press("x")
        assert hand.lines[1] != first
        await hand.press("B")
        assert "reward against" in hand.text
        await hand.press("v")
        assert "reward against" not in hand.text


async def test_runs_without_settings_have_no_scatter() -> None:
    async with open_app(grpo_batch(20), grpo_batch(20, run="other")) as hand:
        await hand.press("C", "v")
        assert "differ in no hyperparameter" in hand.notices
