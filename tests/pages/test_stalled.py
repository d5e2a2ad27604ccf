"""A run that stops writing while it is watched: every place of the screen says so."""

from __future__ import annotations

import pytest

from tests.fakes import grpo_batch
from tests.tui.hand import open_app


@pytest.mark.parametrize("size", [(80, 24), (160, 45)])
async def test_a_stall_is_shown_everywhere(size: tuple[int, int]) -> None:
    async with open_app(grpo_batch(60, collapse=None), size=size) as hand:
        hand.app.session.start()
        assert "✔ ok" in hand.lines[0]
        hand.clock.advance(3600)
        hand.app.pump.age()
        await hand.settle()
        assert "stalled" in hand.lines[0]
        assert "1 watch" in hand.lines[0]
        assert "✔ ok" not in hand.lines[0]
        await hand.press("9")
        assert "▲ stalled" in hand.text
        assert "nothing written for 1 h" in hand.text
        await hand.press("e")
        assert "next step Look at the end of the log" in hand.text
        await hand.press("escape", "escape", "r")
        assert "○ stalled" in hand.text
