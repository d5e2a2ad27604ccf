"""What the first paint must not pay for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

#: The work of a start up to the first paint, and then what it took to get there.
_FIRST_PAINT = """
import sys
import numpy
of_numpy = set(sys.modules)  # NumPy 1 imports numpy.ma by itself
from pathlib import Path
import rltui.tui.app
from rltui.present.screens.frame import draw
from rltui.present.kit.theme import load_theme
from rltui.present.screens.view import View
from rltui.session import Session

load_theme("dark", ())
session = Session([Path(sys.argv[1])])
session.scan()
for batch in session._reader.read_all():
    session._apply(batch)
session._judging.judge(verdicts=False)
view = View(run=next(iter(session.views)))
assert any("loss" in text for line in draw(session, view, 160, 45).lines for text, _ in line)
print(*(name for name in sys.argv[2:] if name in sys.modules.keys() - of_numpy))
"""
_LATER = (
    "watchdog", "plotext", "tensorboard", "numpy.ma", "rltui.health.engine",
    "rltui.health.rules", "rltui.catalogue.doc_tables", "rltui.present.screens.help",
    "rltui.present.screens.metric",
    "rltui.present.screens.runs", "rltui.formats.console.console_decoder",
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
