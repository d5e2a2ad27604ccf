"""The app, driven by keys: moving, filtering, live data, resizing, and never breaking."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.pilot import Pilot

from rltui.core.clock import ManualClock
from rltui.present.kit.line import plain
from rltui.present.kit.theme import load_theme
from rltui.present.screens.keys import KEYS
from rltui.present.screens.view import FINDINGS, View
from rltui.session import Session
from rltui.tui.app import RltuiApp
from rltui.tui.canvas import Canvas
from tests.builders import a_batch
from tests.fakes import FakeReader, a_session, grpo_batch, grpo_clock


class Hand:
    """Keys in, screen out."""

    def __init__(self, app: RltuiApp, pilot: Pilot[None], reader: FakeReader) -> None:
        self.app = app
        self.pilot = pilot
        self.reader = reader

    @property
    def view(self) -> View:
        return self.app.view

    @property
    def clock(self) -> ManualClock:
        clock = self.app.session.clock
        assert isinstance(clock, ManualClock)
        return clock

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def feed(self, *batches: Any) -> None:
        """New data from the reader, after a quiet spell: painted at once."""
        self.clock.advance(5)
        self.reader.feed(*batches)
        await self.pilot.pause()
        if self.reader.queue:  # a paint is due already: its timer runs on the real clock
            self.app._pull()
        await self.pilot.pause()

    @property
    def lines(self) -> list[str]:
        canvas = self.app._canvas
        return [canvas.render_line(y).text for y in range(canvas.size.height)]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def footer(self) -> str:
        return self.lines[-1]


@asynccontextmanager
async def open_app(
    *batches: Any, size: tuple[int, int] = (120, 36), clock: ManualClock | None = None
) -> AsyncIterator[Hand]:
    reader = FakeReader()
    session: Session = a_session(*batches, reader=reader, clock=clock or grpo_clock())
    app = RltuiApp(session, View(), load_theme("dark", ()))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        if batches:
            app.navigator.settle()
            app.paint()
        await pilot.pause()
        yield Hand(app, pilot, reader)


@pytest.fixture
def rich() -> tuple[Any, ...]:
    return (grpo_batch(60, total=200),)


# -- life ----------------------------------------------------------------------------------


async def test_the_reader_runs_as_long_as_the_app() -> None:
    async with open_app() as hand:
        assert hand.reader.calls == ["start"]
        assert "waiting for logs" in hand.text
    assert hand.reader.calls == ["start", "stop"]


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
async def test_quitting(key: str, rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        await hand.press(key)
    assert hand.app.return_code == 0
    assert not hand.reader.running


async def test_escape_never_quits(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        await hand.press(*["escape"] * 5)
        assert hand.app.is_running
        assert "grpo" in hand.lines[0]
        assert hand.view.screen == "list"


async def test_unknown_keys_do_nothing(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        before = hand.lines
        await hand.press("Z", "f5", "ctrl+k", "tilde", "insert", "f12", "ctrl+g")
        assert hand.lines == before


async def test_every_key_on_every_screen_breaks_nothing(rich: tuple[Any, ...]) -> None:
    names = {n for k in KEYS for n in k.keys} - {"q", "ctrl+c", "ctrl+z", "ctrl+p"}
    for start in ([], ["3", "enter"], ["9"], ["r"], ["question_mark"]):
        async with open_app(*rich, a_batch({"x": [1.0]}, run="two", source="two/e")) as hand:
            await hand.press("enter", *start)
            for name in sorted(names):
                hand.app.on_canvas_typed(Canvas.Typed(name, name if len(name) == 1 else None))
                await hand.pilot.pause()
                assert len(hand.lines) == 36
            assert hand.app.is_running


# -- tabs ----------------------------------------------------------------------------------


async def test_digits_and_brackets_select_tabs(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        seen = []
        for key in "345678901":
            await hand.press(key)
            seen.append(hand.view.tab)
        assert seen == [
            "actor",
            "critic",
            "length",
            "timing",
            "perf",
            "balance",
            "findings",
            "all",
            "overview",
        ]
        await hand.press("right_square_bracket")
        assert hand.view.tab == "actor"
        await hand.press("left_square_bracket", "left_square_bracket")
        assert hand.view.tab == "other"


async def test_a_tab_that_the_run_lacks_is_told(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        await hand.press("2")
        assert hand.view.tab == "overview"
        assert "no validation metrics in this run" in hand.footer
        await hand.press("j")
        assert "no validation" not in hand.footer


# -- moving --------------------------------------------------------------------------------


async def test_rows(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        await hand.press("0", "g")
        items = hand.app.navigator.frame.items

        def at() -> int:
            return items.index(hand.view.cursor["all"])

        assert at() == 0
        await hand.press("j", "down", "j")
        assert at() == 3
        await hand.press("k", "up")
        assert at() == 1
        await hand.press("k", "k", "k")
        assert at() == 0
        await hand.press("G")
        assert at() == len(items) - 1
        await hand.press("j", "ctrl+d")
        assert at() == len(items) - 1
        await hand.press("ctrl+u")
        assert at() == len(items) - 1 - 18
        await hand.press("home", "pagedown")
        assert at() == 18
        await hand.press("end", "pageup")
        assert at() == len(items) - 1 - 18


async def test_enter_and_escape(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        await hand.press("3", "g", "enter")
        assert hand.view.screen == "metric"
        assert "Judgement" in hand.text
        tag = hand.view.cursor["actor"]
        await hand.press("j")
        assert hand.view.cursor["actor"] != tag
        await hand.press("escape")
        assert (hand.view.screen, hand.view.tab) == ("list", "actor")


async def test_next_finding_and_into_its_chart(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        await hand.press("exclamation_mark")
        assert hand.view.tab == FINDINGS
        assert "entropy_collapse" in hand.text
        await hand.press("enter")
        assert (hand.view.screen, hand.view.tab) == ("metric", "actor")
        assert hand.view.cursor["actor"] == "actor/entropy"
        assert hand.view.crosshair is not None


async def test_next_finding_of_a_healthy_run() -> None:
    async with open_app(grpo_batch(60, collapse=None)) as hand:
        await hand.press("exclamation_mark")
        assert "no findings" in hand.footer


# -- runs ----------------------------------------------------------------------------------


def several() -> tuple[Any, ...]:
    return (
        grpo_batch(60, run="bad/run"),
        grpo_batch(30, run="calm", collapse=None),
        grpo_batch(20, run="young", collapse=None),
    )


async def test_several_runs_open_on_the_list() -> None:
    async with open_app(*several()) as hand:
        assert hand.view.screen == "runs"
        assert all(n in hand.text for n in ("bad/run", "calm", "young"))
        await hand.press("enter")
        assert (hand.view.screen, hand.view.run and hand.view.run.name) == ("list", "bad/run")
        await hand.press("r", "j", "enter")
        assert hand.view.run is not None
        assert hand.view.run.name != "bad/run"
        await hand.press("escape")
        assert hand.view.screen == "runs"
        await hand.press("escape", "escape")
        assert hand.app.is_running


async def test_order_of_runs() -> None:
    async with open_app(*several()) as hand:
        orders = []
        for _ in range(3):
            orders.append(list(hand.app.navigator.frame.items))
            await hand.press("o")
        assert [o[0] for o in orders] == ["0:bad/run", "0:bad/run", "0:bad/run"]
        assert list(hand.app.navigator.frame.items) == orders[0]
        assert hand.view.order == "verdict"


async def test_filter_of_runs() -> None:
    async with open_app(*several()) as hand:
        await hand.press("slash", *"calm", "enter")
        assert "young" not in hand.text
        await hand.press("escape")
        assert "young" in hand.text


# -- filter --------------------------------------------------------------------------------


async def test_the_filter_is_live_and_negates(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        await hand.press("0", "slash", "k", "l")
        items = hand.app.navigator.frame.items
        assert items
        assert all("kl" in t for t in items)
        await hand.press("space", "exclamation_mark", *"loss")
        assert hand.app.navigator.frame.items == ["actor/ppo_kl"]
        await hand.press("backspace", "backspace", "backspace", "backspace", "backspace")
        await hand.press("enter")
        assert hand.view.editing == ""
        assert hand.app.navigator.frame.items == items
        await hand.press("escape")
        assert hand.view.filter == ""
        assert len(hand.app.navigator.frame.items) > 20


async def test_keys_are_text_while_the_filter_is_edited(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        await hand.press("slash", *"q3r")
        assert (hand.view.filter, hand.view.tab) == ("q3r", "overview")
        assert "no row matches the filter" in hand.text
        await hand.press("escape")
        assert (hand.view.filter, hand.view.editing) == ("", "")


# -- overlays, charts ----------------------------------------------------------------------


async def test_help_opens_scrolls_and_closes(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        before = hand.lines
        await hand.press("question_mark")
        assert "Keys on Overview" in hand.text
        await hand.press("j", "k")
        await hand.press("q")
        assert hand.app.is_running
        assert hand.lines == before
        await hand.press("e")
        assert "matched by" in hand.text
        await hand.press("escape")
        assert hand.lines == before


async def test_keys_of_the_metric_screen(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        view = hand.view
        await hand.press("3", "g", "enter", "h")
        assert view.crosshair == 60
        await hand.press("left", "left", "l")
        assert view.crosshair == 59
        await hand.press("g")
        assert view.crosshair == 1
        await hand.press("G", "plus", "plus")
        assert view.window is not None
        low, high = view.window
        assert high - low <= 30
        await hand.press("minus")
        assert view.window is not None
        await hand.press("equals_sign")
        assert view.window is None
        await hand.press("x", "s", "s", "L", "o")
        assert (view.axis, view.log_y, view.outliers) == ("relative", True, True)
        assert view.smooth == 0.6
        while view.axis != "step":
            await hand.press("x")
        await hand.press("S", "S", "S", "L", "o")
        assert (view.axis, view.log_y, view.outliers, view.smooth) == ("step", False, False, 0.0)
        await hand.press("escape")
        assert (view.screen, view.crosshair, view.window) == ("list", None, None)


async def test_commands(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        await hand.press("colon", *"tab timing", "enter")
        assert hand.view.tab == "timing"
        await hand.press("colon", *"theme light", "enter")
        assert hand.app._current_palette().theme.name == "light"
        await hand.press("colon", *"theme lihgt", "enter")
        assert "did you mean 'light'?" in hand.footer
        await hand.press("3", "g", "colon", *"goto 17", "enter")
        assert (hand.view.screen, hand.view.crosshair) == ("metric", 17)
        await hand.press("colon", *"nonsense", "enter")
        assert "unknown command" in hand.footer
        await hand.press("colon", *"tab nope", "enter")
        assert "no tab" in hand.footer
        await hand.press("colon", "enter", "colon", *"goto x", "enter")
        assert "not a step" in hand.footer
        await hand.press("colon", "escape")
        assert hand.app.is_running
        await hand.press("colon", "q", "enter")
    assert hand.app.return_code == 0


async def test_copy_takes_the_row(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        await hand.press("3", "g", "y")
        assert hand.app.clipboard.startswith("grpo\tactor/")
        assert hand.footer.startswith(" copied: grpo  actor/")
        assert hand.footer.isprintable()


# -- live ----------------------------------------------------------------------------------


async def test_a_new_value_shows_without_a_key(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        assert "step 60" in hand.lines[0]
        await hand.feed(grpo_batch(1, first=61))
        assert "step 61" in hand.lines[0]


async def test_a_run_that_appears_shows_without_a_key() -> None:
    async with open_app() as hand:
        assert "waiting for logs" in hand.text
        await hand.feed(grpo_batch(60))
        assert "Is it stable?" in hand.text
        await hand.feed(grpo_batch(3, run="second"))
        await hand.press("r")
        assert "second" in hand.text


async def test_a_paused_view_stands_still_and_catches_up(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        await hand.press("p")
        assert "paused" in hand.footer
        await hand.feed(grpo_batch(5, first=61))
        assert "step 60" in hand.lines[0]
        await hand.press("p")
        await hand.feed()
        assert "step 65" in hand.lines[0]


async def test_the_cursor_stays_on_its_row_when_data_arrives(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        await hand.press("3", "G")
        row = hand.view.cursor["actor"]
        await hand.feed(grpo_batch(5, first=61))
        assert hand.view.cursor["actor"] == row


async def test_nothing_is_painted_when_nothing_changed(
    rich: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_app(*rich) as hand:
        asked: list[Any] = []
        monkeypatch.setattr(
            type(hand.app._canvas), "refresh", lambda self, *r, **k: asked.append(r)
        )
        hand.app.paint()
        hand.app._age()
        await hand.feed()
        hand.app.paint()
        assert [r for r in asked if r] == [] or "s" in hand.lines[0]
        asked.clear()
        hand.app.paint()
        hand.app.paint()
        assert asked == []


async def test_a_change_repaints_only_its_lines(
    rich: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_app(*rich) as hand:
        asked: list[Any] = []
        monkeypatch.setattr(
            type(hand.app._canvas), "refresh", lambda self, *r, **k: asked.append(r)
        )
        hand.clock.advance(7)
        hand.app.session.refresh_progress()
        hand.app.paint()
        assert len(asked) == 1
        assert {region.y for region in asked[0]} == {0}
        assert all(region.width < 40 for region in asked[0])


# -- size ----------------------------------------------------------------------------------


async def test_resizing_to_the_smallest_and_back(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich, size=(80, 24)) as hand:
        before = hand.lines
        for size in ((20, 5), (1, 1), (200, 60), (80, 24)):
            await hand.pilot.resize_terminal(*size)
            await hand.pilot.pause()
            await hand.pilot.pause()
            assert len(hand.lines) == size[1]
        assert hand.lines == before


async def test_a_click_on_a_tab_and_on_a_row(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        spot = next(s for s in hand.app.navigator.frame.tabs if s.id == "timing")
        await hand.pilot.click(offset=(spot.start + 1, 1))
        await hand.pilot.pause()
        assert hand.view.tab == "timing"
        y, tag = list(hand.app.navigator.frame.hits.items())[-1]
        await hand.pilot.click(offset=(5, y))
        await hand.pilot.pause()
        assert hand.view.cursor["timing"] == tag
        await hand.pilot.click(offset=(5, y))
        await hand.pilot.pause()
        assert hand.view.screen == "metric"


def test_what_is_on_screen_is_what_was_drawn(rich: tuple[Any, ...]) -> None:
    from rltui.present.screens.frame import draw

    session = a_session(*rich, clock=grpo_clock())
    view = View(run=next(iter(session.views)))
    assert draw(session, view, 80, 24).lines == draw(session, view, 80, 24).lines
    assert plain(draw(session, view, 80, 24).lines[0]).startswith(" grpo")


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What goes to the terminal, as if there were one."""
    from textual.drivers.headless_driver import HeadlessDriver

    out: list[str] = []
    monkeypatch.setattr(RltuiApp, "is_headless", property(lambda self: False))
    monkeypatch.setattr(HeadlessDriver, "write", lambda self, data: out.append(data))
    return out


async def test_a_change_is_written_past_the_compositor(
    rich: tuple[Any, ...], written: list[str]
) -> None:
    async with open_app(*rich, size=(160, 45)) as hand:
        await hand.pilot.pause()
        whole = sum(map(len, written))
        written.clear()
        await hand.feed(grpo_batch(1, first=61))
        assert "step 61" in hand.lines[0]
        assert 0 < sum(map(len, written)) < whole / 8
        assert len(written) == 1


async def test_under_the_palette_the_compositor_paints(
    rich: tuple[Any, ...], written: list[str]
) -> None:
    async with open_app(*rich) as hand:
        await hand.press("ctrl+p")
        asked: list[Any] = []
        canvas = hand.app._canvas
        original = canvas.refresh
        canvas.refresh = lambda *r, **k: (asked.append(r), original(*r, **k))[1]  # type: ignore[method-assign]
        await hand.feed(grpo_batch(1, first=61))
        assert asked
        await hand.press("escape")
        assert "step 61" in hand.lines[0]
