"""The web server of the examples says in one line why it does not start."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from rltui.core.installation import to_add

_EXAMPLE = Path(__file__).parents[2] / "examples" / "browser.py"


def last_line(logdir: Path, port: int, *ahead: Path) -> str:
    """What is said last by an example that fails; ``ahead`` comes first where modules are found."""
    paths = [*map(str, ahead), str(_EXAMPLE.parents[1])]
    done = subprocess.run(
        [sys.executable, str(_EXAMPLE), str(logdir), str(port)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()[-1]


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    pytest.importorskip("textual_serve")
    with socket.create_server(("localhost", 0)) as other:
        port = other.getsockname()[1]
        line = last_line(tmp_path, port)
    assert line.startswith(f"browser.py: port {port}: ")
    assert "in use" in line


def test_a_port_beyond_the_last_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("textual_serve")
    assert last_line(tmp_path, 99999) == "browser.py: port 99999: ports go up to 65535"


def test_a_missing_extra_is_named(tmp_path: Path) -> None:
    package = tmp_path / "modules" / "aiohttp"  # comes with textual-serve
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ModuleNotFoundError('No module named it')\n")
    line = last_line(tmp_path, 8000, package.parent)
    assert line == f"browser.py: No module named it: {to_add('textual-serve')}"
