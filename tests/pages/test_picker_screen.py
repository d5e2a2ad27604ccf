"""The screen of choices, driven by keys: moving, filtering, searching again, choosing, leaving."""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from rltui.pages.picker.lines import PathDisplay
from rltui.pages.picker.screen import PickerApp, PickerScreen
from rltui.sources.discovery.suggestions import Suggestions
from tests.clock import ManualClock
from tests.pages.test_picker import an_offer, some
from tests.tui.driving import driving
from tests.tui.hand import Screen, a_look


class Search:
    """A search whose end the test decides."""

    def __init__(self, *results: Suggestions) -> None:
        self.results = list(results)
        self.count = 0
        self.may_end = threading.Event()
        self.may_end.set()

    def __call__(self) -> Suggestions:
        self.may_end.wait()
        self.count += 1
        return self.results[min(self.count, len(self.results)) - 1]


class Hand(Screen):
    """Keys in, screen out."""

    def __init__(self, app: PickerApp, pilot: Pilot[Path], search: Search) -> None:
        self.app: PickerApp = app
        self.pilot = pilot
        self.search = search

    @property
    def picker(self) -> PickerScreen:
        screen = self.app.screen_stack[0]
        assert isinstance(screen, PickerScreen)
        return screen

    async def found(self, number: int = 1) -> None:
        """Wait until the result of a search is on the screen."""
        while self.search.count < number or self.picker.reading:
            await self.pilot.pause(0.01)
        await self.settle()

    @property
    def here(self) -> str:
        return str(self.picker.items.cursor)


def an_app(search: Search, before: Path | None = None) -> PickerApp:
    paths = PathDisplay(Path("/home/me/proj"), Path("/home/me"))
    return PickerApp(search, paths, ManualClock(1_800_000_000.0), a_look(), before)


@asynccontextmanager
async def picking(*results: Suggestions, size: tuple[int, int] = (100, 30)) -> AsyncIterator[Hand]:
    search = Search(*results)
    app = an_app(search)
    async with driving(app, size=size) as pilot:
        hand = Hand(app, pilot, search)
        await hand.found()
        yield hand


async def test_enter_chooses_the_row_at_the_cursor() -> None:
    async with picking(some()) as hand:
        assert hand.here == "/home/me/proj/runs"
        third = list(hand.picker.items._places)[2]
        await hand.press("j", "down", "enter")
    assert hand.app.return_value == third
    assert not hand.app.return_code


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
async def test_leaving_chooses_nothing_and_is_no_error(key: str) -> None:
    async with picking(some()) as hand:
        await hand.press(key)
    assert hand.app.return_value is None
    assert hand.app.return_code == 0


async def test_a_filter_is_typed_kept_and_cleared() -> None:
    async with picking(some()) as hand:
        await hand.press("slash", "r", "a", "y", "q")
        assert hand.picker.status.filter == "rayq", "keys are text while the filter is edited"
        await hand.press("backspace", "enter")
        assert [x.split()[1] for x in hand.lines if "ago" in x][:1] == ["~/ray_results"]
        await hand.press("enter")
    assert hand.app.return_value == Path("/home/me/ray_results")


async def test_r_searches_again_and_new_logs_appear() -> None:
    more = Suggestions((an_offer("/new/run", 1), *some().items), ())
    async with picking(some(), more) as hand:
        await hand.press("j")
        here = hand.here
        await hand.press("r")
        await hand.found(2)
        assert any("/new/run" in x for x in hand.lines)
        assert hand.here == here, "the cursor stays where the user put it"


async def test_the_mouse_points_and_a_second_click_chooses() -> None:
    async with picking(some()) as hand:
        y = next(i for i, x in enumerate(hand.lines) if "ray_results" in x)
        await hand.pilot.click(offset=(8, y))
        await hand.settle()
        assert hand.here == "/home/me/ray_results"
        await hand.pilot.click(offset=(8, y))
    assert hand.app.return_value == Path("/home/me/ray_results")


async def test_a_search_that_fails_is_seen() -> None:
    class Broken(Search):
        def __call__(self) -> Suggestions:
            self.count += 1
            raise ZeroDivisionError

    search = Broken()
    app = an_app(search)
    with pytest.raises(ZeroDivisionError):
        async with app.run_test() as pilot:
            await Hand(app, pilot, search).found()


async def test_the_cursor_starts_on_what_was_chosen_before() -> None:
    search = Search(Suggestions(tuple(an_offer(f"/data/{i:02}", i) for i in range(60)), ()))
    search.may_end.clear()
    app = an_app(search, before=Path("/data/50"))
    async with driving(app, size=(80, 24)) as pilot:
        hand = Hand(app, pilot, search)
        await hand.settle()
        assert "looking for logs" in hand.text
        search.may_end.set()
        await hand.found()
        assert any("/data/50" in x and "▌" in x for x in hand.lines)
        await hand.press("k", "enter")
    assert app.return_value == Path("/data/49")
