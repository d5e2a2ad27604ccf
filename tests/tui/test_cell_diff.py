"""The cell diff, seen by a terminal emulator: the screen is the one that Textual would paint."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar

import pyte
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.command import CommandPalette
from textual.driver import Driver
from textual.geometry import Region, Size
from textual.pilot import Pilot
from textual.screen import ModalScreen, SystemModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input, Static

from rltui.tui import cell_diff
from rltui.tui.cell_diff import (
    PLAIN,
    CellDiffApp,
    TerminalCells,
    UnknownContentError,
    split_clusters,
)
from tests.tui.driving import driving

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
    "step 1200  reward 0.125",
    "loss ▁▂▃▄▅▆▇█ ⣀⣤⣶⣿",
    "评估 奖励 done",
    "🚀 lift-off 🚀",
    "re\u0301sume\u0301",
    "   ",
    "한국어 x",
    "a漢b漢c",
    "entropy 0.5",
)


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
        self._size = width, height
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
    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss", "close")]

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

    @property
    def rows(self) -> _Rows:
        """The list at the bottom of the stack of screens."""
        return self.screen_stack[0].query_one(_Rows)


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


_Scenario = Callable[["_Show", Pilot[None]], Coroutine[Any, Any, None]]


def _run(scenario: _Scenario, size: tuple[int, int] = (80, 24)) -> None:
    async def main() -> None:
        app = _Show()
        async with driving(app, headless=False, size=size, notifications=True) as pilot:
            await _check(app, pilot)
            await scenario(app, pilot)

    asyncio.run(main())


# -- what happens to an app ------------------------------------------------------------------


_ROW = st.lists(st.tuples(st.sampled_from(_TEXTS), st.sampled_from(_LOOKS)), max_size=4)
_ROWS = st.lists(st.tuples(st.integers(0, 8), _ROW), min_size=1, max_size=5)
_KEYS = "tab x 漢 backspace left home down pagedown escape shift+left ctrl+a"


async def _news(app: _Show, pilot: Pilot[None], rows: Any) -> None:
    for y, row in rows:
        app.rows.put(y, row)


async def _key(app: _Show, pilot: Pilot[None], key: Any) -> None:
    await pilot.press(key)


async def _resize(app: _Show, pilot: Pilot[None], size: Any) -> None:
    app.driver.resize(*size)


async def _event(app: _Show, pilot: Pilot[None], name: Any) -> None:
    await _EVENTS[name](app, pilot)


async def _modal(app: _Show, pilot: Pilot[None]) -> None:
    if len(app.screen_stack) == 1:
        await app.push_screen(_Modal())


async def _palette(app: _Show, pilot: Pilot[None]) -> None:
    if not CommandPalette.is_open(app):
        app.push_screen(CommandPalette(id="--command-palette"))


async def _toast(app: _Show, pilot: Pilot[None]) -> None:
    app.notify("a toast 漢字", title="news", timeout=3600)


async def _dark(app: _Show, pilot: Pilot[None]) -> None:
    app.theme = "nord"


async def _light(app: _Show, pilot: Pilot[None]) -> None:
    app.theme = "textual-light"


async def _suspend(app: _Show, pilot: Pilot[None]) -> None:
    app.driver.start_application_mode()
    app.driver.send_message(_RecordingDriver.SignalResume())


async def _spoil(app: _Show, pilot: Pilot[None]) -> None:
    app.terminal.feed("\x1b[3;3Hspoilt")
    app.repaint_terminal()


async def _hover(app: _Show, pilot: Pilot[None]) -> None:
    await pilot.hover(offset=(app.size.width - 5, 0))


async def _select(app: _Show, pilot: Pilot[None]) -> None:
    if not isinstance(app.screen, SystemModalScreen):  # older versions cannot paint it there
        app.screen.text_select_all()


async def _scroll(app: _Show, pilot: Pilot[None]) -> None:
    app.rows.scroll_to(3, 2, animate=False)


_EVENTS = {
    "modal": _modal, "palette": _palette, "toast": _toast, "dark": _dark, "light": _light,
    "suspend": _suspend, "spoil": _spoil, "hover": _hover, "select": _select, "scroll": _scroll,
}  # fmt: skip
_STEPS = st.one_of(
    st.tuples(st.just(_news), _ROWS),
    st.tuples(st.just(_key), st.sampled_from(_KEYS.split())),
    st.tuples(st.just(_event), st.sampled_from(sorted(_EVENTS))),
    st.tuples(st.just(_resize), st.sampled_from(((80, 24), (61, 17), (100, 30), (40, 10)))),
)


# Shrinking would take minutes: every example starts an app.
@settings(
    max_examples=15,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(st.lists(_STEPS, min_size=5, max_size=14))
def test_whatever_happens_the_terminal_shows_what_textual_would_paint(steps: list[Any]) -> None:
    async def scenario(app: _Show, pilot: Pilot[None]) -> None:
        for act, value in steps:
            await act(app, pilot, value)
            await _check(app, pilot)

    _run(scenario)


# -- what it costs ---------------------------------------------------------------------------


def test_three_cells_cost_few_bytes() -> None:
    async def scenario(app: _Show, pilot: Pilot[None]) -> None:
        app.rows.put(0, [("step 1200  reward 0.987", _LOOKS[0])])
        before = len(app.terminal.written)
        await _check(app, pilot)
        assert 0 < len(app.terminal.written) - before < 60

    _run(scenario, (160, 45))


def test_what_did_not_change_costs_nothing() -> None:
    async def scenario(app: _Show, pilot: Pilot[None]) -> None:
        before = app.terminal.written
        app.screen.refresh(layout=True)
        app.rows.refresh()
        app.rows.put(0, [(_TEXTS[0], _LOOKS[0] + Style.from_meta({"row": 2}))])
        await _check(app, pilot)
        assert app.terminal.written == before

    _run(scenario)


def test_without_the_parts_of_textual_that_it_knows_textual_paints(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario(app: _Show, pilot: Pilot[None]) -> None:
        monkeypatch.setattr(cell_diff, "compositor", None)
        app.rows.put(0, [("written by Textual", _LOOKS[1])])
        await _check(app, pilot)
        monkeypatch.undo()
        app.rows.put(1, [("and by the diff", _LOOKS[2])])
        await _check(app, pilot)
        assert "written by Textual" in app.terminal.text()

    _run(scenario)


# -- characters ------------------------------------------------------------------------------


def test_plain_characters_are_one_cell_wide_for_textual_too() -> None:
    plain = [chr(code) for code in range(0x110000) if PLAIN.fullmatch(chr(code))]
    assert len(plain) > 1000
    assert {cell_len(char) for char in plain} == {1}


@given(
    st.text(
        st.characters(exclude_categories=("Cs", "Cc"))
        | st.sampled_from("❤\ufe0f👩\u200d🚀🇩🇪👍🏽é漢")
    )
)
def test_clusters_are_as_wide_as_textual_lays_out(text: str) -> None:
    try:
        clusters = split_clusters(text)
    except UnknownContentError:
        return
    assert sum(width for _, width in clusters) == cell_len(text)


@pytest.mark.parametrize("emoji", ["❤\ufe0f", "👩\u200d🚀", "👍🏽", "🇩🇪"])
def test_behind_an_emoji_that_terminals_draw_in_other_widths_the_rest_stands_right(
    emoji: str,
) -> None:
    """pyte draws these as narrow, or as several characters: as some terminals do."""

    async def scenario(app: _Show, pilot: Pilot[None]) -> None:
        for value in ("0.1", "0.25"):
            app.rows.put(0, [(f"{emoji} reward {value}", _LOOKS[0])])
            await pilot.pause()
            line = app.terminal.screen.display[0]
            assert "".join(
                app.terminal.screen.buffer[0][x].data for x in range(2 + len(" reward "), 20)
            ).startswith(value)
            assert line.rstrip().endswith("link")

    _run(scenario)


def test_control_characters_do_not_reach_the_terminal() -> None:
    cells = TerminalCells(ColorSystem.TRUECOLOR)
    strip = Strip([Segment("a\x1b[2Jb\x07\x9bc\r\n", Style())])
    assert cells.show([(0, [(0, strip)])]) == "\x1b[1;1Ha[2Jbc"


def test_a_link_is_written_once_for_its_cells_and_ended() -> None:
    cells, look = TerminalCells(ColorSystem.TRUECOLOR), Style.parse("#b080f0 on #102030")
    linked, hostile = look + Style(link="file://h/a"), look + Style(link="x\x1b\\y")
    parts = [Segment("a ", look), Segment("b c", linked), Segment(" d", hostile)]
    written = cells.show([(0, [(0, Strip(parts))])])
    assert written.count("\x1b]8;;") == 2
    assert "\x1b]8;;file://h/a\x1b\\" in written
    assert "b c" in written
    assert not cells.show([(0, [(0, Strip(parts))])])
    plain = cells.show([(0, [(0, Strip([Segment("a b c d", look)]))])])
    assert "b c" in plain, "the link is taken off these cells"
    assert "\x1b]8" not in plain
