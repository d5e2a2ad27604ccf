"""A run as it was, on the screen: going there, playing, coming back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest
from textual.message_pump import MessagePump

from rltui.core.level import Level
from rltui.facts.metrics import tabs_of
from rltui.pages.app import RltuiApp
from rltui.tui.playback import Playback, ReplayStart
from tests.builders import a_batch, a_source, steps
from tests.clock import ManualClock
from tests.fakes import FakeReader, a_session, grpo_batch, grpo_clock, grpo_tags
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


async def test_words_that_are_no_step_stay_in_the_present(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        await hand.press("colon", *"goto x", "enter")
        assert "not a step: 'x'" in hand.notices
        await hand.press("colon", *"now", "enter")
        assert "this is how the run is now" in hand.notices
        assert shown_step(hand) is None
        await hand.press("colon", *"goto 99999999999999999999", "enter")
        assert shown_step(hand) == 60


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


async def test_it_plays_by_the_clock_pauses_and_ends_at_the_newest_step(
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


class SlowClock(ManualClock):
    """Every look at it takes longer than judging may at once."""

    def monotonic(self) -> float:
        self.advance(0.2)
        return super().monotonic()


def test_a_verdict_that_takes_long_is_made_once_and_shown_when_done() -> None:
    later: list[Callable[[], None]] = []
    paints: list[int | None] = []
    session = a_session(grpo_batch(60), clock=SlowClock(grpo_clock().now()))
    run = session.runs()[0]
    owner = Mock(spec=MessagePump, call_later=later.append)
    playback = Playback(owner, session, lambda: paints.append(run.as_of))
    playback.goto(run, 40)
    for _ in range(3):
        playback.move(1)
    assert run.report is None
    assert len(later) == 1, "the later moves wait for the same turn"
    slices = 0
    while later:
        later.pop()()
        slices += 1
        assert len(later) <= 1
    assert slices > 1
    assert run.report is not None
    assert paints == [40, 41, 42, 43, 43]
    fresh = a_session(grpo_batch(60), clock=grpo_clock())
    fresh.replay.goto(fresh.runs()[0], 43)
    fresh.replay.judge()
    assert run.report.findings == fresh.runs()[0].report.findings  # type: ignore[union-attr]


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


@pytest.mark.parametrize("width", [20, 40, 80, 120, 160, 200])
async def test_the_mark_is_on_every_header(rich: tuple[Any, ...], width: int) -> None:
    async with open_app(*rich, size=(width, 30)) as hand:
        hand.app.go_back_to(hand.app.session.runs()[0], 30)
        await hand.settle()
        assert "replay" in hand.lines[0]


def late_timing() -> tuple[Any, ...]:
    """A run with metrics of performance from step 31 on."""
    early = {tag: values[:30] for tag, values in grpo_tags(30).items()}
    early = {t: v for t, v in early.items() if not t.startswith(("perf", "timing"))}
    late = {t: v[:10] for t, v in early.items()} | {"perf/throughput": [100.0] * 10}
    first = a_batch(steps(1, early), run="grpo")
    return first, a_batch(steps(31, late), run="grpo", source=a_source("events.0", offset=2000))


async def test_a_tab_that_exists_only_later_is_left_from_its_metric() -> None:
    async with open_app(*late_timing()) as hand:
        await hand.press("7", "enter")
        assert hand.metric.tag == "perf/throughput"
        await hand.press("colon", *"goto 10", "enter")
        assert shown_step(hand) == 10
        await hand.press("right_square_bracket")
        assert hand.run.tab == tabs_of(hand.run.run)[1].id
