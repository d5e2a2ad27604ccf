"""One of several logdirs cannot be read: the others are, and that is said. Here and elsewhere.

Wrong paths, wrong documents, logs that try to do harm: a message and a code, no traceback.
"""

import json
import os
import stat
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

import rltui
from rltui.config import Config
from rltui.config.records import WatchConfig
from rltui.core.address import parse_logdir
from rltui.session import Session
from rltui.session.session import Choice
from tests.builders import running
from tests.commands.conftest import Cli, write_jsonl
from tests.formats.encode import event, header, simple
from tests.remote.ssh.far_host import PATIENCE_S, FarHost, far_host
from tests.tables import cases

__all__ = ["far_host"]

Places = Callable[[Path], str]


@pytest.fixture(params=["here", "on one host", "on two hosts"])
def places(request: pytest.FixtureRequest, far_host: FarHost) -> tuple[Places, Places]:
    """How the first and the second logdir are called."""

    def at(host: str) -> Places:
        return lambda path: f"{host}:{path}"

    hosts = {"on one host": ("node1", "node1"), "on two hosts": ("node1", "node2")}
    first, second = hosts.get(request.param, ("", ""))
    return (at(first), at(second)) if first else (str, str)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    rows = {"loss": [1 / s for s in range(1, 30)]}
    write_jsonl(tmp_path / "runs" / "a.jsonl", rows)
    return tmp_path / "runs"


def test_check_judges_the_others(
    cli: Cli, places: tuple[Places, Places], runs: Path, tmp_path: Path
) -> None:
    good, missing = places[0](runs), places[1](tmp_path / "none")
    result = cli("check", good, missing, "--json")
    assert result.code == 2
    assert result.err == f"rltui: {missing}: no such file or directory\n"
    document = json.loads(result.out)
    assert [r["run"] for r in document["runs"]] == ["a"]
    assert [n["message"] for n in document["notes"]] == ["no such file or directory"]


def test_check_of_a_file_that_is_no_log_and_of_a_log(
    cli: Cli, places: tuple[Places, Places], runs: Path, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    bad = places[1](tmp_path / "notes.txt")
    result = cli("check", bad, places[0](runs))
    assert (result.code, "a (" in result.out) == (2, True)
    assert f"{bad}: 1 line of text" in result.err


def test_a_bad_path_counts_for_more_than_the_verdict(cli: Cli, runs: Path, tmp_path: Path) -> None:
    write_jsonl(runs / "a.jsonl", {"loss": [1 / s for s in range(1, 30)] + [float("nan")]})
    assert cli("check", runs).code == 1
    assert cli("check", runs, tmp_path / "none").code == 2
    assert cli("check", runs, tmp_path / "none", "--fail-on", "never").code == 2


@pytest.mark.parametrize("verb", ["snapshot", "export"])
def test_other_verbs_want_every_path(cli: Cli, runs: Path, tmp_path: Path, verb: str) -> None:
    result = cli(verb, runs, tmp_path / "none")
    assert (result.code, result.out) == (2, "")


def test_from_python_every_path_is_wanted(
    places: tuple[Places, Places], runs: Path, tmp_path: Path
) -> None:
    paths = [places[0](runs), places[1](tmp_path / "none")]
    for call in (rltui.read, rltui.judge, lambda p: next(rltui.follow(p))):
        with pytest.raises(rltui.RltuiError, match="none: no such file or directory"):
            call(paths)  # type: ignore[operator]


def test_a_live_session_waits_for_an_empty_file(
    places: tuple[Places, Places], runs: Path, tmp_path: Path
) -> None:
    """That may become a log is no trouble; to judge it now is not possible."""
    (tmp_path / "train.log").touch()
    logdirs = [parse_logdir(p) for p in (places[0](runs), places[1](tmp_path / "train.log"))]
    for waits in (True, False):
        session = Session(logdirs, choice=Choice(waits=waits, partial=True))
        session.scan()
        assert [n.message for n in session.reader.state.unread] == (
            [] if waits else ["empty so far"]
        )
        session.stop()


def test_a_live_session_shows_the_others_and_waits(
    places: tuple[Places, Places], runs: Path, tmp_path: Path
) -> None:
    missing = tmp_path / "none"
    logdirs = places[0](runs), places[1](missing)
    quick = Config(watch=WatchConfig(fast_s=0.05, slow_s=0.2, rescan_s=0.2))
    choice = Choice(waits=True, partial=True)
    session = Session([parse_logdir(p) for p in logdirs], quick, choice=choice)
    session.scan()
    assert [(str(n.path), n.message) for n in session.reader.state.unread] == [
        (logdirs[1], "no such file or directory")
    ]
    assert session.reach.notes == session.reader.state.unread
    with running(session):
        write_jsonl(missing / "b.jsonl", {"loss": [1.0, 2.0]})
        while len(session.views) < 2:
            assert session.reader.wait(PATIENCE_S)
            session.drain()
    assert [r.key.name for r in session.runs()] == ["a", "b"]
    assert not session.reader.state.unread
    assert not session.reader.state.out_of_reach


def test_who_serves_says_what_is_missing(
    cli: Cli, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rltui.commands.serve_metrics.updates", interrupted)
    result = cli("serve-metrics", runs, tmp_path / "none", "--listen", "127.0.0.1:0")
    assert result.code == 0
    assert f"rltui: {tmp_path / 'none'}: no such file or directory\n" in result.err


def interrupted(*_: object, **__: object) -> Generator[None, None, None]:
    yield
    raise KeyboardInterrupt


@pytest.mark.parametrize("verb", ["check", "snapshot", "export", "plot"])
def test_a_host_that_is_down_is_no_wrong_usage(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.setenv("RLTUI_SSH", "sh -c 'echo no route to host >&2; exit 255'")
    result = cli(verb, "node7:/runs", *(["loss"] if verb == "plot" else []))
    assert (result.code, result.out) == (3, "")
    assert result.err == "rltui: node7: no route to host\n"


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
        ("train.log", b"hello\nworld", "tried: console (no rows of metrics in it so far), "),
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
        assert "no row of metrics below" in result.err
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
@cases(__file__, "a_broken_document_says_where")
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
