"""What the first paint must not pay for."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from rltui.commands.watch import reading

#: The work of a start up to the first paint, and then what it took to get there.
_FIRST_PAINT = """
import sys
import numpy
of_numpy = set(sys.modules)  # NumPy 1 imports numpy.ma by itself
from pathlib import Path
import asyncio
from rltui.present.kit.theme import load_theme
from rltui.present.screens.view import View
from rltui.session import Session
from rltui.tui.app import RltuiApp
from rltui.tui.shell import Look

session = Session([Path(sys.argv[1])])
session.scan()
for batch in session._reader.read_all():
    session._apply(batch)
session._judging.judge(verdicts=False)
session.start = session.stop = lambda: None  # no thread: what it imports comes later
app = RltuiApp(session, Look(View(), load_theme("dark")))

async def show():
    async with app.run_test(size=(160, 45)) as pilot:
        app.pump._unpainted = True
        app.pump._session.drain = lambda **_: type(session).drain(session, verdicts=False)
        app.pump.pull()
        await pilot.pause()
        await pilot.pause()
        shown = app.screen.query_one("#rows")
        assert any("loss" in text for text, _ in shown.line_of(1)), shown.line_of(1)
        print(*(name for name in sys.argv[2:] if name in sys.modules.keys() - of_numpy))

asyncio.run(show())
"""
_LATER = (
    "watchdog", "plotext", "tensorboard", "numpy.ma", "rltui.health.engine",
    "rltui.health.rules", "rltui.present.screens.help",
    "rltui.present.screens.metric", "rltui.formats.console.console_decoder",
    "rltui.formats.table.table_decoder", "rltui.formats.wandb.wandb_decoder",
)  # fmt: skip


def test_what_can_wait_is_not_imported_before_the_first_paint(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "run.jsonl"
    log.parent.mkdir()
    log.write_text("".join(f'{{"step": {s}, "loss": {1 / (s + 1)}}}\n' for s in range(20)))
    command = [sys.executable, "-c", _FIRST_PAINT, str(log.parent), *_LATER]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def test_until_the_first_paint_a_line_says_what_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "__stdout__", terminal)
    with reading("/runs/\x1b[31m"):
        assert terminal.getvalue().startswith("reading /runs/")
        assert "\x1b" not in terminal.getvalue()
    line, blank, _ = terminal.getvalue().split("\r")
    assert blank == " " * len(line), "nothing of it stays"
