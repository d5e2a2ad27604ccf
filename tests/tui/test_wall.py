"""A fault in drawing, in a key or in a verdict leaves the app and all other runs as they are."""

from typing import Any

import pytest
from rich.traceback import Traceback

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


@pytest.mark.parametrize(
    "handler", ["on_key", "on_click", "on_status_entered", "on_line_list_scrolled", "on_resize"]
)
async def test_a_handler_that_fails_costs_its_message(
    monkeypatch: pytest.MonkeyPatch, handler: str
) -> None:
    async with open_app(grpo_batch(60), size=(120, 36)) as hand:
        screen = hand.run
        await hand.press("3")
        with monkeypatch.context() as patch:
            patch.setattr(type(screen), handler, broken, raising=False)
            await hand.press("f9", "end")
            await hand.pilot.click(offset=(5, 5))
            await hand.press("colon", "x", "enter")
            await hand.resize(100, 30)
        hand.app.clear_notifications()
        await hand.press("9")
        assert "Findings" in hand.text


async def test_a_timer_a_callback_and_a_worker_that_fail_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with open_app(grpo_batch(60)) as hand:
        app = hand.app

        async def fails() -> None:
            broken()

        for begin in (
            lambda: app.call_later(broken),
            lambda: app.screen.call_after_refresh(broken),
            lambda: app.set_timer(0.001, broken),
            lambda: app.run_worker(fails()),
        ):
            app._faults.clear()
            app.clear_notifications()
            begin()
            for _ in range(100):
                await hand.pilot.pause(0.001)
                if app._notifications:
                    break
            assert "a fault" in hand.notices
        await hand.press("3")
        assert "entropy" in hand.text
        assert app.return_code is None


async def test_a_handler_without_memory_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_app(grpo_batch(60)) as hand:

        def full(*_: object) -> None:
            raise MemoryError

        monkeypatch.setattr(type(hand.run), "action_explain", full)
        await hand.press("e")
        assert "MemoryError" in hand.notices
        await hand.press("3")
        assert "entropy" in hand.text


async def test_a_screen_that_cannot_be_composed_can_be_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with open_app(grpo_batch(60)) as hand:
        monkeypatch.setattr("rltui.tui.overlay.HelpScreen.compose", broken)
        await hand.press("question_mark")
        assert "ZeroDivisionError" in hand.notices
        await hand.press("escape")
        await hand.press("3")
        assert "entropy" in hand.text


async def test_an_app_that_cannot_start_ends_with_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("rltui.pages.app.RltuiApp.get_default_screen", broken)
    with pytest.raises(ZeroDivisionError):
        async with open_app(grpo_batch(60)):
            pass
    shown = "".join(capsys.readouterr())
    assert "internal error: ZeroDivisionError: a fault" in shown.replace("\n", " ")
    assert "Traceback" not in shown
    assert "locals" not in shown


async def test_a_terminal_that_cannot_be_read_ends_with_a_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Textual's thread hands its traceback over."""
    async with open_app(grpo_batch(60)) as hand:
        hand.app.panic(Traceback(Traceback.extract(ValueError, ValueError("x"), None)))
    assert hand.app.return_code == 1
    shown = "".join(capsys.readouterr())
    assert "the terminal can no longer be read" in shown
    assert "ValueError" not in shown
