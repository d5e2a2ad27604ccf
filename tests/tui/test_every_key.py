"""Every key of the table on every screen: it does something, or one line says why not.

No widget redefines a private method of Textual by accident: at the lowest version, too.
"""

import importlib
import inspect
import json
import pkgutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from textual.message_pump import MessagePump

import rltui.tui
from rltui.config import Config
from rltui.core.batch import MediaKind, MediaPlace
from rltui.tui.keys import (
    COMPARISON,
    FINDINGS,
    GRID,
    KEYS,
    LIST,
    LOG,
    MEDIA,
    METRIC,
    MOVE,
    OVERLAY,
    PICKER,
    RUNS,
    SAMPLES,
    SETTINGS,
    TIMING,
    covered,
    elsewhere,
    keys_of,
)
from rltui.tui.widgets.status import Status
from tests.fakes import grpo_batch
from tests.pages.test_picker_screen import picking, some
from tests.tui.hand import Hand, open_app, read_at_once

#: Place -> keys that lead there from the list of runs.
WAYS = {
    RUNS: [],
    LIST: ["enter", "3", "down"],
    GRID: ["enter", "3", "v", "down"],
    TIMING: ["enter", "6", "down"],
    FINDINGS: ["enter", "9", "end"],
    METRIC: ["enter", "3", "down", "enter"],
    COMPARISON: ["C"],
    SAMPLES: ["enter", "T", "down"],
    MEDIA: ["enter", "0", "end", "enter"],
    OVERLAY: ["enter", "question_mark"],
    LOG: ["enter", "t"],
    SETTINGS: ["enter", "H"],
}
#: What ends or suspends the app, and the palette.
_LEAVING = {"q", "ctrl+c", "ctrl+z", "ctrl+p"}
NAMES = [n for n in dict.fromkeys(n for k in KEYS for n in k.keys) if n not in _LEAVING]


@pytest.fixture
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read_at_once(monkeypatch)


@asynccontextmanager
async def at(place: str, logdir: Path) -> AsyncIterator[Hand]:
    """A screen of two runs, of which the first has samples."""
    rollouts = logdir / "rollouts"
    rollouts.mkdir(exist_ok=True)
    for step in (20, 40):
        rows = [{"input": f"{n}?", "output": "x", "score": n, "step": step} for n in range(5)]
        text = "\n".join(map(json.dumps, rows)) + "\n"
        (rollouts / f"{step}.jsonl").write_text(text, encoding="utf-8")
    places = [MediaPlace("x", MediaKind.HISTOGRAM, step, 0, 20) for step in (20, 40)]
    batch = grpo_batch(60, total=200, run=".", media=tuple(places))
    object.__setattr__(batch, "run_path", logdir)
    calm = grpo_batch(30, run="calm", collapse=None)
    async with open_app(batch, calm, size=(80, 24), logdirs=(logdir,)) as hand:
        await hand.press(*WAYS[place])
        assert place_of(hand) == place
        yield hand


def place_of(hand: Hand) -> str:
    screen = hand.app.screen
    return screen.place


def works(name: str, place: str) -> bool:
    return any(name in k.keys and place in k.where for k in KEYS)


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("place", WAYS)
async def test_a_key_of_another_screen_says_how_to_get_there(place: str, tmp_path: Path) -> None:
    others = [n for n in NAMES if not works(n, place)]
    assert others
    async with at(place, tmp_path) as hand:
        body = hand.lines[:-3]
        for name in others:
            words = elsewhere(name, place, KEYS)
            assert words, name
            assert len(words) <= 77, words
            hand.app.clear_notifications()
            await hand.press(name)
            assert hand.notices == words
            assert hand.lines[:-3] == body
            assert place_of(hand) == place


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("place", WAYS)
async def test_a_key_of_the_screen_is_never_dead(place: str, tmp_path: Path) -> None:
    here = [k for k in KEYS if place in k.where]
    moves = {n for k in here if k.group == MOVE or "cross" in k.action for n in k.keys}
    todo = [n for n in NAMES if works(n, place) and n not in moves] + ["escape"]
    todo.sort(key="m".__eq__)  # then the list is out of sight
    while todo:
        async with at(place, tmp_path) as hand:
            while todo and place_of(hand) == place:
                name = todo.pop(0)
                hand.app.clear_notifications()
                await hand.settle()
                before, screen = hand.lines, hand.app.screen
                await hand.press(name)
                silent = hand.app.screen is screen and not hand.notices
                assert not silent or hand.lines != before, name
                typing = any(s.editing for s in screen.query(Status))
                if typing or place_of(hand) != place:
                    await hand.press("escape")


async def test_the_picker_says_that_a_log_must_be_chosen() -> None:
    others = [n for n in NAMES if not works(n, PICKER)]
    async with picking(some()) as hand:
        for name in others:
            hand.app.clear_notifications()
            await hand.press(name)
            assert hand.notices == elsewhere(name, PICKER, KEYS)
            assert hand.notices.endswith("works once a log is open: press Enter first")


def test_a_key_without_a_meaning_says_nothing() -> None:
    assert elsewhere("f9", LIST, KEYS) == ""
    assert elsewhere("v", LIST, KEYS) == ""
    words = elsewhere("v", FINDINGS, KEYS)
    assert words == "v (grid of charts, table) works in a tab of metrics: press 2-8 first"
    assert elsewhere("r", RUNS, KEYS) == "r (list of runs) is open already"


def test_a_key_of_the_screen_below_is_named_as_it_is_there() -> None:
    words = elsewhere("f", OVERLAY, KEYS, SAMPLES)
    assert words == "f (next filter: what is wrong) works once this is closed: press q first"


@pytest.mark.parametrize(
    ("name", "words"), [("space", "Space (mark rows for one chart)"), ("tab", "Tab (next section)")]
)
def test_in_the_grid_a_key_of_the_table_leads_there(name: str, words: str) -> None:
    assert elsewhere(name, GRID, KEYS) == f"{words} works in the table: press v first"


def test_the_way_names_the_keys_of_the_user() -> None:
    own: dict[str, tuple[str, ...]] = {"grid": ("V",), "table": ("V",), "close": ("f10",)}
    table = keys_of(replace(Config(), keys=own))
    assert elsewhere("tab", GRID, table) == "Tab (next section) works in the table: press V first"
    assert elsewhere("comma", LIST, table).endswith(" works in the grid of a tab: press V first")
    assert elsewhere("V", LOG, table).endswith(" works once this is closed: press f10 first")
    words = covered("tail", OVERLAY, table)
    assert words == "t (tail of the console log) works once this is closed: press f10 first"
    table = keys_of(replace(Config(), keys={"close": ()}))
    assert elsewhere("m", LOG, table).endswith(" works once this is closed")


#: What is replaced on purpose: writing differences, telling faults, painting once.
ON_PURPOSE = {("CellDiffApp", "_display"), ("ShellApp", "_handle_exception")}
ONCE = {("OnceScreen", "_compositor_refresh"), ("OnceScreen", "_refresh_layout")}


def classes() -> Iterator[type]:
    for module in pkgutil.walk_packages(rltui.tui.__path__, "rltui.tui."):
        found = inspect.getmembers(importlib.import_module(module.name), inspect.isclass)
        yield from (c for _, c in found if c.__module__ == module.name)


def test_no_private_method_of_textual_is_redefined() -> None:
    found = {
        (ours.__name__, name)
        for ours in filter(lambda c: issubclass(c, MessagePump), classes())
        for name, member in vars(ours).items()
        if name.startswith("_") and not name.startswith("__") and inspect.isfunction(member)
        for base in ours.__mro__[1:]
        if base.__module__.startswith("textual.") and name in vars(base)
    }
    assert found == ON_PURPOSE | ONCE
