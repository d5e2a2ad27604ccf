"""The audit of dependencies does not take silence for health."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_documentation import load_script

script = load_script("audit")

CLEAN = {"name": "rich", "version": "15.0.0", "vulns": []}
SKIPPED = {"name": "numpy", "skip_reason": "Dependency not found on PyPI"}
WEAK = {
    "name": "werkzeug",
    "version": "3.0.0",
    "vulns": [{"id": "PYSEC-2023-221", "fix_versions": ["2.3.8", "3.0.1"]}],
}


@pytest.fixture
def pip_audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pip-audit that does what the file ``does`` says; only this one is found."""
    program = tmp_path / "bin" / "pip-audit"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nfor out; do :; done\n. '{tmp_path}/does'\n")
    program.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(program.with_name("python")))
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    return tmp_path / "does"


def test_a_vulnerability_fails_and_is_named() -> None:
    found = script.read_report({"dependencies": [CLEAN, WEAK, SKIPPED]})
    assert found.lines() == [
        "2 dependencies audited, 1 known vulnerabilities",
        "werkzeug 3.0.0: PYSEC-2023-221, fixed in 2.3.8, 3.0.1",
        "1 not audited: numpy",
    ]


def test_another_error_is_no_silence(pip_audit: Path) -> None:
    pip_audit.write_text("echo 'not hashed' >&2; exit 1")
    with pytest.raises(RuntimeError, match="not hashed"):
        script.main(["lock.txt"])
