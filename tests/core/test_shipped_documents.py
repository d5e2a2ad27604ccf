"""What ships is read by both parsers of PyYAML: many builds have no libyaml."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.places import FIXTURES, ROOT

DOCUMENTS = sorted(
    path
    for folder in ("rltui", "themes", "examples")
    for path in (ROOT / folder).rglob("*.y*ml")
    if "__pycache__" not in path.parts
)


@pytest.mark.parametrize("path", [*DOCUMENTS, ROOT / "config.example.yaml"], ids=lambda p: p.name)
def test_both_parsers_read_the_same(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    slow = list(yaml.load_all(text, yaml.SafeLoader))
    if hasattr(yaml, "CSafeLoader"):
        assert slow == list(yaml.load_all(text, yaml.CSafeLoader))


WITHOUT = """
import sys, yaml
for name in [n for n in dir(yaml) if n.startswith("C") and n.endswith(("Loader", "Dumper"))]:
    delattr(yaml, name)
from rltui.cli import main
try:
    sys.exit(main(sys.argv[1:]))
except SystemExit as end:
    sys.exit(0 if end.code in (0, 1, None) else f"exit {end.code}")
"""
RUN = str(FIXTURES / "labelled" / "verl")
VERBS = [
    ["check", RUN],
    ["snapshot", RUN],
    ["plot", RUN, "entropy"],
    ["export", RUN],
    ["explain", "entropy"],
    ["lint", "--run"],
    ["doctor"],
    ["demo", "--list"],
    ["check", "--format", "openmetrics", RUN],
]


@pytest.mark.parametrize("verb", VERBS, ids=lambda v: " ".join(v[:1]))
def test_every_verb_works_without_libyaml(verb: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *verb],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    assert "not valid YAML" not in done.stderr
