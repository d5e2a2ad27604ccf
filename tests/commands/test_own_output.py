"""Logs that are chosen by name, and what rltui writes beside them, which is no log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands.conftest import Cli, write_jsonl

DOCUMENT, EXPORT = "a document of rltui", "an export of rltui"


@pytest.mark.parametrize(
    ("verb", "name", "what"),
    [
        ("check --json", "verdict.json", DOCUMENT),
        ("check --json", "metrics.json", DOCUMENT),
        ("check --json", "log.jsonl", DOCUMENT),
        ("check --jobs 2 --json", "train_log.json", DOCUMENT),
        ("check --format openmetrics", "metrics.txt", "a page of metrics of rltui"),
        ("snapshot --json", "results.json", DOCUMENT),
        ("doctor --json", "log.json", DOCUMENT),
        ("export", "progress.csv", EXPORT),
        ("export", "export_log.csv", EXPORT),
        ("export --format jsonl", "metrics.jsonl", EXPORT),
    ],
)
def test_a_result_is_no_log(
    cli: Cli, well: Path, tmp_path: Path, verb: str, name: str, what: str
) -> None:
    written = cli(*verb.split(), well)
    assert written.code == 0
    (well / name).write_text(written.out)
    found = cli("check", well, "--json")
    assert found.out.count('"run": ') == 1
    shown = cli("doctor", well).out
    assert f"{name}: is {what}, not a log" in shown
    alone = cli("check", well / name)
    assert (alone.code, alone.err) == (2, f"rltui: {well / name}: is {what}, not a log\n")


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """Logs of two formats in two directories: discovery takes them for one run, ``grpo``."""
    steps = range(1, 31)
    write_jsonl(tmp_path / "two" / "grpo" / "metrics.jsonl", {"loss": [1 / s for s in steps]})
    table = tmp_path / "two" / "ppo" / "progress.csv"
    table.parent.mkdir()
    table.write_text("step,loss\n" + "".join(f"{s},{3 + s}\n" for s in steps))
    return tmp_path / "two"


def names(cli: Cli, *arguments: str | Path) -> list[str]:
    result = cli("check", "--json", *arguments)
    return [Path(run["path"]).name for run in json.loads(result.out)["runs"]]


@pytest.mark.parametrize(
    ("glob", "found"),
    [
        ("grpo", ["grpo"]),
        ("ppo", ["ppo"]),
        ("p*", ["ppo"]),
        ("*", ["grpo", "ppo"]),
    ],
)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_each_run_is_chosen_by_its_own_name(
    cli: Cli, two: Path, tmp_path: Path, glob: str, found: list[str], jobs: str
) -> None:
    write_jsonl(tmp_path / "more" / "other.jsonl", {"loss": [1.0] * 20})
    more = [tmp_path / "more"] if glob != "*" else []
    result = cli("check", two, *more, "--run", glob, "-j", jobs)
    heads = [line.split()[1] for line in result.out.splitlines() if "(step" in line]
    assert heads == found


def test_a_name_of_a_log_that_is_of_the_run_is_no_name_of_a_run(cli: Cli, tmp_path: Path) -> None:
    values = {"loss": [1 / s for s in range(1, 31)]}
    write_jsonl(tmp_path / "exp" / "metrics.jsonl", values)
    table = tmp_path / "exp" / "below" / "progress.csv"
    table.parent.mkdir()
    rows = (f"{s},{v!r}\n" for s, v in enumerate(values["loss"], 1))
    table.write_text("step,loss\n" + "".join(rows))
    assert cli("check", tmp_path, "--run", "exp").code == 0
    result = cli("check", tmp_path, "--run", "progress")
    assert (result.code, result.out) == (3, "")
    assert "no run matches 'progress'" in result.err


def test_a_second_run_of_one_directory_has_no_other_name(cli: Cli, tmp_path: Path) -> None:
    from tests.formats.encode import event, header, simple

    for number, factor in enumerate((1.0, -3.0)):
        rows = b"".join(event(s, 1.7e9 + s, simple(b"loss", factor * s)) for s in range(1, 40))
        path = tmp_path / "run" / f"events.out.tfevents.17{number}0000000.h"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(header() + rows)
    (tmp_path / "other.jsonl").write_text('{"step": 1, "loss": 1.0}\n')
    document = json.loads(cli("check", tmp_path, "--run", "run", "--json").out)
    assert [run["run"] for run in document["runs"]] == ["run", "run#2"]
