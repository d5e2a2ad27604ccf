"""What reads a store is imported when there is one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.trackers.store import MlflowDatabase

LAZY = ("sqlite3", "rltui.trackers.sqlite.row_follower")
SCRIPT = f"""
import sys
from pathlib import Path
from rltui.sources import Reader
list(Reader([Path(sys.argv[1])]).read_all())
print([name for name in {LAZY!r} if name in sys.modules])
"""


def imported(path: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path)], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_a_directory_without_a_store(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text('{"step": 1, "loss": 0.5}\n')
    (tmp_path / "metrics").mkdir()
    assert imported(tmp_path) == "[]"


def test_a_database(tmp_path: Path) -> None:
    MlflowDatabase(tmp_path).log("one", [(1, {"loss": 1.0})])
    assert imported(tmp_path) == str(list(LAZY))
