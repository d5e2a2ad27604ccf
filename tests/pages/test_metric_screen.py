"""The metric screen: crosshair, zoom, options of the chart."""

from __future__ import annotations

from tests.builders import a_batch, a_block
from tests.fakes import grpo_batch
from tests.tui.hand import open_app


async def test_the_crosshair_and_the_zoom() -> None:
    async with open_app(grpo_batch(60, total=200)) as hand:
        await hand.press("3", "g", "enter", "h")
        assert hand.metric.zoom.crosshair == 60
        await hand.press("left", "left", "l")
        assert hand.metric.zoom.crosshair == 59
        await hand.press("g")
        assert hand.metric.zoom.crosshair == 1
        await hand.press("G", "plus", "plus")
        window = hand.metric.zoom.window
        assert window is not None
        assert window[1] - window[0] <= 30
        await hand.press("minus")
        assert hand.metric.zoom.window is not None
        await hand.press("equals_sign")
        assert hand.metric.zoom.window is None
        assert "step 60" in hand.text


NEAREST = {"0": 2, "2": 2, "4": 2, "5": 6, "7": 6, "1,000": 9, "9" * 30: 9, "-3": 2}


async def test_at_goes_to_the_nearest_logged_step() -> None:
    logged = a_block({"loss": [1.0, 2.0, 3.0, 4.0]}, steps=[2, 6, 6, 9])
    async with open_app(a_batch(logged)) as hand:
        await hand.press("0", "enter")
        for wanted, nearest in NEAREST.items():
            hand.app.clear_notifications()
            await hand.press("colon", *f"at {wanted}", "enter")
            assert hand.metric.zoom.crosshair == nearest
            exact = wanted == str(nearest)
            assert hand.notices == ("" if exact else f"nearest logged step: {nearest}")


async def test_a_key_of_another_screen_leaves() -> None:
    async with open_app(grpo_batch(60), grpo_batch(9, run="b")) as hand:
        await hand.press("enter", "3", "enter", "6")
        assert hand.run.tab == "timing"
        await hand.press("enter", "exclamation_mark")
        assert hand.run.tab == "findings"
        await hand.press("enter", "right_square_bracket")
        assert hand.run.tab == "all"
        await hand.press("enter", "r")
        assert hand.runs.is_current
