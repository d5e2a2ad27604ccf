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


@pytest.mark.parametrize(
    ("does", "code", "words"),
    [
        ("""echo '{"dependencies": []}' > "$out" """, 0, "Nothing was audited"),
        ("echo requests.exceptions.ConnectionError >&2; exit 1", 0, "Nothing was audited"),
        (
            """echo '{"dependencies": [{"name": "a", "version": "1", "vulns": []}]}' > "$out" """,
            0,
            "1 dependencies audited, 0 known",
        ),
        (
            """echo '{"dependencies": [{"name": "a", "version": "1", "vulns":
               [{"id": "X-1", "fix_versions": []}]}]}' > "$out"; exit 1""",
            1,
            "a 1: X-1, fixed in no version",
        ),
    ],
    ids=["silent", "no network", "clean", "vulnerable"],
)
def test_what_pip_audit_says(
    does: str, code: int, words: str, pip_audit: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pip_audit.write_text(does)
    assert script.main(["lock.txt"]) == code
    assert words in capsys.readouterr().out


def test_another_error_is_no_silence(pip_audit: Path) -> None:
    pip_audit.write_text("echo 'not hashed' >&2; exit 1")
    with pytest.raises(RuntimeError, match="not hashed"):
        script.main(["lock.txt"])


def test_on_github_silence_is_a_warning(
    pip_audit: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    pip_audit.write_text("""echo '{"dependencies": []}' > "$out" """)
    assert script.main(["lock.txt"]) == 0
    assert "::warning::Nothing was audited" in capsys.readouterr().out
