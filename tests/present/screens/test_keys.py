"""The table of keys: every action works, no two fight for a key, the README is true."""

from __future__ import annotations

import inspect
import re
from collections import Counter

import pytest

from rltui.present.screens.keys import (
    EVERYWHERE,
    FINDINGS,
    KEYS,
    LIST,
    METRIC,
    PICKER,
    RUNS,
    keys_for,
)
from rltui.tui.app import RltuiApp
from rltui.tui.navigation import Navigator
from rltui.tui.picker import PickerApp
from tests.places import ROOT

README = ROOT / "README.md"
#: What the app does itself: the terminal is its business.
APP = {"tab", "focus", "quit", "copy", "suspend", "palette"}


@pytest.mark.parametrize("key", KEYS, ids=lambda k: k.action)
def test_every_action_is_carried_out(key: object) -> None:
    action, where = key.action, key.where  # type: ignore[attr-defined]
    told = inspect.getsource(RltuiApp._act)
    if PICKER in where:
        assert f'"{action}"' in inspect.getsource(PickerApp._act)
    if where == (PICKER,):
        return
    if action in APP:
        assert f'"{action}"' in told
    else:
        assert callable(getattr(Navigator, f"do_{action}", None))


def test_actions_have_one_row_each_and_no_key_twice() -> None:
    assert [a for a, n in Counter(k.action for k in KEYS).items() if n > 1] == []
    for screen in (*EVERYWHERE, PICKER):
        names = Counter(name for k in keys_for(screen) for name in k.keys)
        assert [n for n, count in names.items() if count > 1] == [], screen


def test_no_key_is_one_that_terminals_lose() -> None:
    lost = {n for k in KEYS for n in k.keys if n.startswith("alt+") or n == "ctrl+slash"}
    assert lost == set()


def test_every_screen_can_be_left_and_has_help() -> None:
    for screen in (RUNS, LIST, FINDINGS, METRIC):
        actions = {k.action for k in keys_for(screen)}
        assert {"help", "quit", "back", "pause", "command"} <= actions
    assert {"help", "quit", "back", "enter"} <= {k.action for k in keys_for(PICKER)}


#: How the README writes keys, and the names of the toolkit.
SPELT = {
    "?": "question_mark",
    "!": "exclamation_mark",
    "/": "slash",
    ":": "colon",
    "[": "left_square_bracket",
    "]": "right_square_bracket",
    "+": "plus",
    "-": "minus",
    "=": "equals_sign",
    "←": "left",
    "→": "right",
    "Enter": "enter",
    "Esc": "escape",
    "Tab": "tab",
}


def readme_keys() -> set[str]:
    table = README.read_text(encoding="utf-8").partition("## Keys")[2].partition("\n## ")[0]
    found: set[str] = set()
    for row in re.findall(r"^\| (.*?) \| .* \|$", table, re.MULTILINE):
        for word in re.findall(r"`([^`]+)`", row):
            if word == "hjkl":
                found |= set(word)
            elif word.startswith("Ctrl+"):
                found.add("ctrl+" + word[5:].lower())
            else:
                found.add(SPELT.get(word, word))
        if "arrows" in row:
            found |= {"up", "down", "left", "right"}
        if "…" in row:
            found |= set("123456789")
    return found


def test_every_key_of_the_readme_exists() -> None:
    names = {n for k in KEYS for n in k.keys}
    claimed = readme_keys()
    assert len(claimed) > 30
    assert claimed - names == set()


def test_every_key_is_in_the_readme_or_only_a_synonym() -> None:
    claimed = readme_keys()
    silent = {k.action for k in KEYS if not claimed & set(k.keys)}
    assert silent <= {"suspend"}
