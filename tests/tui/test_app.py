"""The app, driven by keys: life, live data, pause, resizing, and never breaking.

What the first paint must not pay for.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from textual.drivers.headless_driver import HeadlessDriver

import rltui
from rltui.commands.watch import reading
from rltui.config import HooksConfig
from rltui.core.text import cell_width
from rltui.pages.app import LATER, RltuiApp
from rltui.tui.keys import KEYS
from tests.builders import a_batch
from tests.fakes import grpo_batch
from tests.tui.hand import Hand, open_app


@pytest.fixture
def rich() -> tuple[Any, ...]:
    return (grpo_batch(60, total=200),)


# -- life ----------------------------------------------------------------------------------


async def test_the_reader_runs_as_long_as_the_app() -> None:
    async with open_app() as hand:
        assert hand.reader.calls == ["start"]
        assert "waiting for logs" in hand.text
        assert "/logs" in hand.text
        assert hand.footer.split()[:4] == ["?", "help", "q", "quit"]  # the others need a run
        await hand.press("o")
        assert hand.notices == "there is no run yet"
    assert hand.reader.calls == ["start", "stop"]


@pytest.mark.parametrize("key", ["q", "ctrl+c", "ctrl+q"])
async def test_quitting(key: str, rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        await hand.press(key)
    assert hand.app.return_code == 0
    assert not hand.reader.running


@pytest.mark.parametrize("first", ["colon", "ctrl+p"])
async def test_ctrl_c_quits_from_everywhere(first: str, rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        await hand.press(first, "ctrl+c")
    assert hand.app.return_code == 0


async def test_unknown_keys_do_nothing(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        before = hand.lines
        await hand.press("Z", "f5", "ctrl+k", "tilde", "insert", "f12", "ctrl+g")
        assert hand.lines == before


# -- live ----------------------------------------------------------------------------------


async def test_a_run_that_appears_shows_without_a_key() -> None:
    async with open_app() as hand:
        await hand.feed(grpo_batch(60))
        assert "Is it stable?" in hand.text
        await hand.feed(grpo_batch(3, run="second"))
        assert "2 runs now: r lists them" in hand.notices
        await hand.press("r")
        assert "second" in hand.text


@pytest.mark.parametrize("over", ["question_mark", "ctrl+p"])
async def test_what_is_under_an_overlay_goes_on(over: str, rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        await hand.press(over)
        await hand.feed(grpo_batch(1, first=61))
        assert "step 61" in hand.lines[0]


async def test_a_paused_view_stands_still_and_catches_up(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        await hand.press("p", "j", "k")
        assert "paused" in hand.footer
        before = hand.lines
        await hand.feed(grpo_batch(5, first=61))
        await hand.press("j", "k")
        assert hand.lines == before
        await hand.press("p")
        await hand.feed()
        assert "step 65" in hand.lines[0]
        assert "paused" not in hand.footer


async def test_a_paused_view_still_rings(monkeypatch: pytest.MonkeyPatch) -> None:
    bells: list[None] = []
    monkeypatch.setattr(RltuiApp, "bell", lambda _: bells.append(None))
    async with open_app(grpo_batch(60, collapse=None), hooks=HooksConfig()) as hand:
        await hand.press("p")
        before = hand.lines
        hand.clock.advance(5)
        await hand.feed(grpo_batch(60, first=61, collapse=61))
        hand.app.pump.pull()  # verdicts come after the first paint
        await hand.settle()
        assert bells == [None]
        assert hand.lines == before
        await hand.press("p")
        await hand.feed()
        assert bells == [None]
        assert "entropy collapse" in hand.text


async def test_a_change_costs_the_terminal_little(
    rich: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    monkeypatch.setattr(RltuiApp, "is_headless", property(lambda self: False))
    monkeypatch.setattr(HeadlessDriver, "is_headless", property(lambda self: False))
    monkeypatch.setattr(HeadlessDriver, "write", lambda self, data: written.append(data))
    async with open_app(*rich, size=(160, 45)) as hand:
        await hand.settle()
        whole = sum(map(len, written))
        await hand.feed(grpo_batch(1, first=61))
        written.clear()
        await hand.feed(grpo_batch(1, first=62))
        assert "step 62" in hand.lines[0]
        assert 0 < sum(map(len, written)) < whole / 8


# -- size ----------------------------------------------------------------------------------


async def test_resizing_to_the_smallest_and_back(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich, size=(80, 24)) as hand:
        before = hand.lines
        for size in ((20, 5), (1, 1), (200, 60), (80, 24)):
            await hand.resize(*size)
            assert len(hand.lines) == size[1]
        assert hand.lines == before


async def test_the_smallest_screen_shows_the_verdict(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich, size=(30, 2)) as hand:
        assert "1 bad" in hand.lines[0]
        assert hand.lines[1].strip() == ""
        await hand.press("r")
        assert "1 bad" in hand.lines[0]


# -- anything ------------------------------------------------------------------------------

NAMES = sorted({n for k in KEYS for n in k.keys} - {"q", "ctrl+c", "ctrl+z", "ctrl+p"})
EVENTS = st.one_of(
    st.sampled_from(NAMES),
    st.sampled_from(["a", "space", "backspace", "ctrl+w", "f7"]),
    st.tuples(st.integers(1, 220), st.integers(1, 60)),
    st.just(grpo_batch(1, first=61)),
)


def assert_filled(hand: Hand) -> None:
    width, height = hand.app.size
    lines = hand.lines
    assert len(lines) == height
    for line in lines:
        assert cell_width(line) == width, line
        assert line.isprintable()


@settings(max_examples=12, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.lists(EVENTS, min_size=4, max_size=14))
async def test_any_keys_at_any_size_break_nothing(events: list[Any]) -> None:
    other = a_batch({"x\\x1b[31m": [1.0, float("nan")]}, run="two", source="two/e")
    async with open_app(grpo_batch(60, total=200), other) as hand:
        await hand.press("enter")
        for event in events:
            if isinstance(event, str):
                await hand.press(event)
            elif isinstance(event, tuple):
                await hand.resize(*event)
            else:
                await hand.feed(event)
            assert hand.app.is_running
        assert_filled(hand)


#: The work of a start up to the first paint, and then what it took to get there.
_FIRST_PAINT = """
import sys
import numpy
of_numpy = set(sys.modules)  # NumPy 1 imports numpy.ma by itself
from pathlib import Path
import asyncio
from rltui.draw.theme import load_theme
from rltui.draw.view import View
from rltui.session import Session
from rltui.pages.app import RltuiApp
from rltui.tui.shell import AppOptions
from rltui.tui import pump
from rltui.pages.app import LATER

session = Session([Path(sys.argv[1])])
session.scan()
for batch in session.reader.read_all():
    session._apply(batch)
session.judge.judge(verdicts=False)
session.start = session.stop = lambda: None  # no thread: what it imports comes later
app = RltuiApp(session, AppOptions(View(), load_theme("dark")))
loaded = []
import_later = pump.import_later

def first_painted(owner, *names):
    loaded or loaded.extend(sys.modules)
    import_later(owner, *names)

pump.import_later = first_painted

async def show():
    async with app.run_test(size=(160, 45)) as pilot:
        app.pump._unpainted = True
        app.pump._session.drain = lambda **_: type(session).drain(session, verdicts=False)
        app.pump.pull()
        await pilot.pause()
        await pilot.pause()
        shown = app.screen.query_one("#rows")
        assert any("loss" in text for text, _ in shown.line_of(1)), shown.line_of(1)
        assert loaded
        print(*(name for name in sys.argv[2:] if name in set(loaded) - of_numpy))
        while not sys.modules.keys() >= set(LATER):
            await pilot.pause(0.01)

asyncio.run(show())
"""
_LATER = (
    "watchdog", "plotext", "tensorboard", "numpy.ma", "importlib.metadata", "rltui.health.engine",
    "rltui.health.rules", "rltui.health.report", "rltui.health.diagnoses", "rltui.health.crash",
    "rltui.facts.projection", "rltui.health.detectors.registry",
    "rltui.tui.overlay", "rltui.pages.metric.lines", "rltui.output.text_report",
    "rltui.sources.side_files.sample_files", "rltui.sources.follow.stdin_feed",
    "rltui.formats.console.console_decoder", "rltui.formats.table.table_decoder",
    "rltui.formats.tracker_log.tracker_decoder",
)  # fmt: skip


def test_what_can_wait_is_not_imported_before_the_first_paint(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "run.jsonl"
    log.parent.mkdir()
    rows = (f'{{"step": {s}, "loss": {1 / (s + 1)}, "timing_s/gen": 2}}' for s in range(20))
    log.write_text("\n".join(rows) + "\n")
    command = [sys.executable, "-c", _FIRST_PAINT, str(log.parent), *_LATER]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def test_what_keys_need_is_loaded_after_the_first_paint() -> None:
    package = Path(rltui.__file__).parent
    texts = [p.read_text() for d in ("pages", "tui") for p in (package / d).rglob("*.py")]
    lazy = r"^ +from (rltui\.\S+) import .+  # heavy$"
    found = {module for text in texts for module in re.findall(lazy, text, re.MULTILINE)}
    assert found <= {*LATER}
    assert all(find_spec(module) for module in LATER)


def test_until_the_first_paint_a_line_says_what_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "__stdout__", terminal)
    with reading("/runs/\x1b[31m"):
        assert terminal.getvalue().startswith("reading /runs/")
        assert "\x1b" not in terminal.getvalue()
    line, blank, _ = terminal.getvalue().split("\r")
    assert blank == " " * len(line), "nothing of it stays"
