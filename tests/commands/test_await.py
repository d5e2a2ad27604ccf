"""A LOGDIR that does not exist yet: ``watch`` waits for it, ``check --follow --wait`` so long."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.commands.check import await_any
from rltui.core.address import parse_logdir
from rltui.session import Session
from rltui.session.session import Choice
from tests.clock import ManualClock
from tests.commands.conftest import Cli, write_jsonl


def test_without_a_wait_it_is_an_error(cli: Cli, tmp_path: Path) -> None:
    for options in ([], ["--follow"], ["--follow", "--wait", "0"]):
        result = cli("check", tmp_path / "none", *options)
        assert (result.code, result.out) == (2, "")
        assert result.err == f"rltui: {tmp_path / 'none'}: no such file or directory\n"


def test_a_wait_is_for_those_who_follow(cli: Cli, tmp_path: Path) -> None:
    assert cli("check", tmp_path, "--wait", "5").err == "rltui: --wait needs --follow\n"


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ("grpo-7", "; did you mean '{}/grpo-7'?"),
        ("other", ""),
    ],
)
def test_the_wait_is_said_and_ends_when_it_is_there(
    there: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / there).mkdir()
    clock, path = ManualClock(), tmp_path / "gpro-7" / "logs"

    def passes(seconds: float) -> None:
        clock.advance(seconds)
        if clock.monotonic() > 30:
            path.mkdir(parents=True, exist_ok=True)

    await_any([path], 3600, clock, passes)
    assert 30 < clock.monotonic() < 32
    assert capsys.readouterr().err == (
        f"rltui: {path}: does not exist yet{said.format(tmp_path)}; waiting for it\n"
    )
    path.rmdir()
    begun = clock.monotonic()
    await_any([path], 10, clock, clock.advance)
    assert clock.monotonic() - begun == 10


@pytest.mark.parametrize("text", [".", "-", "node7:/none"])
def test_nobody_waits_for_what_is_there_or_elsewhere(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = ManualClock()
    monkeypatch.chdir(tmp_path)
    await_any([parse_logdir(text), tmp_path / "none"], 60, clock, clock.advance)
    assert not clock.monotonic()


def test_a_session_that_waits_reads_it_when_it_is_there(tmp_path: Path) -> None:
    (tmp_path / "run-7").mkdir()
    path = tmp_path / "rnu-7"
    session = Session([path], choice=Choice(waits=True, partial=True, absent=True))
    session.scan()
    assert session.reach.awaited == {path: tmp_path / "run-7"}
    write_jsonl(path / "a.jsonl", {"loss": [1.0, 0.5]})
    session.scan()
    session.read_all()
    assert [r.key.name for r in session.runs()] == ["a"]
    assert not session.reach.awaited
    session.stop()
