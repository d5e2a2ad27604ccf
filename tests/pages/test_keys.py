"""The table of keys: every action works, no two fight for a key, the README is true."""

import re
from collections import Counter

import pytest

from rltui.config import Config
from rltui.core.errors import UsageError
from rltui.pages.metric.screen import MetricScreen
from rltui.pages.picker.screen import PickerScreen
from rltui.pages.run.screen import RunScreen
from rltui.pages.runs.screen import RunsScreen
from rltui.tui.keys import (
    EVERYWHERE,
    FINDINGS,
    GRID,
    KEYS,
    LIST,
    METRIC,
    OVERLAY,
    PICKER,
    RUNS,
    keys_for,
    keys_of,
)
from rltui.tui.overlay import Overlay
from rltui.tui.screen import ShellScreen
from rltui.tui.shell import ShellApp
from tests.fakes import grpo_batch
from tests.places import ROOT
from tests.tui.hand import a_look, open_app

README, KEYS_PAGE = ROOT / "README.md", ROOT / "docs" / "keys.md"
#: Who carries out the keys of a screen.
CARRIERS: dict[str, type] = {
    RUNS: RunsScreen,
    LIST: RunScreen,
    GRID: RunScreen,
    FINDINGS: RunScreen,
    METRIC: MetricScreen,
    PICKER: PickerScreen,
    OVERLAY: Overlay,
}


@pytest.mark.parametrize("place", CARRIERS)
def test_every_key_of_a_screen_is_bound(place: str) -> None:
    bound = {(b.key, b.id) for b in CARRIERS[place].BINDINGS}  # type: ignore[attr-defined]
    wanted = {(name, k.action) for k in keys_for(place) for name in k.keys}
    assert wanted <= bound


def test_a_key_that_nobody_carries_out_is_refused_when_a_screen_is_defined() -> None:
    with pytest.raises(UsageError, match="action_"):

        class Deaf(ShellScreen[None], places=(METRIC,)):
            pass

    with pytest.raises(UsageError, match="Dumb has no action_pause"):

        class Dumb(ShellApp[None], places=(METRIC,)):
            pass


async def test_a_key_works_on_its_screens_only() -> None:
    async with open_app(grpo_batch(60)) as hand:
        await hand.press("9", "slash")
        assert hand.run.status.editing == "", "findings have no filter"
        await hand.press("3", "slash")
        assert hand.run.status.editing == "filter"


async def test_own_keys_work_and_stand_in_footer_and_help() -> None:
    keys = keys_of(Config(keys={"explain": ("f2", "E"), "runs": ()}))
    async with open_app(grpo_batch(60), grpo_batch(9, run="b"), look=a_look(keys=keys)) as hand:
        await hand.press("enter", "r", "e")
        assert hand.run.is_current, "neither key means anything any more"
        assert "f2 explain" in hand.footer
        for key in ("f2", "E"):
            await hand.press(key)
            assert "logged in" in hand.text
            await hand.press("escape")
        await hand.press("question_mark")
        assert "f2  E" in hand.text


def test_unknown_actions_and_keys_used_twice_are_refused() -> None:
    with pytest.raises(UsageError, match="did you mean 'explain'"):
        keys_of(Config(keys={"explian": ("f2",)}))
    with pytest.raises(UsageError, match="starts both"):
        keys_of(Config(keys={"explain": ("r",)}))


def test_actions_have_one_row_each_and_no_key_twice() -> None:
    assert [a for a, n in Counter(k.action for k in KEYS).items() if n > 1] == []
    for screen in (*EVERYWHERE, PICKER):
        names = Counter(name for k in keys_for(screen) for name in k.keys)
        assert [n for n, count in names.items() if count > 1] == [], screen


def test_no_key_has_more_than_three_meanings() -> None:
    for name in {n for k in KEYS for n in k.keys}:
        assert len({k.words for k in KEYS if name in k.keys}) <= 3, name
    rows = [x for x in KEYS_PAGE.read_text(encoding="utf-8").splitlines() if x.startswith("| ")]
    assert len(rows) - 2 <= 70


def test_no_key_is_one_that_terminals_lose() -> None:
    lost = {n for k in KEYS for n in k.keys if n.startswith("alt+") or n == "ctrl+slash"}
    assert lost == set()


def test_every_screen_can_be_left_and_has_help() -> None:
    for screen in (RUNS, LIST, GRID, FINDINGS, METRIC):
        actions = {k.action for k in keys_for(screen)}
        assert {"help", "quit", "back", "pause", "command"} <= actions
    assert {"help", "quit", "back", "enter"} <= {k.action for k in keys_for(PICKER)}


def test_every_key_of_the_readme_is_one_that_the_program_shows() -> None:
    table = README.read_text(encoding="utf-8").partition("## Keys")[2].partition("\n## ")[0]
    claimed = re.findall(r"`([^`]+)`", " ".join(re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)))
    assert len(claimed) >= 6
    assert set(claimed) - {word for k in KEYS for word in k.shown.split()} == set()
