"""Wrong paths, wrong documents, logs that try to do harm: a message and a code, no traceback."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.commands.conftest import Cli
from tests.formats.encode import event, header, simple

READERS = ("check", "snapshot", "plot")


def arguments(command: str, logdir: Path) -> list[str]:
    return [command, str(logdir), *(["loss"] if command == "plot" else [])]


# -- paths ---------------------------------------------------------------------------------


@pytest.mark.parametrize("command", READERS)
def test_a_path_that_does_not_exist(cli: Cli, tmp_path: Path, command: str) -> None:
    result = cli(*arguments(command, tmp_path / "gone"))
    assert (result.code, result.out) == (2, "")
    assert result.err == f"rltui: {tmp_path / 'gone'}: no such file or directory\n"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("train.log", b"hello world\n" * 4213, "4,213 lines of text, no row with a step and"),
        (
            "train.log",
            b"hello\nworld",
            "tried: console (no rows of metrics in it so far), ",
        ),
        ("data.csv", b"name,city\na,b\n", "formats tried: csv (no step column beside numbers, "),
        ("model.bin", b"\x80\0\1\2" * 99, "holds bytes that are no text; formats tried: "),
        ("train.log", b"", ": empty so far\n"),
    ],
)
def test_a_named_file_that_is_not_understood(
    cli: Cli, tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    (tmp_path / name).write_bytes(content)
    for command in ("check", "snapshot"):
        result = cli(command, tmp_path / name)
        assert (result.code, result.out) == (2, "")
        assert f"{name}: " in result.err
        assert words in result.err
        assert result.err.count("\n") == 1


@pytest.mark.parametrize("name", ["\0", "x" * 5000, "a/" * 3000])
def test_paths_that_no_system_takes(cli: Cli, name: str) -> None:
    result = cli("check", name)
    assert (result.code, result.out) == (2, "")
    assert "Traceback" not in result.err


def refuse(call: Callable[..., Any], place: Path) -> Callable[..., Any]:
    """``call``, with Permission denied for ``place`` and what is below it."""

    def refused(path: Any, *rest: Any, **named: Any) -> Any:
        if isinstance(path, (str, os.PathLike)) and Path(path).is_relative_to(place):
            raise PermissionError(13, "Permission denied", str(path))
        return call(path, *rest, **named)

    return refused


def test_an_unreadable_logdir(cli: Cli, well: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "scandir", refuse(os.scandir, well))
    result = cli("check", well)
    assert (result.code, result.out) == (2, "")
    assert result.err == f"rltui: {well}: cannot be read: Permission denied\n"


def test_an_unreadable_directory_among_good_ones_is_passed_over(
    cli: Cli, bad_logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "scandir", refuse(os.scandir, bad_logs / "a"))
    result = cli("check", bad_logs, "--json", "--fail-on", "never")
    assert result.code == 0
    assert [r["run"] for r in json.loads(result.out)["runs"]] == ["b/calm", "nan"]


def test_an_endless_tree_of_links_ends(cli: Cli, well: Path) -> None:
    (well / "again").symlink_to(well, target_is_directory=True)
    (well / "nowhere").symlink_to(well / "gone")
    result = cli("check", well, "--json")
    assert [r["run"] for r in json.loads(result.out)["runs"]] == ["calm"]


def test_pipes_and_sockets_are_not_opened(cli: Cli, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "metrics.jsonl")
    assert stat.S_ISFIFO((tmp_path / "metrics.jsonl").stat().st_mode)
    assert cli("check", tmp_path).code == 3
    assert cli("check", tmp_path / "metrics.jsonl").code == 2


# -- content -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [b"", b"\0", b"\xff" * 4096, os.urandom(0) + bytes(range(256)) * 64, b"PK\x03\x04" * 99],
    ids=["empty", "one", "ones", "all", "zip"],
)
def test_garbage_named_like_an_event_file(cli: Cli, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "events.out.tfevents.1700000000.host"
    path.write_bytes(content)
    for command in READERS:
        result = cli(*arguments(command, tmp_path))
        assert result.code == 3
        assert result.out == ""
        assert "no readable log" in result.err
    assert cli("check", tmp_path, "--json").code == 3


def test_garbage_after_good_records_is_a_note(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1700000000.host"
    good = b"".join(event(s, 1.7e9 + s, simple(b"loss", 1.0 / s)) for s in range(1, 30))
    path.write_bytes(header() + good + b"\xff" * 999)
    result = cli("check", tmp_path, "--json")
    run = json.loads(result.out)["runs"][0]
    assert run["last_step"] == 29
    assert [n["level"] for n in run["sources"][0]["notes"]] != []
    assert "note: " in cli("check", tmp_path).out


# -- harmful text --------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("verb", "name", "text", "words"),
    [
        ("check", "config.yaml", "vieww:\n  theme: x\n", ":1:1: unknown key 'vieww'; did you mean"),
        ("check", "config.yaml", "rules: {mute: [entropy_colapse]}\n", "'entropy_collapse'?"),
        ("check", "config.yaml", "metrics: {entropy: {category: aktor}}\n", "mean 'actor'?"),
        ("check", "dialects/mine.yaml", "id: mine\ntitel: Mine\n", "did you mean 'title'?"),
        ("check", "rules/mine.yaml", "rules:\n  - idd: mine\n    title: Mine\n", ""),
        ("watch", "themes/mine.yaml", "name: mine\ncolors: {}\n", ""),
        ("watch", "config.yaml", "keys: {qiut: [q]}\n", ":1:8: "),
    ],
)
def test_a_broken_document_says_where(
    cli: Cli,
    well: Path,
    monkeypatch: pytest.MonkeyPatch,
    verb: str,
    name: str,
    text: str,
    words: str,
) -> None:
    monkeypatch.setattr("rltui.commands.watch.need_terminal", lambda _: None)
    monkeypatch.setattr("rltui.pages.app.RltuiApp.run", lambda self, **_: None)
    config, document = well.parent / "config.yaml", well.parent / name
    config.write_text("view: {theme: mine}\n" if verb == "watch" else "")
    document.parent.mkdir(exist_ok=True)
    document.write_text(text)
    result = cli(verb, well, "--config", config)
    assert (result.code, result.out) == (2, "")
    assert f"{document}:" in result.err
    assert words in result.err
