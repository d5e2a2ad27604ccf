"""snapshot --compare and --group-by: runs side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.conftest import Cli, write_jsonl
from tests.fakes import grpo_tags


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """Four seeds of two settings."""
    for name, gain in (("low", 0.5), ("high", 0.7)):
        for seed in range(1, 5):
            tags = grpo_tags(60, collapse=None)
            tags["critic/score/mean"] = [0.1 + gain * i / 59 + 0.01 * seed for i in range(60)]
            write_jsonl(tmp_path / f"grpo_{name}_s{seed}.jsonl", tags)
    return tmp_path


def test_runs_side_by_side_begin_with_the_best(cli: Cli, sweep: Path) -> None:
    result = cli("snapshot", sweep, "--compare")
    head, best, *_ = result.out.splitlines()
    assert result.code == 0
    assert head.split()[:4] == ["run", "step", "verdict", "reward"]
    assert best.startswith("grpo_high_s4")
    assert "0.810 *" in best
    assert "* the best" in result.out


def test_differences_of_groups_are_in_words(cli: Cli, sweep: Path) -> None:
    out = cli("snapshot", sweep, "--group-by", "name").out
    assert out.splitlines()[1].split()[:2] == ["grpo_high_s*", "4"]
    assert "larger than the spread over runs explains (chance alone: 3 %; 4 and 4 runs)" in out


def test_the_table_as_markdown(cli: Cli, sweep: Path) -> None:
    lines = cli("snapshot", sweep, "--compare", "--markdown").out.splitlines()
    assert lines[0].startswith("| run | step | verdict | reward |")
    assert set(lines[1]) <= set("| -")
    assert len([x for x in lines if x.startswith("|")]) == 10


def test_a_table_is_no_json(cli: Cli, sweep: Path) -> None:
    assert cli("snapshot", sweep, "--compare", "--json").code == 2
    result = cli("snapshot", sweep, "--group-by", "lr")
    assert result.code == 2
    assert "can be grouped by name" in result.err
