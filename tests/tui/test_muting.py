"""M on a finding."""

from __future__ import annotations

from rltui.core.level import Level
from rltui.pages.findings.findings_pane import row_of
from tests.fakes import grpo_batch
from tests.tui.hand import open_app


async def test_m_mutes_the_finding_at_the_cursor_and_takes_it_back() -> None:
    async with open_app(grpo_batch(60)) as hand:
        before = hand.lines[0]
        await hand.press("exclamation_mark")
        row = row_of(hand.run.run, hand.cursor)
        assert row is not None
        title = row.finding.title
        await hand.press("M")
        assert f"{title}: muted in all runs here" in hand.notices
        assert "muted 1" in hand.lines[0]
        assert "Muted" in hand.text
        report = hand.run.run.report
        assert report is not None
        assert title not in {f.title for f in report.findings}
        hand.run.findings.findings.put(hand.ids[[str(i) for i in hand.ids].index(
            next(str(i) for i in hand.ids if title in str(i)))])  # fmt: skip
        await hand.settle()
        await hand.press("M")
        assert hand.lines[0] == before


async def test_all_muted_is_a_quiet_run() -> None:
    async with open_app(grpo_batch(60)) as hand:
        for _ in range(20):
            await hand.press("exclamation_mark")
            if "no findings" in hand.notices:
                break
            await hand.press("M")
        assert hand.run.run.verdict.level is Level.OK
        assert "ok" in hand.lines[0]
