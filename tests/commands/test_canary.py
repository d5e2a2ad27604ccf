"""``rltui canary``: which alarms would fire."""

import json
from pathlib import Path

from rltui.core.text import cell_width
from tests.commands.conftest import Cli, write_jsonl
from tests.fakes import grpo_tags
from tests.places import FIXTURES


def test_canary_says_what_is_seen_and_what_to_log(cli: Cli, tmp_path: Path) -> None:
    tags = {t: x for t, x in grpo_tags(60).items() if t != "actor/entropy"}
    write_jsonl(tmp_path / "run.jsonl", tags)
    result = cli("canary", tmp_path)
    assert result.code == 0
    assert "  no metric  entropy collapses early: log actor/entropy" in result.out
    assert "  detected   the reward crashes: reward_drop.reward" in result.out
    assert max(map(cell_width, result.out.splitlines())) <= 80
    lines = [line[2:12].strip() for line in result.out.splitlines()[1:] if line[2:3] != " "]
    order = [s for s in ("no metric", "missed", "too early", "detected") if s in lines]
    assert [s for i, s in enumerate(lines) if i == 0 or lines[i - 1] != s] == order
    assert cli("canary", tmp_path).out == result.out


def test_the_document_holds_rules_rows_and_names(cli: Cli, tmp_path: Path) -> None:
    tags = {t: x for t, x in grpo_tags(60).items() if t != "actor/entropy"}
    write_jsonl(tmp_path / "run.jsonl", tags)
    document = json.loads(cli("canary", tmp_path, "--json").out)
    assert document["schema"] == "rltui.canary/1"
    (run,) = document["runs"]
    assert (run["framework"], run["rows"], run["tried"]) == ("verl", 60, True)
    by_id = {f["id"]: f for f in run["failures"]}
    assert run["seen"] == sum(f["state"] == "seen" for f in by_id.values())
    log = by_id["entropy_collapse"]["log"][0]
    assert (log["metric"], log["title"], log["names"][0]) == ("entropy", "entropy", "actor/entropy")
    trial = by_id["reward_crash"]["rules"][0]
    assert (trial["rule"], trial["tag"], trial["level"]) == (
        "reward_drop",
        "critic/score/mean",
        "bad",
    )
    assert 0 < trial["rows"] < 40


def test_where_the_framework_has_no_name_a_usual_one_is_told(cli: Cli) -> None:
    asked = "the gradient explodes: log actor/grad_norm or grad_norm"
    assert asked in cli("canary", FIXTURES / "labelled" / "sb3" / "ppo_cartpole_healthy").out


def test_blind_spots_may_fail_a_job(cli: Cli, tmp_path: Path) -> None:
    write_jsonl(
        tmp_path / "run.jsonl", {"actor/pg_loss": [0.1] * 30, "critic/score/mean": [0.5] * 30}
    )
    assert cli("canary", tmp_path).code == 0
    assert cli("canary", tmp_path, "--fail-on-blind").code == 1


def test_few_rows_show_what_the_names_say(cli: Cli, tmp_path: Path) -> None:
    tags = {t: x for t, x in grpo_tags(6).items() if t != "actor/entropy"}
    write_jsonl(tmp_path / "run.jsonl", tags)
    out = cli("canary", tmp_path).out
    assert "6 rows, too few to try its alarms (8 are needed)" in " ".join(out.split())
    assert "entropy collapses early" in out
    assert "seen " not in out


def test_a_logdir_without_a_log_exits_with_3(cli: Cli, tmp_path: Path) -> None:
    assert cli("canary", tmp_path).code == 3


def test_names_from_the_log_reach_the_terminal_clean(cli: Cli, tmp_path: Path) -> None:
    hostile = "loss/\x1b[2J\u202e[bold]x\n" + "y" * 300
    write_jsonl(tmp_path / "run.jsonl", {**grpo_tags(30), hostile: [0.0] * 30})
    out = cli("canary", tmp_path).out
    assert not {"\x1b", "\u202e"} & {*out}
    assert max(map(cell_width, out.splitlines())) <= 80
