"""Verbs over a directory in memory: nothing but the address differs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main
from rltui.core.address import parse_logdir
from rltui.files.disk import costs
from rltui.sources.discovery.logdir import RunFinder
from rltui.sources.side_files import sample_files
from rltui.sources.side_files.sample_files import find_samples
from rltui.sources.side_files.settings_files import read_settings
from tests.remote.stores import MemoryShelf, need_extra, web_server
from tests.remote.test_stores import rows

NO_TABLE = "looks like a database of a tracker, which is read from a local disk only"


@pytest.fixture
def shelf() -> MemoryShelf:
    shelf = MemoryShelf()
    shelf.put("a/metrics.jsonl", rows(0, 100))
    shelf.put("b/metrics.jsonl", rows(0, 200))
    return shelf


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(capsys, *arguments)[1])
    return found


def test_check_is_that_of_a_local_directory(
    shelf: MemoryShelf, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, last in (("a", 100), ("b", 200)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "metrics.jsonl").write_bytes(rows(0, last))
    here = document(capsys, "check", "--json", str(tmp_path))
    there = document(capsys, "check", "--json", shelf.address)
    assert there["logdirs"] == [shelf.address]
    assert [r["path"] for r in there["runs"]] == [f"{shelf.address}/{n}" for n in "ab"]
    for run_here, run_there in zip(here["runs"], there["runs"], strict=True):
        for same in ("run", "level", "categories", "last_step", "findings"):
            assert run_here[same] == run_there[same]


def test_doctor_counts_requests(shelf: MemoryShelf, capsys: pytest.CaptureFixture[str]) -> None:
    shelf.put("mlflow.db", b"SQLite format 3\0")
    (found,) = document(capsys, "doctor", "--json", shelf.address)["logdirs"]
    assert (found["filesystem"], found["inotify"], found["error"]) == ("memory", False, None)
    assert [r["run"] for r in found["runs"]] == ["a", "b"]
    requests = found["requests"]
    assert requests["reads"] == 2
    assert requests["bytes_read"] == len(rows(0, 100)) + len(rows(0, 200))
    assert requests["lists"] in range(3, 6)
    assert 0 < requests["least"] < requests["most"]
    assert [n["reason"] for n in found["not_read"]] == [NO_TABLE]
    assert "lists a minute" in run(capsys, "doctor", shelf.address)[1]


def test_doctor_counts_no_bytes_where_a_server_lists_no_sizes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "metrics.jsonl").write_bytes(rows(0, 100))
    with web_server(tmp_path) as server:
        (found,) = document(capsys, "doctor", "--json", server.url)["logdirs"]
        shown = run(capsys, "doctor", server.url)[1]
    assert [f["bytes"] for r in found["runs"] for f in r["files"]] == [None]
    assert "1, from 1 file\n" in shown


@pytest.mark.parametrize("ranges", [True, False])
def test_doctor_says_that_a_server_sends_whole_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], ranges: bool
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "metrics.jsonl").write_bytes(rows(0, 5000))
    with web_server(tmp_path) as server:
        server.ranges = ranges
        shown = run(capsys, "doctor", server.url)[1]
    assert ("the server sends whole files only" in shown) is not ranges


def test_doctor_says_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    need_extra("fsspec")
    (found,) = document(capsys, "doctor", "--json", "s4://bucket/runs")["logdirs"]
    assert found["error"] == "s4://bucket/runs: fsspec knows no protocol s4://"


def test_settings_and_samples_beside(shelf: MemoryShelf) -> None:
    shelf.put("a/config.json", b'{"lr": 1e-6}')
    shelf.put("a/rollouts/3.jsonl", b'{"prompt": "p", "response": "r", "reward": 1.0}\n')
    run_path = parse_logdir(shelf.address) / "a"
    settings = read_settings([run_path])
    assert (settings.values, settings.files) == ({"lr": 1e-6}, ("config.json",))
    (samples,) = find_samples(run_path)
    (row,) = samples.load(3).rows
    assert dict(samples.read(3, row).texts) == {"prompt": "p", "response": "r"}


def test_a_large_parquet_file_is_not_read(
    shelf: MemoryShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_extra("pyarrow")
    shelf.put("a/completions_00001.parquet", b"PAR1" * 10)
    (samples,) = find_samples(parse_logdir(shelf.address))
    assert "too large" not in samples.load(1).note
    monkeypatch.setattr(sample_files, "_MAX_REMOTE_PARQUET", 39)
    assert samples.load(1).note == "the file is too large to be read from elsewhere"


def test_a_console_log_is_not_searched_from_end_to_end(shelf: MemoryShelf) -> None:
    line = b"a prompt, its answer, and what a judge said of it\n"
    row = b"step:7 - actor/entropy_loss:0.5 - critic/score/mean:0.25\n"
    shelf.put("d/train.log", line * 20_000 + row * 3 + line * 20_000)
    path = parse_logdir(f"{shelf.address}/d")
    assert RunFinder([path]).find().runs == ()
    asked = costs(path)
    assert asked is not None
    assert asked.bytes_read <= 2 << 16
    (named,) = RunFinder([path / "train.log"]).find().runs
    assert named.files
