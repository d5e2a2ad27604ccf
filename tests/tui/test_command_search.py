"""The search for commands."""

from __future__ import annotations

from textual.command import CommandList

from rltui.tui.command_history import CommandSearch
from tests.fakes import grpo_batch
from tests.tui.hand import open_app


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
