"""Keys that come faster than the program deals with them: pasted, over a slow line, by a script."""

import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from textual import events
from textual.widgets import Input

from rltui.pages.runs.screen import RunsScreen
from rltui.tui.keys import KEYS
from rltui.tui.palette import PaletteScreen
from rltui.tui.widgets.status import Status
from tests.fakes import grpo_batch
from tests.tui.hand import Hand, open_app, read_at_once
from tests.tui.test_every_key import WAYS, at, place_of

_NAMES = {"\r": "enter", "\x1b": "escape", ":": "colon", "/": "slash", " ": "space"}


async def type_at_once(hand: Hand, text: str) -> None:
    """All keys in one read of the terminal."""
    for char in text:
        hand.app.post_message(events.Key(_NAMES.get(char, char), char))
    await hand.settle()


def prompt_of(hand: Hand) -> str:
    """What stands in the line that takes text."""
    (status,) = hand.app.screen.query(Status)
    assert status.editing
    return status.query_one(Input).value


@pytest.mark.parametrize("place", ["runs", "list", "grid", "metric", "comparison"])
async def test_a_command_takes_all_that_is_typed_behind_it(place: str, tmp_path: Path) -> None:
    async with at(place, tmp_path) as hand:
        await type_at_once(hand, ":goto q 5")
        assert prompt_of(hand) == "goto q 5"
        assert place_of(hand) == place


async def test_a_filter_takes_what_is_typed_behind_it() -> None:
    async with open_app(grpo_batch(60)) as hand:
        await hand.press("3")
        await type_at_once(hand, "/ent")
        assert prompt_of(hand) == "ent"
        await type_at_once(hand, "r\rj")
        assert hand.run.status.filter == "entr"
        assert not hand.run.status.editing


async def test_a_paste_goes_to_the_prompt_before_it() -> None:
    async with open_app(grpo_batch(60)) as hand:
        hand.app.post_message(events.Key("colon", ":"))
        hand.app.post_message(events.Paste("tab findings"))
        await hand.settle()
        assert prompt_of(hand) == "tab findings"


async def test_what_is_typed_behind_a_command_comes_after_it() -> None:
    async with open_app(grpo_batch(60)) as hand:
        await type_at_once(hand, ":tab findings\re")
        assert place_of(hand) == "overlay"
        await type_at_once(hand, "\x1b")
        assert place_of(hand) == "findings"


async def test_the_palette_takes_what_is_typed_behind_its_key() -> None:
    async with open_app(grpo_batch(60)) as hand:
        hand.app.post_message(events.Key("ctrl+p", None))
        await type_at_once(hand, "quit")
        assert isinstance(hand.app.screen, PaletteScreen)
        assert prompt_of(hand) == "quit"


async def test_keys_follow_to_the_screen_that_one_opened() -> None:
    sick, calm = grpo_batch(60, run="sick"), grpo_batch(60, run="calm", collapse=None)
    async with open_app(sick, calm) as hand:
        await type_at_once(hand, "\r3:goto 7\r")
        assert hand.run.run.as_of == 7
        await type_at_once(hand, "\x1b:theme light\r")
        assert isinstance(hand.app.screen, RunsScreen)
        assert hand.app.theme == "light"
        assert not hand.runs.status.editing


async def test_no_prompt_opens_on_a_screen_that_is_covered() -> None:
    async with open_app(grpo_batch(60)) as hand:
        below = hand.run
        await hand.press("question_mark")
        await below.action_ask()
        await below.action_filter()
        assert not below.status.editing
        await hand.press("q")
        await hand.press("3")
        assert place_of(hand) == "list"


async def test_a_screen_that_has_closed_closes_no_other() -> None:
    async with open_app(grpo_batch(60)) as hand:
        await hand.press("3", "down", "enter")
        metric = hand.metric
        await hand.press("question_mark")
        metric.dismiss()
        await hand.settle()
        assert place_of(hand) == "overlay"
        await hand.press("q")
        metric.dismiss()
        metric.dismiss()
        await hand.settle()
        assert place_of(hand) == "list"


async def test_a_key_that_is_never_dealt_with_does_not_hold_up_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr("rltui.tui.shell.time.monotonic", lambda: now[0])
    async with open_app(grpo_batch(60)) as hand:
        hand.app._typed.append(events.Key("x", "x"))
        hand.app._typed_at = now[0]
        await type_at_once(hand, "3")
        assert place_of(hand) == "list"
        assert hand.run.tab == "overview"
        now[0] += 3.0
        await type_at_once(hand, "9")
        await hand.settle()
        assert hand.run.tab == "findings"
        assert not hand.app._typed


def some_keys(chance: random.Random, count: int) -> Iterable[events.InputEvent]:
    """Keys of the table and of a prompt; none that quits, suspends or writes."""
    left_out = {"q", "ctrl+c", "ctrl+z", "y", "w"}
    names = [n for n in dict.fromkeys(n for k in KEYS for n in k.keys) if n not in left_out]
    for _ in range(count):
        name = chance.choice([*names, "escape", "escape", "backspace", "H", "T", "question_mark"])
        yield events.Key(name, name if len(name) == 1 else None)


@pytest.mark.parametrize("seed", range(4))
async def test_random_keys_in_bursts_end_nothing(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``python -m benchmarks.keys`` presses more, in a terminal."""
    read_at_once(monkeypatch)
    monkeypatch.chdir(tmp_path)
    chance = random.Random(seed)
    async with at(chance.choice(list(WAYS)), tmp_path) as hand:
        for _ in range(20):
            for event in some_keys(chance, chance.choice((1, 3, 20))):
                hand.app.post_message(event)
            await hand.settle()
            assert hand.app.is_running
            assert not hand.app._typed
            if chance.random() < 0.2:
                await hand.resize(*chance.choice(((1, 1), (20, 5), (80, 24), (160, 45))))


async def test_an_overlay_that_closes_leaves_the_key_behind_it_to_the_screen_below(
    tmp_path: Path,
) -> None:
    async with at("list", tmp_path) as hand:
        for _ in range(5):
            await type_at_once(hand, "H\x1bT")
            assert place_of(hand) == "samples"
            await type_at_once(hand, "\x1b")
            assert place_of(hand) == "list"
