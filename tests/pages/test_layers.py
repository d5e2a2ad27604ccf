"""q closes the top layer; keys of a run in the list of runs; a mute taken back."""

from rltui.pages.run.screen import RunScreen
from rltui.pages.runs.screen import RunsScreen
from tests.fakes import grpo_batch
from tests.tui.hand import open_app


async def test_q_closes_one_screen_after_the_other_and_then_quits() -> None:
    async with open_app(grpo_batch(60), grpo_batch(60, run="calm")) as hand:
        await hand.press("enter", "3", "enter", "left")
        assert "q close" in hand.footer
        await hand.press("q")
        assert isinstance(hand.app.screen, RunScreen)
        await hand.press("q")
        assert isinstance(hand.app.screen, RunsScreen)
        assert "q quit" in hand.footer
        await hand.press("q")
    assert hand.app.return_code == 0


async def test_q_quits_from_a_run_that_is_alone() -> None:
    async with open_app(grpo_batch(60)) as hand:
        await hand.press("q")
    assert hand.app.return_code == 0


async def test_a_key_of_a_run_opens_the_one_at_the_cursor() -> None:
    async with open_app(grpo_batch(60), grpo_batch(60, run="calm", collapse=None)) as hand:
        name = hand.runs.items.cursor.name
        await hand.press("9")
        assert (hand.run.tab, hand.run.run.key.name) == ("findings", name)


async def test_u_takes_the_newest_mute_back() -> None:
    async with open_app(grpo_batch(60)) as hand:
        await hand.press("9", "M")
        assert len(hand.app.session.run_list.mutes.names) == 1
        await hand.press("1", "u")
        assert not hand.app.session.run_list.mutes.names
