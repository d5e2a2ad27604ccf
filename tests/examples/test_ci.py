"""The recipes for CI call rltui as it is, and the action does what it says on a real log."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from rltui.cli.program import build_parser
from tests.places import FIXTURES, ROOT

EXAMPLES = ROOT / "examples"
ACTION = yaml.safe_load((EXAMPLES / "github-actions/verdict/action.yml").read_text("utf-8"))
RECIPES = ("github-actions/*.yml", "gitlab/.*.yml", "buildkite/*.yml")


@pytest.mark.parametrize(
    "path", [p for r in RECIPES for p in EXAMPLES.glob(r)], ids=lambda p: p.name
)
def test_the_commands_of_a_recipe_are_those_of_the_program(path: Path) -> None:
    commands = re.findall(
        r"\brltui ((?:check|gate|report|snapshot) [^|>\n]*)", path.read_text("utf-8")
    )
    assert commands
    for command in commands:
        build_parser().parse_args(command.split())


@pytest.mark.parametrize(
    ("expect", "fail_on", "codes"),
    [("", "bad", [0, 1]), ("", "never", [0, 0]), ("reward.mean last 3 > 99", "never", [0, 1, 0])],
)
def test_action(tmp_path: Path, expect: str, fail_on: str, codes: list[int]) -> None:
    logdir = FIXTURES / "labelled" / "verl" / "grpo_kl_blowup"
    conditions = tmp_path / "expect.yaml"
    conditions.write_text(yaml.safe_dump({"expect": [expect]}), "utf-8")
    shutil.copy(EXAMPLES / "github-actions" / "annotate.py", tmp_path)
    given = {name: about.get("default", "") for name, about in ACTION["inputs"].items()}
    given |= {
        "logdir": str(logdir),
        "fail-on": fail_on,
        "expect": str(conditions) if expect else "",
    }
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\nexec '{sys.executable}' -m rltui \"$@\"\n", "utf-8")
    program.chmod(0o755)
    given["command"] = str(program)
    places = {"GITHUB_ACTION_PATH": str(tmp_path), "RUNNER_TEMP": str(tmp_path)}
    places |= {name: str(tmp_path / name) for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    found = []
    said = ""
    for step in ACTION["runs"]["steps"]:
        if "if" in step and not given["expect"]:
            continue
        own = {
            k: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda m: given[m[1]], v)
            for k, v in step["env"].items()
        }
        command = ["bash", "-euo", "pipefail", "-c", step["run"]]
        done = subprocess.run(
            command,
            check=False,
            env=os.environ | places | own,
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        found.append(done.returncode)
        said += done.stdout

    assert found == codes
    assert "::error title=grpo_kl_blowup" in said
    assert "6 bad, 1 watch" in (tmp_path / "GITHUB_STEP_SUMMARY").read_text("utf-8")
    assert (tmp_path / "GITHUB_OUTPUT").read_text("utf-8") == "level=bad\n"
    assert (tmp_path / "verdict.html").stat().st_size > 10_000
    assert (tmp_path / "verdict.xml").exists() == bool(expect)
