"""rltui replay: where it begins."""

import json
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main
from rltui.commands import replay
from rltui.tui.playback import ReplayStart

Shown = list[tuple[int | None, ReplayStart]]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Shown:
    """Where the run stood, and how the replay begins, when the app would have opened."""
    seen: Shown = []

    def show(session: Any, _: object, departure: object, start: ReplayStart) -> int:
        seen.append((session.replay.step, start))
        session.stop()
        return 0

    monkeypatch.setattr("rltui.commands.replay.need_terminal", lambda _: None)
    monkeypatch.setattr(replay, "show", show)
    return seen


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        rows = [{"step": i, "data": {"actor/entropy": 2.0, "loss": 1.0}} for i in range(5, 50, 5)]
        text = "".join(json.dumps(r) + "\n" for r in rows)
        (tmp_path / name / "metrics.jsonl").write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("options", "step", "start"),
    [
        ([], 5, ReplayStart(10.0, None, playing=True)),
        (["--speed", "3"], 5, ReplayStart(3.0, None, playing=True)),
        (["--to", "22"], 20, ReplayStart(10.0, 22, playing=False)),
        (["--to", "22", "--speed", "3"], 5, ReplayStart(3.0, 22, playing=True)),
    ],
    ids=["plain", "speed", "to", "both"],
)
def test_where_it_begins(
    shown: Shown, logs: Path, options: list[str], step: int, start: ReplayStart
) -> None:
    assert main(["replay", str(logs / "a"), *options]) == 0
    assert shown == [(step, start)]


def test_several_runs_must_be_chosen_from(
    shown: Shown, logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(logs)]) == 2
    assert "there are 2: choose with --run (a, b)" in capsys.readouterr().err
    assert main(["replay", str(logs), "--run", "b"]) == 0
    assert len(shown) == 1


def test_every_name_that_is_printed_chooses_its_run(
    shown: Shown, logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = (logs / "a" / "metrics.jsonl").read_text()
    first, second = tmp_path / "first", tmp_path / "second"
    for place in (first / "a/logs/x", first / "a/eval", first / "b/logs", second / "b/logs"):
        place.mkdir(parents=True)
        (place / "metrics.jsonl").write_text(rows)
    (second / "metrics.jsonl").write_text(rows)
    assert main(["replay", str(first), str(second)]) == 2
    error = capsys.readouterr().err
    names = error.partition("--run (")[2].partition(")")[0].split(", ")
    assert len(names) == 5, error
    for name in names:
        assert main(["check", str(first), str(second), "--run", name]) in (0, 1)
        assert capsys.readouterr().out.split()[1].rstrip(":") == name
        assert main(["replay", str(first), str(second), "--run", name]) == 0
    assert len(shown) == len(names)
