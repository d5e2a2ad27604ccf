"""Log directories of a few kinds, and the command line as a function."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from rltui.cli import main
from tests.fakes import grpo_tags


@dataclass(frozen=True)
class Result:
    """What a command left behind."""

    code: int
    out: str
    err: str


Cli = Callable[..., Result]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Run ``rltui`` with arguments."""

    def call(*arguments: str | Path) -> Result:
        capsys.readouterr()
        try:
            code = main([str(a) for a in arguments])
        except SystemExit as leave:
            code = int(leave.code or 0)
        out, err = capsys.readouterr()
        return Result(int(code), out, err)

    return call


def write_jsonl(path: Path, tags: Mapping[str, Sequence[float]], first: int = 1) -> Path:
    """A log as verl's file logger writes it; NaN as Python's json does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = max((len(v) for v in tags.values()), default=0)
    with path.open("w", encoding="utf-8") as out:
        for i in range(rows):
            data = {t: v[i] for t, v in tags.items() if i < len(v)}
            out.write(json.dumps({"step": first + i, "data": data}) + "\n")
    return path


@pytest.fixture
def well(tmp_path: Path) -> Path:
    """A log directory with one healthy run."""
    write_jsonl(tmp_path / "well" / "calm.jsonl", grpo_tags(60))
    return tmp_path / "well"


@pytest.fixture
def bad_logs(tmp_path: Path) -> Path:
    """A log directory with a collapsed, a healthy and a NaN run."""
    logdir = tmp_path / "bad_logs"
    write_jsonl(logdir / "a" / "collapsed.jsonl", grpo_tags(60, collapse=30))
    write_jsonl(logdir / "b" / "calm.jsonl", grpo_tags(60))
    broken = grpo_tags(60)
    broken["actor/pg_loss"][40:] = [float("nan")] * 20
    broken["actor/grad_norm"][50] = float("inf")
    write_jsonl(logdir / "nan.jsonl", broken)
    return logdir
