"""snapshot --svg: a picture in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.cli import main
from tests.commands.conftest import write_jsonl


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    write_jsonl(tmp_path / "a" / "metrics.jsonl", {"actor/entropy": [2.0, 1.9, 1.8]})
    return tmp_path


def test_it_writes_a_picture_and_prints_nothing(
    logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "out.svg"
    assert main(["snapshot", str(logs / "a"), "--svg", str(target)]) == 0
    assert target.read_text().startswith("<svg")
    assert capsys.readouterr().out == ""


def test_never_into_a_log_directory(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = logs / "a" / "out.svg"
    assert main(["snapshot", str(logs / "a"), "--svg", str(target)]) == 2
    assert "never writes" in capsys.readouterr().err
    assert not target.exists()


def test_without_a_log_there_is_no_picture(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert main(["snapshot", str(tmp_path / "empty"), "--svg", str(tmp_path / "x.svg")]) == 3
    assert not (tmp_path / "x.svg").exists()
