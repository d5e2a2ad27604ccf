"""What rltui writes into a directory of logs is passed over, with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.conftest import Cli

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
