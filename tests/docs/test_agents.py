"""The recipes of docs/agents.md, run with stand-ins."""

import re
import shutil
from pathlib import Path

import pytest

from tests.docs.blocks import Desk, blocks
from tests.places import FIXTURES, ROOT

RECIPES = [b.text for b in blocks("agents.md") if (b.section, b.language) == ("Recipes", "sh")]
BAD = FIXTURES / "labelled" / "verl" / "grpo_kl_blowup" / "grpo_kl_blowup.jsonl"

pytestmark = pytest.mark.skipif(not shutil.which("bash"), reason="bash")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """With a run that is bad."""
    desk = Desk(tmp_path)
    (tmp_path / "runs" / "grpo").mkdir()
    shutil.copy(BAD, tmp_path / "runs" / "grpo" / "metrics.jsonl")
    desk.program("mail")
    return desk


def test_the_mail_of_cron_comes_once_and_again_when_something_changed(desk: Desk) -> None:
    for _ in range(2):
        done = desk.run(RECIPES[0])
        assert done.code == 0, done.err
    assert desk.called("mail").count("mail -s") == 1
    assert "[entropy_collapse]" in desk.called("mail")
    shutil.copytree(FIXTURES / "labelled" / "trl" / "sft_nan", desk.home / "runs" / "sft")
    assert desk.run(RECIPES[0]).code == 0
    assert desk.called("mail").count("mail -s") == 2
    assert desk.called("mail").count("[entropy_collapse]") == 1
    assert "[updates_skipped]" in desk.called("mail")


def test_the_mail_of_cron_says_what_cannot_be_read(desk: Desk) -> None:
    assert desk.run(RECIPES[0]).code == 0
    (desk.home / "runs").rename(desk.home / "away")
    for number in (2, 3):
        assert desk.run(RECIPES[0]).code == 0
        assert desk.called("mail").count("mail -s") == number
    assert desk.called("mail").count("no such file or directory") == 2
    (desk.home / "away").rename(desk.home / "runs")
    desk.program("ssh", "#!/bin/sh\necho 'ssh: No route to host' >&2\nexit 255\n")
    assert desk.run(RECIPES[0].replace("run.sh runs/", "run.sh node1:/runs")).code == 0
    assert "No route to host" in desk.called("mail")
    assert desk.run(RECIPES[0]).code == 0  # the id of the first is still known
    assert desk.called("mail").count("mail -s") == 4


def test_the_end_of_a_job_leaves_a_brief_and_a_report(desk: Desk) -> None:
    done = desk.run(RECIPES[1], SLURM_JOB_ID="7")
    assert done.code == 0, done.err
    assert "[entropy_collapse]" in (desk.home / "brief-7.txt").read_text("utf-8")
    assert "<html" in (desk.home / "report-7.html").read_text("utf-8")


def test_a_red_night_is_explained(desk: Desk) -> None:
    done = desk.run(f"{RECIPES[2]}exit ${{status:-0}}")
    assert done.code == 1, done.err
    assert "::error" in done.out
    assert "[entropy_collapse]" in (desk.home / "brief.txt").read_text("utf-8")
    assert "failures" in (desk.home / "canary.txt").read_text("utf-8")


def test_every_heading_of_the_table_is_there() -> None:
    page = (ROOT / "docs" / "agents.md").read_text("utf-8")
    linked = re.findall(r"\]\(#([a-z-]+)\)", page)
    headings = {h.lower().replace(" ", "-") for h in re.findall(r"^##+ (.+)$", page, re.MULTILINE)}
    assert len(linked) >= 7
    assert set(linked) <= headings
