"""Picking and watching by turns."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Awaitable, Callable
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot

from rltui.session import Session
from rltui.tui.app import RltuiApp
from rltui.tui.picker_app import PickerApp
from rltui.tui.widgets.line_list import LineList
from tests.commands.conftest import Cli

_RUN = App.run


@pytest.fixture
def sessions(here: Path, monkeypatch: pytest.MonkeyPatch) -> list[weakref.ReferenceType[Session]]:
    """Every session that a command opens; there seems to be a terminal."""
    seen: list[weakref.ReferenceType[Session]] = []
    scan = Session.scan

    def watched(session: Session) -> None:
        seen.append(weakref.ref(session))
        scan(session)

    monkeypatch.setattr(Session, "scan", watched)
    for module in ("watch", "terminal"):
        monkeypatch.setattr(f"rltui.commands.{module}.has_terminal", lambda: True)
    monkeypatch.chdir(here)
    monkeypatch.setenv("HOME", str(here.parent))
    return seen


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A directory with one run."""
    log = tmp_path / "project" / "exp.jsonl"
    log.parent.mkdir()
    log.write_text("".join(f'{{"step": {s}, "loss": {1 / (s + 1)}}}\n' for s in range(20)))
    return log.parent


def by_hand(hand: Callable[[Pilot[Any]], Awaitable[None]]) -> Any:
    """``App.run`` with keys instead of a terminal."""
    return partialmethod(lambda app, **_: _RUN(app, headless=True, auto_pilot=hand))


def test_the_session_that_was_left_is_gone_before_the_next_choice(
    cli: Cli,
    sessions: list[weakref.ReferenceType[Session]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alive: list[int] = []

    async def pick(pilot: Pilot[Any]) -> None:
        alive.append(sum(ref() is not None for ref in sessions))
        while not pilot.app.screen.query_one("#suggestions", LineList).ids:
            await pilot.pause(0.01)
        await pilot.press("q" if len(alive) > 2 else "enter")

    async def leave(pilot: Pilot[Any]) -> None:
        while len(pilot.app.screen_stack) < 2:  # the run opens once it was read
            await pilot.pause(0.01)
        await pilot.press("escape")

    monkeypatch.setattr(PickerApp, "run", by_hand(pick))
    monkeypatch.setattr(RltuiApp, "run", by_hand(leave))
    try:
        result = cli("watch")
    finally:
        gc.unfreeze()
    assert result.code == 0
    assert (len(sessions), alive) == (2, [0, 0, 0])
    assert "exp" not in result.out, "the verdict is the last word of who leaves"
