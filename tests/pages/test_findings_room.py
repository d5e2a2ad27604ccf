"""Findings in a small terminal: no line is left blank while rows of the list are hidden."""

from dataclasses import replace

from rltui.core.batch import LogTail
from rltui.draw.line import line_width
from tests.builders import a_batch, a_source, steps
from tests.fakes import blown_up_tags, grpo_clock, grpo_tags
from tests.tui.hand import open_app

_TAIL = LogTail(("Traceback (most recent call last):", "OSError: No space left on device"), 2)


async def test_the_list_has_the_lines_that_the_item_at_the_cursor_leaves() -> None:
    tags = grpo_tags(60, 1, None)
    batch = a_batch(steps(1, tags), source=a_source("stdout.log", format="console"))
    batch = replace(batch, tail=_TAIL)
    async with open_app(batch, size=(80, 24), clock=grpo_clock()) as hand:
        await hand.press("enter", "9")
        report = hand.run.run.report
        rows = [s.title for s in report.skipped if f" {s.title[:20]}" in hand.text]
        assert len(rows) >= min(3, len(report.skipped))
        assert "listed on Findings" not in hand.text
        before = hand.lines
        await hand.press("down")
        assert any(x.startswith("▌") for x in hand.lines), "the cursor stays in view"
        await hand.press("up")
        assert hand.lines == before


async def test_a_popup_says_each_word_once() -> None:
    tags = blown_up_tags()
    async with open_app(a_batch(steps(1, tags)), size=(80, 24), clock=grpo_clock()) as hand:
        await hand.press("enter", "9", "e")
        popup = hand.app.screen
        lines = [*popup.head(popup.room), *popup.text(popup.room)]
        for line in lines[:4]:
            assert "".join(text for text, _ in line).rstrip() in "\n".join(hand.lines)
        assert all(line_width(line) <= popup.room for line in popup.head(popup.room))
