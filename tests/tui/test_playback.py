"""A run as it was, on the screen: going there, playing, coming back."""

from dataclasses import replace
from typing import Any

import pytest

from rltui.core.level import Level
from rltui.pages.app import RltuiApp
from rltui.tui.playback import ReplayStart
from tests.builders import a_source
from tests.fakes import FakeReader, a_session, grpo_batch, grpo_clock
from tests.tui.driving import driving
from tests.tui.hand import Hand, a_look, open_app


@pytest.fixture
def rich() -> tuple[Any, ...]:
    return (grpo_batch(60, total=200),)


def shown_step(hand: Hand) -> int | None:
    run = hand.app.session.runs()[0]
    assert run.as_of is None or run.points.last_step == run.as_of
    return run.as_of


async def test_goto_shows_all_as_it_was_and_now_leads_back(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        now = hand.lines
        assert "bad" in now[0]
        await hand.press("colon", *"goto 30", "enter")
        assert " replay " in hand.lines[0]
        assert "step 30/200" in hand.lines[0]
        assert "bad" not in hand.lines[0]
        assert hand.run.run.verdict.level is Level.OK
        assert "replay paused, :now ends it" in hand.footer
        assert "< > replay a step" in hand.footer
        assert "p play/pause" in hand.footer
        await hand.press("9")
        assert "Entropy collapse" not in hand.text
        await hand.press("1", "colon", *"now", "enter")
        assert hand.lines == now
        assert "replay" not in hand.footer


async def test_goto_says_when_the_log_lacks_the_step(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        await hand.press("colon", *"goto 99999", "enter")
        assert "step 99,999 is not in the log: this is step 60" in hand.notices
        await hand.press("colon", *"goto 30", "enter")
        assert "this is step 30" not in hand.notices


async def test_keys_step_through_it(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        await hand.press("greater_than_sign")
        assert "nothing is newer" in hand.notices
        await hand.press("less_than_sign")
        assert shown_step(hand) == 59
        await hand.press("less_than_sign", "less_than_sign", "greater_than_sign")
        assert shown_step(hand) == 58
        await hand.press("3", "g", "enter", "less_than_sign")
        assert shown_step(hand) == 57
        assert "step 57" in hand.lines[0]
        await hand.press(
            "greater_than_sign", "greater_than_sign", "greater_than_sign", "greater_than_sign"
        )
        assert "newest step; :now leaves" in hand.notices
        assert shown_step(hand) == 60


async def test_a_replay_plays_by_the_clock_pauses_and_ends(
    rich: tuple[Any, ...],
) -> None:
    async with open_app(*rich) as hand:
        await hand.press("left_curly_bracket")
        assert "no replay" in hand.notices
        await hand.press("colon", *"goto 10", "enter", "p")
        assert "10 steps/s" in hand.footer
        hand.clock.advance(1.55)
        hand.app.playback.frame()
        await hand.settle()
        assert shown_step(hand) == 25
        await hand.press("right_curly_bracket")
        hand.clock.advance(0.51)
        hand.app.playback.frame()
        assert shown_step(hand) == 35
        await hand.press("p")
        hand.clock.advance(9.0)
        hand.app.playback.frame()
        await hand.settle()
        assert shown_step(hand) == 35
        assert "replay paused" in hand.footer
        await hand.press("p")
        hand.clock.advance(9.0)
        hand.app.playback.frame()
        await hand.settle()
        assert shown_step(hand) == 60
        assert not hand.app.playback.playing
        assert "bad" in hand.lines[0]
        await hand.press("p")
        assert shown_step(hand) == 1


async def test_logs_are_read_on_and_shown_afterwards(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        await hand.press("colon", *"goto 30", "enter")
        source = a_source("grpo/events.0", offset=2000, size=2000)
        more = grpo_batch(5, first=61, collapse=None)
        await hand.feed(replace(more, source=source._replace(modified=more.source.modified)))
        assert shown_step(hand) == 30
        await hand.press("colon", *"now", "enter")
        assert hand.run.run.data.last_step == 65


async def test_a_paused_view_can_go_back(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        await hand.press("p", "colon", *"goto 30", "enter")
        assert shown_step(hand) == 30
        await hand.press("colon", *"now", "enter")
        assert "paused" not in hand.footer


async def test_a_session_opened_for_a_replay_plays_to_the_wanted_step() -> None:
    session = a_session(grpo_batch(60), clock=grpo_clock())
    session.replay.goto(session.runs()[0], 1)
    app = RltuiApp(session, a_look(), replay=ReplayStart(10.0, until=40))
    async with driving(app, size=(120, 36)) as pilot:
        hand = Hand(app, pilot, FakeReader())
        await hand.settle()
        assert shown_step(hand) == 1
        assert "10 steps/s" in hand.footer
        hand.clock.advance(5.0)
        app.playback.frame()
        await hand.settle()
        assert shown_step(hand) == 40
        assert not app.playback.playing


async def test_the_mark_is_on_every_header(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        hand.app.go_back_to(hand.app.session.runs()[0], 30)
        for width in (20, 40, 80, 120, 160, 200):
            await hand.resize(width, 30)
            assert "replay" in hand.lines[0]
