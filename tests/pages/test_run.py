"""A run on the screen: tabs, rows, findings, filter, overlays, commands."""

import re
from pathlib import Path
from typing import Any

import pytest
from textual import events

from rltui.pages.app import RltuiApp
from rltui.pages.findings.findings_pane import SkippedId
from rltui.pages.findings.lines import HeadId
from rltui.pages.log import LogScreen
from rltui.pages.run.chart_screen import TabBar
from rltui.tui.overlay import ExplainScreen, HelpScreen
from tests.builders import a_batch, a_block, steps
from tests.fakes import FakeReader, a_session, blown_up_tags, grpo_batch, grpo_clock
from tests.tui.driving import driving
from tests.tui.hand import Hand, a_look, open_app


@pytest.fixture
def rich() -> tuple[Any, ...]:
    return (grpo_batch(60, total=200),)


# -- tabs ----------------------------------------------------------------------------------


async def test_digits_and_brackets_select_tabs(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        seen = []
        for key in "345678901":
            await hand.press(key)
            seen.append(hand.run.tab)
        assert seen == [
            "actor", "critic", "length", "timing", "perf", "balance", "findings", "all", "overview",
        ]  # fmt: skip
        await hand.press("right_square_bracket")
        assert hand.run.tab == "actor"
        await hand.press("left", "h")
        assert hand.run.tab == "all"


async def test_a_tab_that_is_empty_so_early_comes_back_with_its_metrics(rich: Any) -> None:
    late = a_block({"val-core/acc": [0.1, 0.2]}, first=50)
    async with open_app(*rich, a_batch(late, run="grpo")) as hand:
        await hand.press("2", "enter", "colon", *"goto 10", "enter", "right_square_bracket")
        assert hand.run.tab == "actor", "the tab after Overview"
        await hand.press("2")
        assert "no validation metrics" in hand.notices
        await hand.press("colon", *"now", "enter", "2", "colon", *"goto 10", "enter")
        assert hand.run.tab == "overview"
        await hand.press("colon", *"now", "enter")
        assert hand.run.tab == "validation"


async def test_every_tag_is_on_screen_under_all(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        await hand.press("0")
        run = hand.run.run
        assert set(hand.ids) == set(run.infos)
        await hand.press("1", "colon", *"tab other", "enter", "G")
        assert "own metric" in hand.text


# -- the stages of a step ------------------------------------------------------------------


async def test_timing_shows_the_stages_and_v_their_shares(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich, size=(120, 36)) as hand:
        await hand.press("6")
        assert "One step" in hand.text
        assert "seconds, stacked" in hand.text
        assert hand.run.place == "timing"
        await hand.press("v")
        assert "% of the step, stacked" in hand.text
        await hand.press("v", "slash", *"actor", "enter")
        assert "seconds, stacked" in hand.text
        assert hand.run.tag == "timing_s/update_actor"
        await hand.press("enter")
        assert "timing_s/update_actor" in hand.text
        await hand.press("escape", "escape", "7")
        assert hand.run.place == "list"
        assert "One step" not in hand.text


# -- rows ----------------------------------------------------------------------------------


@pytest.mark.parametrize("chosen", [0, 3], ids=["untouched", "moved"])
async def test_the_cursor_stays_while_a_run_breaks(chosen: int) -> None:
    async with open_app(grpo_batch(30, collapse=None), size=(80, 24)) as hand:
        await hand.press(*["down"] * chosen)
        row = hand.cursor
        assert hand.ids.index(row) == chosen
        for first in range(31, 71, 5):
            await hand.feed(grpo_batch(5, first=first, collapse=40))
            assert hand.cursor == row
        assert "✖ 1 bad" in hand.lines[0]


async def test_moving_in_a_list(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        await hand.press("0", "g")
        ids = hand.ids
        for keys, place in (
            (("j", "down", "j"), 3), (("k", "up"), 1), (("k", "k", "k"), 0),
            (("G",), len(ids) - 1), (("j", "ctrl+d"), len(ids) - 1),
            (("ctrl+u",), len(ids) - 19), (("home", "pagedown"), 18),
            (("end", "pageup"), len(ids) - 19),
        ):  # fmt: skip
            await hand.press(*keys)
            assert ids.index(hand.cursor) == place, keys


async def test_no_verdict_before_the_run_is_read_to_its_end() -> None:
    async with open_app(grpo_batch(60, more=True)) as hand:
        for key in "193":
            await hand.press(key)
            assert "reading" in hand.lines[0]
            assert "entropy collapse" not in hand.text
            assert "✖" not in hand.text


# -- findings ------------------------------------------------------------------------------


async def test_next_finding_and_into_its_chart(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        await hand.press("exclamation_mark")
        assert hand.run.tab == "findings"
        assert "entropy_collapse" in hand.text
        await hand.press("enter")
        assert hand.metric.tag == "actor/entropy"
        assert hand.metric.zoom.crosshair is not None
        await hand.press("escape")
        assert hand.run.tab == "findings"


# -- filter --------------------------------------------------------------------------------


async def test_the_filter_is_live_and_negates(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        await hand.press("0", "slash", "k", "l")
        ids = hand.ids
        assert ids
        assert all("kl" in t for t in ids)
        assert f"All {len(ids)} of 31" in hand.footer
        await hand.press("space", "exclamation_mark", *"loss")
        assert hand.ids == ["actor/ppo_kl"]
        await hand.press("ctrl+w", "enter", "j")
        assert "hidden by the filter" in hand.text
        await hand.press("escape")
        assert len(hand.ids) > 20


async def test_the_filter_is_edited_like_a_line(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        status = hand.run.status
        await hand.press("slash", *"ntropy", "home", "e", "end", "x", "left", "delete")
        assert status.filter == "entropy"
        await hand.press("space", *"other", "ctrl+w")
        assert status.filter == "entropy "
        await hand.press("ctrl+u", *"q3r")
        assert (status.filter, hand.run.tab) == ("q3r", "overview")
        assert "no row matches the filter" in hand.text
        await hand.press("escape")
        assert (status.filter, status.editing) == ("", "")


# -- overlays ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "kind"),
    [("question_mark", HelpScreen), ("e", ExplainScreen), ("t", LogScreen)],
    ids=["help", "explain", "log"],
)
async def test_an_overlay_opens_dims_and_closes(
    key: str, kind: type, rich: tuple[Any, ...]
) -> None:
    async with open_app(*rich, size=(120, 45)) as hand:
        before = hand.lines
        for close in ("q", "escape", key):
            await hand.press(key)
            assert isinstance(hand.app.screen, kind)
            assert hand.lines[0] == before[0], "the header stays"
            assert kind is HelpScreen or hand.lines[1] == before[1], "so does what lies below"
            await hand.press("j", "G", "k", "ctrl+u", close)
            assert hand.lines == before, close


async def test_every_rule_that_could_not_judge_can_be_reached_and_read() -> None:
    async with open_app(a_batch({"train/loss": [1.0] * 30}), size=(80, 24)) as hand:
        report = hand.run.run.report
        assert len(report.skipped) > 15
        await hand.press("9", "end")
        last = report.skipped[-1]
        assert hand.cursor == SkippedId(last.rule)
        assert last.title in hand.text
        assert f"{last.rule}\n not judged: " in re.sub(" *\n", "\n", hand.text)
        await hand.press("enter", "e", "y")
        assert hand.run.tab == "findings"


async def test_a_notice_covers_the_footer_alone_until_the_next_one(rich: tuple[Any, ...]) -> None:
    reader = FakeReader()
    app = RltuiApp(a_session(*rich, reader=reader, clock=grpo_clock()), a_look())
    async with driving(app, size=(80, 24), notifications=True) as pilot:
        hand = Hand(app, pilot, reader)
        await hand.settle()
        before = hand.lines
        await hand.press("colon", *"tab nope", "enter", "colon", *"goto x", "enter")
        assert hand.lines[:-1] == before[:-1]
        assert "not a step: 'x'" in hand.footer
        assert "nope" not in hand.notices
        hand.app.say("a long word " * 20)
        await hand.settle()
        assert hand.lines[:-1] == before[:-1]
        assert "a long word" in hand.footer
        hand.app.say("short")
        await hand.settle()
        assert hand.footer.strip("▌ ") == "short"


# -- commands, copy ------------------------------------------------------------------------


async def test_commands(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        await hand.press("colon", *"tab timing", "enter")
        assert hand.run.tab == "timing"
        await hand.press("colon", *"ta crit", "enter")
        assert hand.run.tab == "critic"
        await hand.press("colon", *"tab actro", "enter")
        assert "no tab 'actro'; did you mean actor?" in hand.notices
        await hand.press("colon", "t", "enter")
        assert "unknown command 't'; did you mean theme or tab?" in hand.notices
        assert hand.run.tab == "critic"
        await hand.press("colon", *"nonsense", "enter")
        assert "unknown command 'nonsense'" in hand.notices
        await hand.press("colon", *"tab nope", "enter")
        assert "no tab 'nope'" in hand.notices
        await hand.press("colon", *"at x", "enter")
        assert "not a step: 'x'" in hand.notices
        await hand.press("3", "g", "colon", *"at 17", "enter")
        assert hand.metric.zoom.crosshair == 17
        await hand.press("colon", *"at 99999999999999999999", "enter")
        assert hand.metric.zoom.crosshair == 60
        await hand.press("colon", *"at 99", "enter")
        assert hand.metric.zoom.crosshair == 60
        assert "nearest logged step: 60" in hand.notices
        await hand.press("colon", "escape", "colon", *"tab perf", "enter")
        assert hand.run.tab == "perf"
        await hand.press("colon", "q", "enter")
    assert hand.app.return_code == 0


async def test_copy_takes_the_row(
    rich: tuple[Any, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    async with open_app(*rich) as hand:
        await hand.press("3", "g", "y")
        assert hand.app.clipboard.startswith("grpo\tactor/")
        assert ": grpo  actor/" in hand.notices
        kept = tmp_path / "rltui" / "copied.txt"
        assert str(kept) in hand.notices
        assert kept.read_text() == hand.app.clipboard + "\n"
        await hand.press("9", "y")
        assert "entropy_collapse" in hand.app.clipboard


# -- mouse ---------------------------------------------------------------------------------


async def test_clicks_on_tabs_and_rows_and_the_wheel(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich, size=(80, 24)) as hand:
        bar = hand.run.query_one(TabBar)
        spot = next(s for s in bar.spots if s.id == "timing")
        await hand.pilot.click(bar, offset=(spot.start + 1, 0))
        await hand.settle()
        assert hand.run.tab == "timing"
        items = hand.run.items
        await hand.pilot.click(items, offset=(5, 1))
        await hand.settle()
        assert hand.cursor == hand.ids[1]
        chosen = hand.cursor
        await hand.pilot.click(items, offset=(5, 1))
        await hand.settle()
        assert hand.metric.tag == chosen
        await hand.press("0")
        items = hand.run.items
        items.post_message(
            events.MouseScrollDown(items, 5, 3, 0, 1, 0, shift=False, meta=False, ctrl=False)
        )
        await hand.settle()
        assert items.scroll_offset.y > 0


@pytest.mark.parametrize("tab", ["1", "3", "9"])
async def test_help_cuts_nothing_and_says_how_much_there_is(
    tab: str, rich: tuple[Any, ...]
) -> None:
    async with open_app(*rich, size=(80, 24)) as hand:
        await hand.press(tab, "question_mark")
        seen = hand.lines[1:-2]
        assert "1–" in hand.footer or "not judged" in hand.text
        await hand.press("G")
        box = [x[2:78] for x in (*seen, *hand.lines[1:-2])]
        assert not [x for x in box if "…" in x.replace("1 … 9", "")]


async def test_the_palette_has_tabs_a_step_and_what_the_keys_do(rich: tuple[Any, ...]) -> None:
    async with open_app(*rich) as hand:
        for keys in ([], ["enter"]):
            await hand.press(*keys)
            screen = hand.app.screen
            names = {c.title: c.call for c in screen.palette()}
            assert {"Tab Timing", "Replay at a step", "Explain the selection", "Quit"} <= set(names)
            assert "Row up" not in names
        await names["Crosshair to a step"]()  # type: ignore[misc]
        await hand.press(*"12", "enter")
        assert hand.metric.zoom.crosshair == 12
        await hand.press("ctrl+p")
        assert not [c for c in hand.text if ord(c) > 0xFFFF], "no emoji"


async def test_the_cause_opens_and_is_explained() -> None:
    tags = blown_up_tags([1e-6] * 39 + [1e-4] * 21)
    async with open_app(a_batch(steps(1, tags))) as hand:
        await hand.press("9")
        assert hand.cursor == HeadId("actor/lr")
        await hand.press("e")
        assert isinstance(hand.app.screen, ExplainScreen)
        assert "learning rate" in hand.text
        await hand.press("escape", "enter")
        assert "actor/lr" in hand.text
