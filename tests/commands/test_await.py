"""A LOGDIR that does not exist yet: ``watch`` waits for it, ``check --follow --wait`` so long."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.commands.check import await_any
from rltui.core.address import parse_logdir
from tests.clock import ManualClock
from tests.commands.conftest import Cli


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
