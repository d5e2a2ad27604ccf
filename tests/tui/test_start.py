"""What the first paint must not pay for."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import rltui
from rltui.commands.watch import reading
from rltui.tui import later

#: The work of a start up to the first paint, and then what it took to get there.
_FIRST_PAINT = """
import sys
import numpy
of_numpy = set(sys.modules)  # NumPy 1 imports numpy.ma by itself
from pathlib import Path
import asyncio
from rltui.draw.theme import load_theme
from rltui.draw.view import View
from rltui.session import Session
from rltui.pages.app import RltuiApp
from rltui.tui.shell import AppOptions
from rltui.tui import pump
from rltui.tui.later import LATER

session = Session([Path(sys.argv[1])])
session.scan()
for batch in session.reader.read_all():
    session._apply(batch)
session.judge.judge(verdicts=False)
session.start = session.stop = lambda: None  # no thread: what it imports comes later
app = RltuiApp(session, AppOptions(View(), load_theme("dark")))
loaded = []
import_later = pump.import_later

def first_painted(owner, *names):
    loaded or loaded.extend(sys.modules)
    import_later(owner, *names)

pump.import_later = first_painted

async def show():
    async with app.run_test(size=(160, 45)) as pilot:
        app.pump._unpainted = True
        app.pump._session.drain = lambda **_: type(session).drain(session, verdicts=False)
        app.pump.pull()
        await pilot.pause()
        await pilot.pause()
        shown = app.screen.query_one("#rows")
        assert any("loss" in text for text, _ in shown.line_of(1)), shown.line_of(1)
        assert loaded
        print(*(name for name in sys.argv[2:] if name in set(loaded) - of_numpy))
        while not sys.modules.keys() >= set(LATER):
            await pilot.pause(0.01)

asyncio.run(show())
"""
_LATER = (
    "watchdog", "plotext", "tensorboard", "numpy.ma", "importlib.metadata", "rltui.health.engine",
    "rltui.health.rules", "rltui.health.report", "rltui.health.diagnoses", "rltui.health.crash",
    "rltui.health.projection", "rltui.health.detectors.registry",
    "rltui.tui.overlay", "rltui.pages.metric.lines", "rltui.output.text_report",
    "rltui.sources.side_files.sample_files", "rltui.sources.follow.stdin_feed",
    "rltui.formats.console.console_decoder", "rltui.formats.table.table_decoder",
    "rltui.formats.tracker_log.tracker_decoder",
)  # fmt: skip


def test_what_can_wait_is_not_imported_before_the_first_paint(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "run.jsonl"
    log.parent.mkdir()
    rows = (f'{{"step": {s}, "loss": {1 / (s + 1)}, "timing_s/gen": 2}}' for s in range(20))
    log.write_text("\n".join(rows) + "\n")
    command = [sys.executable, "-c", _FIRST_PAINT, str(log.parent), *_LATER]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def test_what_keys_need_is_loaded_after_the_first_paint() -> None:
    known = {(module, name) for module, names in later.NAMES.items() for name in names}
    assert all(getattr(later, n) is getattr(import_module(module), n) for module, n in known)
    package = Path(rltui.__file__).parent
    texts = [p.read_text() for d in ("pages", "tui") for p in (package / d).rglob("*.py")]
    assert {n for text in texts for n in re.findall(r"\blater\.(\w+)", text)} == {
        n for _, n in known
    }


def test_until_the_first_paint_a_line_says_what_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "__stdout__", terminal)
    with reading("/runs/\x1b[31m"):
        assert terminal.getvalue().startswith("reading /runs/")
        assert "\x1b" not in terminal.getvalue()
    line, blank, _ = terminal.getvalue().split("\r")
    assert blank == " " * len(line), "nothing of it stays"
