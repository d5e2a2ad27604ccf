"""The command line: history, completion and search."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.command import CommandList

from rltui.tui.command_history import CommandHistory, CommandSearch, Completion
from rltui.tui.widgets.status import Prompt
from tests.fakes import grpo_batch
from tests.tui.hand import Hand, open_app

NAMES = ["at ", "goto ", "now", "tab ", "theme ", "tab actor", "tab actions", "tab all"]


class TestCompletion:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("g", ["goto ", "goto "]),
            ("G", ["goto "]),
            ("t", ["tab ", "theme ", "tab "]),
            ("ta", ["tab ", "tab a", "tab actor", "tab actions", "tab all", "tab actor"]),
            ("th", ["theme "]),
            ("tab act", ["tab actor", "tab actions", "tab actor"]),
            ("tab al", ["tab all", "tab all"]),
            ("nothing", ["nothing", "nothing"]),
        ],
        ids=["g", "G", "t", "ta", "th", "tab act", "tab al", "nothing"],
    )
    def test_tab_by_tab(self, text: str, expected: list[str]) -> None:
        completion = Completion()
        for wanted in expected:
            text = completion.complete(text, NAMES)
            assert text == wanted


class TestHistory:
    def test_up_and_down_and_back_to_what_was_typed(self) -> None:
        history = CommandHistory()
        for text in ("one", "two", "", "  "):
            history.add(text)
        history.begin()
        assert history.move(-1, "typed") == "two"
        assert history.move(-1, "two") == "one"
        assert history.move(-1, "one") is None
        assert history.move(1, "one") == "two"
        assert history.move(1, "two") == "typed"
        assert history.move(1, "typed") is None

    def test_it_outlives_the_app_without_doubles(self, tmp_path: Path) -> None:
        environ = {"XDG_STATE_HOME": str(tmp_path)}
        for text in ("goto 1", "tab actor", "goto 1", "x\x1b[31m"):
            CommandHistory.of_user(environ).add(text)
        found = CommandHistory.of_user(environ).entries
        assert found[:2] == ["tab actor", "goto 1"]
        assert "\x1b" not in "".join(found)

    def test_it_does_not_grow_without_end(self, tmp_path: Path) -> None:
        history = CommandHistory(tmp_path / "history")
        for i in range(500):
            history.add(f"goto {i}")
        assert len(CommandHistory(tmp_path / "history").entries) == 200

    @pytest.mark.parametrize("content", [b"\xff\xfe\n\x00a\n", b"", b"x" * 300_000])
    def test_a_broken_file_is_no_trouble(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "history").write_bytes(content)
        assert all(x.isprintable() for x in CommandHistory(tmp_path / "history").entries)


def typed(hand: Hand) -> str:
    return hand.app.screen.query_one(Prompt).value


async def test_on_the_screen() -> None:
    async with open_app(grpo_batch(60)) as hand:
        await hand.press("colon", *"ta", "tab")
        assert typed(hand) == "tab "
        await hand.press(*"ti", "tab")
        assert typed(hand) == "tab timing"
        await hand.press("enter")
        assert hand.run.tab == "timing"
        await hand.press("colon", *"goto 20", "enter", "colon", "up", "up")
        assert typed(hand) == "tab timing"
        await hand.press("down", "down")
        assert typed(hand) == ""
        await hand.press(*"tab t")
        assert "tab timing" in hand.footer
        await hand.press("escape", "colon", *"theme li", "tab", "enter")
        assert hand.app.theme == "light"


async def test_a_filter_leaves_tab_up_and_down_alone() -> None:
    async with open_app(grpo_batch(60)) as hand:
        await hand.press("3")
        first = hand.cursor
        await hand.press("slash", "down")
        assert hand.cursor != first


async def test_offers_that_do_not_fit_end_in_an_ellipsis() -> None:
    async with open_app(grpo_batch(20), size=(60, 24)) as hand:
        await hand.press("colon", *"theme ")
        assert hand.footer.rstrip().endswith("…")


async def test_a_search_that_ends_after_it_was_closed_does_no_harm() -> None:
    async with open_app(grpo_batch(20)) as hand:
        hand.app.action_command_palette()
        await hand.settle()
        search = hand.app.screen
        assert isinstance(search, CommandSearch)
        found = search.query_one(CommandList)
        found.display = True
        search._list_visible = True
        await found.remove()
        search._refresh_command_list(found, [], True)
        await hand.press("escape")
        assert not CommandSearch.is_open(hand.app)
