"""One of several logdirs cannot be read: the others are, and that is said. Here and elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

import rltui
from rltui.config import Config
from rltui.config.records import WatchConfig
from rltui.core.address import parse_logdir
from rltui.session import Session
from rltui.session.session import Choice
from tests.commands.conftest import Cli, write_jsonl
from tests.remote.ssh.far_host import PATIENCE_S, FarHost, far_host

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
    session.start()
    try:
        write_jsonl(missing / "b.jsonl", {"loss": [1.0, 2.0]})
        while len(session.views) < 2:
            assert session.reader.wait(PATIENCE_S)
            session.drain()
    finally:
        session.stop()
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
