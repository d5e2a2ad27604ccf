"""Picking and watching by turns.

Windows of any size, and storms of resizing, on real pseudo terminals: no traceback.
"""

import os
import random
import weakref
from collections.abc import Awaitable, Callable
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot

from benchmarks import vanish
from rltui.pages.app import RltuiApp
from rltui.pages.picker.screen import PickerApp
from rltui.session import Session
from rltui.tui.widgets.lines import LineList
from tests import heap
from tests.commands.conftest import Cli
from tests.remote.ssh.far_host import FarHost, far_host
from tests.terminal import Terminal, environment

__all__ = ["far_host"]

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
    cli: Cli, sessions: list[weakref.ReferenceType[Session]], monkeypatch: pytest.MonkeyPatch
) -> None:
    alive: list[int] = []

    async def pick(pilot: Pilot[Any]) -> None:
        alive.append(sum(ref() is not None for ref in sessions))
        while not pilot.app.screen.query_one("#suggestions", LineList)._places:
            await pilot.pause(0.01)
        await pilot.press("q" if len(alive) > 2 else "enter")

    async def leave(pilot: Pilot[Any]) -> None:
        while len(pilot.app.screen_stack) < 2:  # the run opens once it was read
            await pilot.pause(0.01)
        await pilot.press("escape")

    monkeypatch.setattr(PickerApp, "run", by_hand(pick))
    monkeypatch.setattr(RltuiApp, "run", by_hand(leave))
    with heap.commands_change_it():
        result = cli("watch")
    assert result.code == 0
    assert (len(sessions), alive) == (2, [0, 0, 0])
    assert "exp" not in result.out, "the verdict is the last word of who leaves"


@pytest.fixture
def far(far_host: FarHost, sessions: list[weakref.ReferenceType[Session]], tmp_path: Path) -> Path:
    """A directory on another host with one run."""
    del far_host, sessions
    return tmp_path / "project"


def test_a_missing_path_on_another_host_ends_watch(
    cli: Cli, far: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def wait(pilot: Pilot[Any]) -> None:
        while pilot.app.is_running:
            await pilot.pause(0.01)

    monkeypatch.setattr(RltuiApp, "run", by_hand(wait))
    result = cli("watch", f"node7:{far}/none")
    assert result.code == 2
    assert result.err == f"rltui: node7:{far}/none: no such file or directory\n"
    assert "no runs were found" not in result.out


def test_the_app_is_there_before_the_other_host_answers(
    cli: Cli, far: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = tmp_path / "gate"
    there = os.environ["RLTUI_REMOTE_COMMAND"]
    script = tmp_path / "there"
    script.write_text(f'#!/bin/sh\nwhile [ ! -e {gate} ]; do sleep 0.02; done\nexec {there} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("RLTUI_REMOTE_COMMAND", str(script))
    seen: list[str] = []

    async def look(pilot: Pilot[Any]) -> None:
        app = pilot.app
        while not app.session.reach.searching:
            await pilot.pause(0.01)
        seen.append(str(app.session.reach.searching[0].logdir))
        assert app.session.reach.searching[0].connecting
        gate.touch()
        while not app.session.runs():
            await pilot.pause(0.01)
        seen.append(app.session.runs()[0].key.name)
        await pilot.press("q")

    monkeypatch.setattr(RltuiApp, "run", by_hand(look))
    assert cli("watch", f"node7:{far}").code == 0
    assert seen == [f"node7:{far}", "exp"]


_CTRL_C = b"\x03"
#: Escape as a terminal with the keyboard protocol of kitty sends it: no key can follow in it.
_ESC = b"\x1b[27u"
_SIZES = ((1, 1), (2, 3), (20, 5), (1, 60), (300, 1), (400, 120), (79, 23), (0, 0), (160, 45))
#: Keys that lead to each screen and each thing that lies over one, and those that lead back.
_PLACES = {
    "runs": b"",
    "help": b"?",
    "command": b":goto 1",
    "palette": b"\x10",
    "comparison": b"  C",
    "run": b"\r3",
    "filter": b"\r3/los",
    "grid": b"\r3v",
    "metric": b"\r3j\r",
    "explain": b"\r3je",
    "hyperparameters": b"\rH",
    "samples": b"\rT",
    "findings": b"\r9",
}


def starting(tmp_path: Path, size: tuple[int, int], *words: str) -> Terminal:
    logdir = vanish.prepare(tmp_path)
    environ = environment(tmp_path)
    arguments = ["-m", "rltui", *(w.format(logdir=logdir) for w in words)]
    terminal = Terminal(arguments, environ, size=size, directory=logdir)
    terminal.read_until(b"\x1b[?1049h")
    terminal.settle(0.5, 5.0)
    return terminal


def leave(terminal: Terminal) -> None:
    terminal.settle(0.2, 3.0)
    terminal.press(_CTRL_C)
    terminal.drain()
    assert terminal.wait() == 0, bytes(terminal.seen[-4000:])
    assert b"Traceback" not in terminal.seen


@pytest.mark.parametrize("size", [(1, 1), (0, 0)])
def test_a_start_at_an_odd_size(tmp_path: Path, size: tuple[int, int]) -> None:
    with starting(tmp_path, size, "watch", "{logdir}") as terminal:
        for keys in _PLACES.values():
            terminal.press(keys)
            terminal.settle(0.05, 1.0)
            terminal.press(_ESC)
            terminal.settle(0.03, 1.0)
        leave(terminal)


def test_a_storm_of_resizes_everywhere(tmp_path: Path) -> None:
    chance = random.Random(1)
    with starting(tmp_path, (160, 45), "watch", "{logdir}") as terminal:
        for keys in _PLACES.values():
            terminal.press(keys)
            terminal.settle(0.05, 1.0)
            for size in chance.sample(_SIZES, len(_SIZES)):
                terminal.resize(*size)
                terminal.press(chance.choice((b"j", b"k", b"G", b"g")))
                terminal.read(quiet_s=chance.choice((0.0, 0.0, 0.02)))
            for _ in range(3):
                terminal.press(_ESC)
                terminal.settle(0.03, 1.0)
        leave(terminal)
