"""The palette finds metrics, findings, settings, commands and runs."""

import time

import pytest

from rltui.core.level import Level
from rltui.pages.hyperparameters import HyperparametersScreen
from rltui.tui.palette import PaletteScreen, Search
from rltui.tui.shell import Offer
from tests.fakes import grpo_batch
from tests.tables import cases
from tests.tui.hand import Hand, open_app

OFFERS = [
    Offer("run", "grpo_lr1e-5_s0", "verl · GRPO", str),
    Offer("command", "Explain the selection", "key e", str),
    Offer("finding", "entropy collapse", "since 43", str, lambda: Level.BAD),
    Offer("metric", "learning rate", "actor/lr  lr.actor", str),
    Offer("metric", "max entropy", "policy/entropy_max", str),
    Offer("metric", "entropy", "actor/entropy", str),
    Offer("setting", "optim.lr", "1e-5", str),
]


@cases(__file__, "test_the_likeliest_comes_first")
def test_the_likeliest_comes_first(text: str, titles: list[str]) -> None:
    assert [o.title for o in Search(OFFERS).found(text)] == titles


def test_letters_in_a_long_title_that_does_not_hold_them_cost_nothing() -> None:
    search, began = Search([Offer("metric", "a" * 1000, "", str)]), time.thread_time()
    assert search.found("aaaaaaaaaab") == []
    assert [o.title for o in search.found("aa")] == ["a" * 1000]
    assert time.thread_time() - began < 1  # a search that went back took for ever


def test_what_fires_comes_first_before_anything_is_typed() -> None:
    assert [o.kind for o in Search(OFFERS).found("")][:2] == ["finding", "command"]


def test_ten_thousand_runs_stay_quick() -> None:
    runs = [Offer("run", f"sweep/run_{n:05d}", "verl · GRPO", str) for n in range(10_000)]
    search, took = Search([*OFFERS, *runs]), []
    for text in ("r", "ru", "run_09", "entropy", "snz9"):
        began = time.thread_time()
        assert len(search.found(text)) <= 200
        took.append(time.thread_time() - began)
    assert max(took) < 0.5, "50 ms on an idle machine"


def palette_of(hand: Hand) -> PaletteScreen:
    screen = hand.app.screen
    assert isinstance(screen, PaletteScreen), screen
    return screen


async def test_entropy_finds_the_metric_and_its_finding() -> None:
    runs = grpo_batch(60, run="bad"), grpo_batch(30, run="calm", collapse=None)
    async with open_app(*runs) as hand:
        await hand.press("ctrl+p", *"entropy")
        lines = [x for x in hand.lines if "metric   ✖" in x or "finding  ✖" in x]
        assert "entropy" in lines[0]
        assert "entropy collapse" in lines[1]
        assert "bad  since 43" in lines[1]
        await hand.press("enter")
        assert hand.metric.tag == "actor/entropy"
        await hand.press("ctrl+p", *"entropy coll", "enter")
        assert hand.run.tab == "findings"
        await hand.press("ctrl+p", *"calm", "enter")
        assert hand.run.run.key.name == "calm"
        await hand.press("ctrl+p", *"tab timing", "enter")
        assert hand.run.tab == "timing"


async def test_the_cursor_chooses_and_escape_does_nothing() -> None:
    async with open_app(grpo_batch(60)) as hand:
        before = hand.lines
        await hand.press("ctrl+p", *"entropy", "escape")
        assert hand.lines == before
        await hand.press("ctrl+p", *"entropy", "down")
        assert palette_of(hand).items.cursor == 1
        await hand.press("enter")
        assert hand.run.tab == "findings"
        await hand.press("ctrl+p", *"xyzzy", "enter")
        assert hand.run.tab == "findings"


async def test_a_setting_opens_the_hyperparameters_and_no_text_of_a_log_is_taken_at_its_word() -> (
    None
):
    batch = grpo_batch(60)
    object.__setattr__(batch, "hparams", {"optim.lr": 1e-5, "evil\x1b[31m": "\x1b]0;x\x07"})
    async with open_app(batch) as hand:
        await hand.press("ctrl+p", *"evil")
        assert "evil\\x1b[31m" in hand.text
        assert "\x1b" not in hand.text
        await hand.press("escape", "ctrl+p", *"optim.lr", "enter")
        assert isinstance(hand.app.screen, HyperparametersScreen)
        assert "1e-5" in hand.text
        assert "evil" not in hand.text


async def test_what_is_typed_is_searched_and_is_no_command() -> None:
    async with open_app(grpo_batch(60)) as hand:
        await hand.press("ctrl+p", "q", "down", "enter")
        assert hand.app.is_running
        await hand.press("ctrl+p", *"xyzzy", "enter")
        assert "unknown command" not in hand.text


async def test_an_unknown_command_searches() -> None:
    async with open_app(grpo_batch(60)) as hand:
        await hand.press("colon", *"entropy", "enter")
        assert palette_of(hand).items.cursor == 0
        await hand.press("enter")
        assert hand.metric.tag == "actor/entropy"


@pytest.mark.parametrize("size", [(20, 5), (40, 10), (80, 24), (200, 50)])
async def test_the_palette_fits_every_size(size: tuple[int, int]) -> None:
    async with open_app(grpo_batch(60), size=size) as hand:
        await hand.press("ctrl+p", *"ent")
        assert "ent" in hand.text
        await hand.resize(120, 36)
        assert "entropy" in hand.text
        await hand.press("escape")
        assert hand.run.is_current


async def test_a_notice_hides_keys_until_one_is_pressed() -> None:
    async with open_app(grpo_batch(60), grpo_batch(60, run="other")) as hand:
        hand.app._disable_notifications = False
        await hand.press("enter")
        for key in ("ctrl+p", "escape", "question_mark", "escape"):
            hand.app.say("written to a.svg")
            await hand.settle()
            assert hand.text.count("written to a.svg") == 1
            await hand.press(key)
            assert "written to a.svg" not in hand.text
