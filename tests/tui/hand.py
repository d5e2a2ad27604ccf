"""An app in the hands of a test: keys in, screen out.

async with open_app(grpo_batch(60)) as hand:
    await hand.press("3", "enter")
    assert "entropy" in hand.text
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from unittest.mock import patch

import pytest
from rich.segment import Segment
from textual._context import visible_screen_stack
from textual.pilot import Pilot

from rltui.config import HooksConfig
from rltui.draw.theme import load_theme
from rltui.draw.view import View
from rltui.pages.app import RltuiApp
from rltui.pages.metric.screen import MetricScreen
from rltui.pages.run.screen import RunScreen
from rltui.pages.runs.screen import RunsScreen
from rltui.tui.keys import KEYS, Key
from rltui.tui.screen import ListScreen
from rltui.tui.shell import AppOptions, ShellApp
from tests.clock import ManualClock
from tests.fakes import FakeReader, a_session, grpo_clock
from tests.tui.driving import driving


class Screen:
    """What an app shows."""

    app: ShellApp[Any]
    pilot: Pilot[Any]

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.settle()

    async def settle(self) -> None:
        await self.pilot.pause()
        await self.pilot.pause()

    async def resize(self, width: int, height: int) -> None:
        await self.pilot.resize_terminal(width, height)
        await self.settle()

    @property
    def strips(self) -> list[list[Segment]]:
        """The screen, line by line, with styles."""
        visible_screen_stack.set(self.app._background_screens)
        return [list(x) for x in self.app.screen._compositor.render_strips(self.app.size)]

    @property
    def lines(self) -> list[str]:
        return ["".join(s.text for s in strip) for strip in self.strips]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def footer(self) -> str:
        return self.lines[-1]

    @property
    def notices(self) -> str:
        return "\n".join(n.message for n in self.app._notifications)


class Hand(Screen):
    """The app of a session."""

    def __init__(self, app: RltuiApp, pilot: Pilot[None], reader: FakeReader) -> None:
        self.app: RltuiApp = app
        self.pilot = pilot
        self.reader = reader

    @property
    def run(self) -> RunScreen:
        screen = self.app.screen
        assert isinstance(screen, RunScreen), screen
        return screen

    @property
    def runs(self) -> RunsScreen:
        screen = self.app.screen
        assert isinstance(screen, RunsScreen), screen
        return screen

    @property
    def metric(self) -> MetricScreen:
        screen = self.app.screen
        assert isinstance(screen, MetricScreen), screen
        return screen

    @property
    def ids(self) -> list[Any]:
        """What the cursor can reach."""
        screen = self.app.screen
        assert isinstance(screen, ListScreen), screen
        return list(screen.items._places)

    @property
    def cursor(self) -> Any:
        screen = self.app.screen
        assert isinstance(screen, ListScreen), screen
        return screen.items.cursor

    @property
    def clock(self) -> ManualClock:
        clock = self.app.session.clock
        assert isinstance(clock, ManualClock)
        return clock

    async def feed(self, *batches: Any) -> None:
        """New data from the reader, after a quiet spell: painted at once."""
        self.clock.advance(5)
        self.reader.feed(*batches)
        await self.settle()
        if self.reader.queue:  # a drain is due already: its timer runs on the real clock
            self.app.pump.pull()
        await self.settle()


def read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What screens read on a thread is read when they ask for it."""

    def at_once(work: Callable[[], None]) -> None:
        work()

    monkeypatch.setattr("rltui.tui.screen.start_thread", at_once)


def a_look(theme: str = "dark", keys: tuple[Key, ...] = KEYS, **view: Any) -> AppOptions:
    return AppOptions(View(**view), load_theme(theme), keys)


@asynccontextmanager
async def open_app(
    *batches: Any,
    size: tuple[int, int] = (120, 36),
    clock: ManualClock | None = None,
    look: AppOptions | None = None,
    hooks: HooksConfig | None = None,
    **options: Any,
) -> AsyncIterator[Hand]:
    """The app over a session that has read ``batches``; the reader thread never runs.

    Ages move when a test calls ``app.pump.age()``, charts are drawn ahead by ``draw_ahead()``.
    """
    reader = FakeReader()
    session = a_session(*batches, reader=reader, clock=clock or grpo_clock(), **options)
    app = RltuiApp(session, look or a_look(), hooks)
    with patch("rltui.tui.pump._AGE_INTERVAL_S", 1e6), patch("rltui.pages.run.grid._AHEAD_S", 1e6):
        async with driving(app, size=size) as pilot:
            hand = Hand(app, pilot, reader)
            await hand.settle()
            yield hand
