"""The commands of docs/troubleshooting.md print what the page shows."""

import doctest
import json
import math
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from tests.docs.blocks import Desk, blocks
from tests.places import FIXTURES

PAGE = blocks("troubleshooting.md")
BAD = FIXTURES / "labelled" / "verl" / "grpo_kl_blowup" / "grpo_kl_blowup.jsonl"

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")


def row(step: int, phase: int) -> dict[str, float]:
    """A row of a training; with another phase, of another one."""
    entropy = 0.8 - step / 300 + 0.05 * math.sin(step * step + phase)
    score = 0.2 + step / 50 + 0.1 * math.sin(3 * step * step + phase)
    return {"actor/entropy": round(entropy, 4), "critic/score/mean": round(score, 4)}


def console(phase: int) -> str:
    rows = (" - ".join(f"{k}:{v}" for k, v in row(s, phase).items()) for s in range(1, 31))
    return "".join(f"step:{s} - {text}\n" for s, text in enumerate(rows, 1))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """With the logs that the page speaks of."""
    files = {
        "runs/grpo/metrics.jsonl": BAD.read_text("utf-8"),
        "runs/short/metrics.jsonl": "".join(BAD.read_text("utf-8").splitlines(True)[:4]),
        "runs/notes/samples.jsonl": '{"prompt": "x", "answer": "y"}\n',
        "runs/notes/settings.csv": "name,value\nlr,0.1\n",
        "exp1/metrics.jsonl": "".join(
            json.dumps({"step": s, "data": row(s, 0)}) + "\n" for s in range(1, 31)
        ),
        "slurm-4711.out": console(0),
        "slurm-4712.out": console(2),
    }
    desk = Desk(tmp_path)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    return desk


def answers() -> list[tuple[str, str, str, str]]:
    """Section, configuration, commands and their output."""
    found, configuration = [], ""
    for block, after in pairwise([*PAGE, PAGE[0]]):
        if block.language == "yaml":
            configuration = block.text
        elif block.language == "sh":
            assert after.language == "text", block.text
            found.append((block.section, configuration, block.text, after.text))
    return found


def test_every_question_is_answered_by_a_command() -> None:
    assert len({section for section, *_ in answers()}) == 8


@pytest.mark.parametrize(
    ("section", "configuration", "commands", "shown"),
    answers(),
    ids=[f"{number}" for number, _ in enumerate(answers())],
)
def test_the_output_is_what_the_page_shows(
    desk: Desk, section: str, configuration: str, commands: str, shown: str
) -> None:
    (desk.home / "config.yaml").write_text(configuration, "utf-8")
    done = desk.run(commands)
    assert done.code in (0, 1), done.err
    output = done.out + done.err
    matches = doctest.OutputChecker().check_output(shown, output, doctest.ELLIPSIS)
    assert matches, f"{section}\n{commands}\n{output[:2000]}"
