"""What tests cost, on a small suite."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_SUITE = """
import subprocess, sys, time

def test_busy():
    began = time.process_time()
    while time.process_time() < began + 0.2:
        pass

def test_program():
    busy = "import time\\nwhile time.process_time() < 0.2: pass"
    subprocess.run([sys.executable, "-S", "-c", busy], check=True)

def test_idle():
    pass
"""


def test_cpu_of_tests_and_of_their_programs(tmp_path: Path) -> None:
    suite, costs = tmp_path / "test_small.py", tmp_path / "costs.tsv"
    suite.write_text(_SUITE)
    options = ["-p", "scripts.cost_of_tests", "-p", "xdist", "-n", "1", f"--rootdir={tmp_path}"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", *options, str(suite)],
        env={
            **os.environ,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONPATH": str(_ROOT),
            "COSTS": str(costs),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = {}
    for line in costs.read_text().splitlines():
        *seconds, name = line.split("\t")
        found[name.partition("::")[2]] = [float(x) for x in seconds]
    assert found.keys() == {"test_busy", "test_program", "test_idle"}
    assert found["test_busy"][0] >= 0.15
    assert found["test_busy"][1] < 0.1
    assert found["test_program"][1] >= 0.15
    assert max(found["test_idle"][:2]) < 0.1
    assert re.search(r"^( +\d+\.\d\d){3}  test_small.py$", done.stdout, re.MULTILINE)
    assert "  3 tests" in done.stdout
