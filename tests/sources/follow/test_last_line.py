"""A last line without its end: when it counts, and when it waits."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rltui.core.batch import Batch
from rltui.formats import Decoded
from rltui.sources import Intervals, Reader
from rltui.sources.discovery.logdir import discover
from rltui.sources.follow.reread import read_again
from tests.clock import ManualClock
from tests.formats import encode

LOGS = {
    "train.log": "".join(f"step {s}, loss {4 - s / 8:.4f}, reward {s / 8:.4f}\n" for s in range(9)),
    "progress.csv": "step,loss\n" + "".join(f"{s},{s / 8}\n" for s in range(9)),
    "run.jsonl": "".join(f'{{"step": {s}, "loss": {s / 8}}}\n' for s in range(9)),
}
ALL = pytest.mark.parametrize("name", LOGS)
DAY = 86_400.0


def points(batches: list[Batch]) -> list[tuple[int, float]]:
    """Steps and values of the loss."""
    parts = [Decoded(b.items, replaces=b.replaced) for b in batches]
    found = encode.points_of(parts).get("loss", [])
    return [(step, struct.unpack("<d", value)[0]) for step, _, value in found]


def steps(batches: list[Batch]) -> list[int]:
    return [step for step, _ in points(batches)]


def written(path: Path, text: str, modified: float) -> Path:
    path.write_text(text)
    os.utime(path, (modified, modified))
    return path


@pytest.fixture
def started() -> Iterator[Callable[..., Reader]]:
    readers = []

    def start(logdir: Path, clock: ManualClock) -> Reader:
        reader = Reader([logdir], clock=clock, watch=Intervals(0.01, 0.01, 0.02, inotify=False))
        readers.append(reader)
        reader.start()
        assert reader.listening.wait(20)
        return reader

    yield start
    for reader in readers:
        reader.stop()


@ALL
def test_one_look_reads_it(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(LOGS[name].rstrip("\n"))
    batches = list(Reader([tmp_path]).read_all())
    assert steps(batches) == list(range(9))
    assert sum(b.source.records for b in batches[-1:]) >= 9


@ALL
@pytest.mark.parametrize("end", ["8", "loss"])
def test_half_a_row_is_no_row(tmp_path: Path, name: str, end: str) -> None:
    *lines, last = LOGS[name].splitlines(keepends=True)
    half = last[: last.find(end) + len(end)] if end in last else "8,"
    (tmp_path / name).write_text("".join(lines) + half)
    given = points(list(Reader([tmp_path]).read_all()))
    assert given == [(s, 4 - s / 8 if name == "train.log" else s / 8) for s in range(8)]


@pytest.mark.parametrize("name", ["train.log", "progress.csv"])
def test_live_it_waits_until_the_file_has_been_quiet_for_a_day(
    tmp_path: Path, started: Callable[..., Reader], name: str
) -> None:
    clock = ManualClock()
    file = written(tmp_path / name, LOGS[name].rstrip("\n"), clock.now() - 60)
    assert steps(started(tmp_path, clock).drain()) == list(range(8))
    written(file, LOGS[name].rstrip("\n"), clock.now() - 2 * DAY)
    assert steps(started(tmp_path, clock).drain()) == list(range(9))


@ALL
def test_a_file_that_grows_after_all(tmp_path: Path, name: str) -> None:
    text = LOGS[name].rstrip("\n")
    file = tmp_path / name
    file.write_text(text)
    reader = Reader([tmp_path])
    batches = list(reader.read_all())
    file.write_text(text + "\n" + LOGS[name].splitlines()[-1].replace("8", "9", 1))
    batches += reader.read_all()
    assert steps(batches) == list(range(10))


@ALL
def test_it_is_there_when_the_run_is_read_again(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(LOGS[name].rstrip("\n"))
    reader = Reader([tmp_path])
    batches = list(reader.read_all())
    (run,) = discover([tmp_path]).runs
    sources = {b.source.path: b.source for b in batches}
    again = reader.read_again(run.key, sources, [0])
    assert again is not None
    assert steps(list(again)) == list(range(9))
    # an object of JSON is complete with its last bracket
    ends = 9 if name == "run.jsonl" else 8
    assert steps(list(read_again(run, sources))) == list(range(ends))
