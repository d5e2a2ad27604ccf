"""The cell diff, seen by a terminal emulator: the screen is the one that Textual would paint."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pyte
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import App, ComposeResult
from textual.driver import Driver
from textual.geometry import Region, Size
from textual.pilot import Pilot
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input, Static

from rltui.tui.cell_diff import CellDiffApp

_LOOKS = (
    Style.parse("#a0c0e0 on #102030"),
    Style.parse("bold #ff8040 on #102030"),
    Style.parse("underline #60d060 on #203040"),
    Style.parse("reverse #d0d0d0 on #302020"),
    Style.parse("italic strike #d0d0d0 on #302020"),
    Style.parse("#b080f0 on #102030 link https://example.org"),
    Style.parse("#b080f0 on #102030") + Style.from_meta({"row": 1}),
)
#: Wide and combining characters whose width pyte, Textual and wcwidth agree about.
_TEXTS = (
    "step 1200  reward 0.125", "loss ▁▂▃▄▅▆▇█ ⣀⣤⣶⣿", "评估 奖励 done", "🚀 lift-off 🚀", "re\u0301sume\u0301",
    "   ", "한국어 x", "a漢b漢c", "entropy 0.5",
)  # fmt: skip


class _Terminal:
    """An emulated terminal. pyte knows neither dim (SGR 2) nor hyperlinks: both are ignored."""

    def __init__(self, width: int, height: int) -> None:
        self.screen = pyte.Screen(width, height)
        self.screen.reset_mode(pyte.modes.DECAWM)
        self._stream = pyte.Stream(self.screen)
        self.written = ""

    def feed(self, text: str) -> None:
        self.written += text
        self._stream.feed(text)

    def cells(self) -> list[list[tuple[Any, ...]]]:
        """What is seen; a blank shows its foreground by its lines and when reversed only."""
        width, rows = self.screen.columns, range(self.screen.lines)
        return [[_seen(self.screen.buffer[y][x]) for x in range(width)] for y in rows]

    def text(self) -> str:
        return "\n".join(self.screen.display)

    def cursor(self) -> tuple[int, int]:
        return self.screen.cursor.x, self.screen.cursor.y


def _seen(char: Any) -> tuple[Any, ...]:
    lines = (char.underscore, char.strikethrough, char.reverse)
    if char.data == " " and not any(lines):
        return " ", char.bg
    return (*char, *lines)


class _RecordingDriver(Driver):
    """Feeds an emulated terminal instead of a real one."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        assert self._size is not None
        self.terminal = _Terminal(*self._size)

    @property
    def can_suspend(self) -> bool:
        return True

    def write(self, data: str) -> None:
        self.terminal.feed(data)

    def start_application_mode(self) -> None:
        """An alternate screen is empty."""
        screen = self.terminal.screen
        self.terminal = _Terminal(screen.columns, screen.lines)
        self.send_size()

    def send_size(self) -> None:
        size = Size(self.terminal.screen.columns, self.terminal.screen.lines)
        self.send_message(events.Resize(size, size))

    def resize(self, width: int, height: int) -> None:
        """As terminals do: what was shown is cut, and anything may stand in what is new."""
        self.terminal = _Terminal(width, height)
        self.terminal.feed("garbage " * 20)
        self.send_size()

    def disable_input(self) -> None: ...

    def stop_application_mode(self) -> None: ...


class _Rows(ScrollView, can_focus=True):
    """A list of styled rows that news changes."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[tuple[str, Style]]] = [[(t, _LOOKS[0])] for t in _TEXTS]
        self.virtual_size = Size(120, 60)

    def put(self, y: int, row: list[tuple[str, Style]]) -> None:
        self.rows[y % len(self.rows)] = row
        self.refresh(Region(0, y % len(self.rows), self.size.width, 1))

    def render_line(self, y: int) -> Strip:
        y += self.scroll_offset.y
        row = self.rows[y] if y < len(self.rows) else []
        strip = Strip([Segment(text, style) for text, style in row])
        x = self.scroll_offset.x
        return strip.crop_extend(x, x + self.size.width, _LOOKS[0])


class _Modal(ModalScreen[None]):
    CSS = "_Modal { align: center middle; } #box { width: 30; height: 6; border: round white; }"
    BINDINGS = [("escape", "dismiss", "close")]

    def compose(self) -> ComposeResult:
        yield Static("A modal 漢字 screen", id="box")


class _Show(CellDiffApp[None]):
    CSS = "_Rows { height: 1fr; } #side { dock: right; width: 21; } Input { height: 3; }"

    def __init__(self) -> None:
        super().__init__()
        self.driver_class = _RecordingDriver
        self.animation_level = "none"

    def compose(self) -> ComposeResult:
        yield Static("side [b]bold[/b] [@click=app.bell]link[/]", id="side")
        yield _Rows()
        yield Input("abc", select_on_focus=False)

    def on_mount(self) -> None:
        self.query_one(Input).cursor_blink = False

    @property
    def driver(self) -> _RecordingDriver:
        assert isinstance(self._driver, _RecordingDriver)
        return self._driver

    @property
    def terminal(self) -> _Terminal:
        return self.driver.terminal


def _painted_by_textual(app: _Show) -> _Terminal:
    """A terminal to which Textual wrote everything, as it is now."""
    compositor = app.screen._compositor
    dirty = set(compositor._dirty_regions)
    update = compositor.render_update(full=True, screen_stack=app._background_screens)
    compositor._dirty_regions.update(dirty)
    terminal = _Terminal(*app.size)
    terminal.feed(update.render_segments(app.console))
    return terminal


async def _check(app: _Show, pilot: Pilot[None]) -> None:
    """The screen comes to be the one that Textual would paint."""
    for _ in range(50):
        await pilot.pause()
        expected, shown = _painted_by_textual(app), app.terminal
        if expected.cells() == shown.cells():
            break
    assert expected.text() == shown.text()
    for y, (row, wanted) in enumerate(zip(shown.cells(), expected.cells(), strict=True)):
        assert row == wanted, f"row {y}"
    assert shown.cursor() == tuple(app.size.clamp_offset(app.cursor_position))


def _run(
    scenario: Callable[[_Show, Pilot[None]], Coroutine[Any, Any, None]],
    size: tuple[int, int] = (80, 24),
) -> None:
    async def main() -> None:
        app = _Show()
        async with app.run_test(headless=False, size=size, notifications=True) as pilot:
            await _check(app, pilot)
            await scenario(app, pilot)

    asyncio.run(main())


# -- what happens to an app ------------------------------------------------------------------


def _suspend(app: _Show) -> None:
    app.driver.start_application_mode()
    app.driver.send_message(_RecordingDriver.SignalResume())


_ROW = st.lists(st.tuples(st.sampled_from(_TEXTS), st.sampled_from(_LOOKS)), max_size=4)
_NEWS = st.tuples(
    st.just("news"), st.lists(st.tuples(st.integers(0, 8), _ROW), min_size=1, max_size=5)
)
_KEY = st.tuples(
    st.just("key"),
    st.sampled_from(
        (
            "tab",
            "x",
            "漢",
            "backspace",
            "left",
            "home",
            "down",
            "pagedown",
            "escape",
            "shift+left",
            "ctrl+a",
        )
    ),
)
_EVENT = st.tuples(
    st.just("event"),
    st.sampled_from(("modal", "palette", "toast", "theme", "light", "suspend", "repaint", "hover", "select", "scroll")),
)  # fmt: skip
_SIZE = st.tuples(st.just("size"), st.sampled_from(((80, 24), (61, 17), (100, 30), (40, 10))))


async def _do(app: _Show, pilot: Pilot[None], kind: str, value: Any) -> None:
    rows = app.screen_stack[0].query_one(_Rows)
    if kind == "news":
        for y, row in value:
            rows.put(y, row)
    elif kind == "key":
        await pilot.press(value)
    elif kind == "size":
        app.driver.resize(*value)
    elif value == "modal" and len(app.screen_stack) == 1:
        await app.push_screen(_Modal())
    elif value == "palette":
        app.action_command_palette()
    elif value == "toast":
        app.notify("a toast 漢字", title="news", timeout=3600)
    elif value in ("theme", "light"):
        app.theme = {"theme": "nord", "light": "textual-light"}[value]
    elif value == "suspend":
        _suspend(app)
    elif value == "repaint":
        app.driver.start_application_mode()
        app.repaint_terminal()
    elif value == "hover":
        await pilot.hover(offset=(app.size.width - 5, 0))
    elif value == "select":
        app.screen.text_select_all()
    elif value == "scroll":
        rows.scroll_to(3, 2, animate=False)


@settings(
    max_examples=15,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(st.lists(st.one_of(_NEWS, _KEY, _EVENT, _SIZE), min_size=5, max_size=14))
def test_whatever_happens_the_terminal_shows_what_textual_would_paint(steps: list[Any]) -> None:
    async def scenario(app: _Show, pilot: Pilot[None]) -> None:
        for kind, value in steps:
            await _do(app, pilot, kind, value)
            await _check(app, pilot)

    _run(scenario)
