"""The floors hold: what an import may not bring along, what code may not name, and the import
contracts."""

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from rltui.config import Config
from rltui.health.configured import open_catalogue
from tests.places import ROOT

#: Imported only when a command needs them: they cost start-up time and memory.
HEAVY = {"textual", "rich", "plotext", "watchdog", "tensorboard"}


def python(code: str) -> str:
    """Standard output of ``code`` in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded_after(code: str) -> set[str]:
    """Top-level modules that are loaded after ``code``."""
    report = "import sys; print(); print(*{m.partition('.')[0] for m in sys.modules})"
    return set(python(f"{code}\n{report}").splitlines()[-1].split())


@pytest.mark.parametrize(
    "modules",
    [
        "rltui, rltui.cli, rltui.config, rltui.core.yaml_document",
        "rltui.session, rltui.demo, rltui.draw, rltui.facts, rltui.output",
    ],
)
def test_modules_bring_nothing_heavy(modules: str) -> None:
    loaded = loaded_after(f"import {modules}")
    assert not loaded & (HEAVY if "session" in modules else HEAVY | {"numpy", "yaml", "orjson"})


@pytest.mark.parametrize("arguments", [["check", "--help"], ["--help"], ["--version"]])
def test_help_brings_nothing_heavy(arguments: list[str]) -> None:
    code = f"""
import sys
from rltui.cli import main
try:
    code = main({arguments!r})
except SystemExit as end:
    code = end.code
assert not code, code
"""
    assert not loaded_after(code) & (HEAVY | {"numpy", "yaml", "orjson"})


def test_explain_brings_no_reader_of_logs() -> None:
    report = "import sys; print(*sys.modules)"
    loaded = python(f"from rltui.cli import main; main(['explain', 'kl']); {report}").split()
    heavy = {"numpy", "rltui.session", "rltui.store", "rltui.formats", "rltui.sources"}
    assert "rltui.health.rules" in loaded
    assert not heavy & set(loaded)


def test_a_kept_line_brings_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    log = ROOT / "tests" / "fixtures" / "labelled" / "verl"
    arguments = ["check", "--format", "line", "--max-age", "60", "--fail-on", "never", str(log)]
    code = f"from rltui.cli import main; assert main({arguments!r}) == 0"
    first = python(code)
    loaded = loaded_after(f"{code}; import sys; sys.stdout.write(chr(10))")
    assert python(code) == first
    large = {"typing", "argparse", "re", "enum", "pathlib", "collections", "contextlib"}
    bare = loaded_after("pass")
    assert not (loaded - bare) & (HEAVY | large)


def test_only_the_catalogue_names_metrics() -> None:
    metrics = {key for key in open_catalogue(Config()).metrics if "." in key}
    named = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.value}"
        for path in (ROOT / "rltui").rglob("*.py")
        if path.parent.name != "catalogue"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in metrics
    ]
    assert not named


def test_import_contracts() -> None:
    if importlib.util.find_spec("importlinter") is None:
        pytest.skip("import-linter is not installed")
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
