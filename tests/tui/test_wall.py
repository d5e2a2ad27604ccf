"""A fault in drawing, in a key or in a verdict leaves the app and all other runs as they are."""

from __future__ import annotations

from typing import Any

import pytest

from rltui.pages.run.metrics_pane import MetricsPane
from tests.fakes import grpo_batch
from tests.tui.hand import open_app

pytestmark = pytest.mark.faults


@pytest.fixture(autouse=True)
def _own_reports(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def broken(*_: Any, **__: Any) -> Any:
    raise ZeroDivisionError("a fault")


@pytest.mark.parametrize("what", ["side_lines", "tab_sections", "overview_entries"])
async def test_a_page_that_cannot_be_drawn_says_so(
    monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    async with open_app(grpo_batch(60), size=(160, 45)) as hand:
        await hand.press("3")
        with monkeypatch.context() as patch:
            patch.setattr(f"rltui.pages.run.metrics_pane.{what}", broken)
            await hand.press("1")
            seen = hand.text + hand.notices
            assert "ZeroDivisionError" in seen
            await hand.press("9")
            assert "Findings" in hand.text
        await hand.press("3")
        assert "entropy" in hand.text
        assert "ZeroDivisionError" not in hand.text


async def test_a_key_that_fails_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_app(grpo_batch(60)) as hand:
        monkeypatch.setattr(type(hand.run), "action_explain", broken)
        await hand.press("e")
        assert "this key failed: ZeroDivisionError: a fault" in hand.notices
        await hand.press("3")
        assert "entropy" in hand.text


async def test_the_fault_of_a_run_stands_in_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    from rltui.health.engine import Engine

    advance = Engine.advance

    def fails(self: Engine, run: Any, *rest: Any) -> Any:
        return broken() if run.key.name == "sick" else advance(self, run, *rest)

    monkeypatch.setattr(Engine, "advance", fails)
    sick, well = grpo_batch(60, run="sick"), grpo_batch(60, run="well", collapse=None)
    async with open_app(sick, well, size=(160, 45)) as hand:
        row = next(line for line in hand.lines if " sick " in line)
        assert "could not be judged: Zero" in row
        await hand.press("j")
        assert "could not be judged: ZeroDivisionError" in hand.text
        row = next(line for line in hand.lines if " well " in line)
        assert "✔" in row or "ok" in row


async def test_a_fault_that_repeats_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_app(grpo_batch(60)) as hand:
        monkeypatch.setattr(MetricsPane, "show", broken)
        hand.app.screen.on_news()  # type: ignore[attr-defined]
        await hand.settle()
        assert "ZeroDivisionError" in hand.notices
        hand.app.clear_notifications()
        hand.app.screen.on_news()  # type: ignore[attr-defined]
        await hand.settle()
        assert not hand.notices
