"""What ships is read by both parsers of PyYAML: many builds have no libyaml."""

from __future__ import annotations

import json
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
import json, sys, yaml
for name in [n for n in dir(yaml) if n.startswith("C") and n.endswith(("Loader", "Dumper"))]:
    delattr(yaml, name)
from rltui.cli import main
for words in json.loads(sys.argv[1]):
    try:
        code = main(words)
    except SystemExit as end:
        code = end.code
    assert code in (0, 1, None), words
"""
RUN = str(FIXTURES / "labelled" / "verl")
VERBS = [
    ["check", RUN],
    ["explain", "entropy"],
    ["lint"],
    ["demo", "--list"],
]


def test_every_verb_works_without_libyaml() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, json.dumps(VERBS)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "not valid YAML" not in done.stderr
