"""The skill for coding agents is one that installers read, and says what the program does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from rltui.cli.program import build_parser, parse
from rltui.output.brief import brief_document, brief_text
from tests.builders import read_session

ROOT = Path(__file__).resolve().parents[2]
SKILL = (ROOT / "examples" / "skill" / "SKILL.md").read_text("utf-8")
COMMANDS = re.findall(r"\| `(rltui [^`]+)` \|", SKILL)


def test_the_front_matter_is_within_the_limits_of_agent_skills() -> None:
    """agentskills.io/specification: characters of the name, lengths."""
    head = yaml.safe_load(SKILL.split("---\n")[1])
    assert set(head) <= {"name", "description", "license", "compatibility", "metadata"}
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", head["name"])
    assert 0 < len(head["description"]) <= 1024
    assert len(head["compatibility"]) <= 500
    assert SKILL.count("\n") < 500


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_skill_are_understood_and_none_acts(command: str) -> None:
    words = command.split()[1:]
    parse(build_parser(), words)
    assert words[0] != "guard"


def test_the_example_of_the_skill_is_what_a_brief_says() -> None:
    session = read_session([ROOT / "tests" / "fixtures" / "labelled" / "verl" / "grpo_kl_blowup"])
    told = brief_text(brief_document(session)).splitlines()
    example = SKILL.split("```text\n")[1].split("```")[0].splitlines()
    for line in example[2:]:
        whole = line.rstrip(".")
        assert any(each.startswith(whole) for each in told), line
