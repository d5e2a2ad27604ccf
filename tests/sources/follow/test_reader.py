"""The reader: inline and in its thread. No sleeps: events, joins and bounded waits."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rltui.core.batch import Batch, Note
from rltui.core.errors import SourceError
from rltui.core.level import Level
from rltui.formats.base import Decoded
from rltui.sources import Intervals, Reader
from rltui.sources.follow import loop
from rltui.sources.follow import threaded_reader as batch_queue
from rltui.sources.follow.file_feed import FileFeed
from rltui.sources.options import ReaderOptions
from tests.formats import encode

FAST = Intervals(0.01, 0.01, 0.02, inotify=False)
LONG = 20.0


def row(step: int, *tags: bytes) -> bytes:
    names = tags or (b"loss", b"reward")
    return b"".join(encode.event(step, 1.78e9 + step, encode.simple(t, step)) for t in names)


def write(path: Path, steps: range) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(b"".join(row(s) for s in steps))
    return path


def steps(batches: list[Batch], tag: str = "loss") -> list[int]:
    found = encode.points_of(Decoded(b.items) for b in batches)
    return [p[0] for p in found.get(tag, [])]


# -- inline -----------------------------------------------------------------------------------


def test_reads_everything_newest_run_first(tmp_path: Path) -> None:
    for number, name in enumerate(("old", "new", "middle")):
        file = write(tmp_path / name / f"x.tfevents.{number}", range(1, 4))
        stamp = {"old": 1000, "middle": 2000, "new": 3000}[name]
        os.utime(file, (stamp, stamp))
    batches = list(Reader([tmp_path]).read_all())
    assert [b.run.name for b in batches] == ["new", "middle", "old"]
    assert all(steps([b]) == [1, 2, 3] for b in batches)
    assert not any(b.more for b in batches)


def test_budget_and_progress(tmp_path: Path) -> None:
    file = write(tmp_path / "x.tfevents.1", range(1, 200))
    reader = Reader([tmp_path], budget_bytes=1000)
    batches = []
    for batch in reader.read_all():
        batches.append(batch)
        done, known = reader.progress()
        assert done == batch.source.offset
        assert known == file.stat().st_size
    assert len(batches) > 10
    assert [b.more for b in batches] == [True] * (len(batches) - 1) + [False]
    assert steps(batches) == list(range(1, 200))
    assert batches[-1].source.records == 2 * 199


def test_bad_paths_raise(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        Reader([tmp_path / "nowhere"]).scan()
    with pytest.raises(SourceError):
        Reader([tmp_path / "nowhere"]).start()
    with pytest.raises(SourceError):
        list(Reader([tmp_path / "nowhere"]).read_all())


def test_files_that_wait(tmp_path: Path) -> None:
    write(tmp_path / "a" / "x.tfevents.1", range(1, 3))
    write(tmp_path / "a" / "x.tfevents.2", range(3, 60))
    write(tmp_path / "a" / "x.tfevents.3", range(60, 62))
    write(tmp_path / "b" / "x.tfevents.1", range(1, 3))
    reader = Reader([tmp_path], budget_bytes=4000)
    batches = list(reader.read_all())
    of_a = [(b.source.order, b.more, b.waiting) for b in batches if b.run.name == "a"]
    parts = len(of_a) - 3
    assert parts > 0
    middle = [(1, True, 1)] * parts
    assert of_a == [(0, False, 2), *middle, (1, False, 1), (2, False, 0)]
    assert [b.waiting for b in batches if b.run.name == "b"] == [0]
    write(tmp_path / "a" / "x.tfevents.1", range(3, 4))
    write(tmp_path / "a" / "x.tfevents.4", range(62, 63))
    again = list(reader.read_all())
    assert [(b.source.order, b.waiting) for b in again] == [(0, 1), (3, 0)]


# -- threaded ---------------------------------------------------------------------------------


@pytest.fixture
def started() -> Iterator[Callable[[Reader], Reader]]:
    readers: list[Reader] = []

    def start(reader: Reader) -> Reader:
        readers.append(reader)
        reader.start()
        return reader

    yield start
    for reader in readers:
        reader.stop()
    assert not [t for t in threading.enumerate() if t.name == "rltui-reader"]


def collect(reader: Reader, until: Callable[[list[Batch]], bool]) -> list[Batch]:
    batches: list[Batch] = []
    while not until(batches):
        assert reader.wait(LONG), "nothing came"
        batches += reader.drain(4)
    return batches


def until(true: Callable[[], bool]) -> None:
    """Wait for something that no batch reports."""
    pause = threading.Event()
    for _ in range(int(LONG / 0.005)):
        if true():
            return
        pause.wait(0.005)
    raise AssertionError("it did not happen")


def test_finds_new_runs_and_files(tmp_path: Path, started: Start) -> None:
    reader = started(Reader([tmp_path], ReaderOptions(watch=FAST)))
    write(tmp_path / "deep" / "run" / "x.tfevents.1", range(1, 3))
    found = collect(reader, lambda b: len(steps(b)) == 2)
    assert {b.run.name for b in found} == {"deep/run"}
    write(tmp_path / "deep" / "run" / "x.tfevents.2", range(3, 5))
    found = collect(reader, lambda b: len(steps(b)) == 2)
    assert found[0].source.order == 1


Start = Callable[[Reader], Reader]


def test_inotify_wakes_the_reader(tmp_path: Path, started: Start) -> None:
    slow = Intervals(1000.0, 1000.0, 1000.0, inotify=True)
    file = write(tmp_path / "x.tfevents.1", range(1, 3))
    reader = started(Reader([tmp_path], ReaderOptions(watch=slow)))
    collect(reader, lambda b: steps(b) == [1, 2])
    ready = threading.Event()
    threading.Thread(target=lambda: (reader.loop.listening.wait(LONG), ready.set())).start()
    assert ready.wait(LONG)
    if not reader.loop.watches:
        pytest.skip("no inotify here")
    write(file, range(3, 4))
    collect(reader, lambda b: steps(b) == [3])


def test_unexpected_errors_are_raised_at_the_next_drain(
    tmp_path: Path, started: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: FileFeed, budget: int) -> Batch | None:
        raise ZeroDivisionError("a mistake of ours")

    monkeypatch.setattr(FileFeed, "read", broken)
    write(tmp_path / "x.tfevents.1", range(1, 3))
    reader = started(Reader([tmp_path], ReaderOptions(watch=FAST)))
    assert reader.wait(LONG)
    with pytest.raises(ZeroDivisionError, match="a mistake of ours"):
        reader.drain()
    assert reader.drain() == []


def test_a_logdir_that_vanishes_is_noted(tmp_path: Path, started: Start) -> None:
    logdir = tmp_path / "logs"
    file = write(logdir / "x.tfevents.1", range(1, 3))
    reader = started(Reader([logdir], ReaderOptions(watch=FAST)))
    collect(reader, lambda b: steps(b) == [1, 2])
    assert reader.state.notes == ()
    file.unlink()
    logdir.rmdir()
    collect(reader, lambda b: any(x.gone for x in b))
    until(lambda: bool(reader.state.notes))
    assert reader.state.notes == (Note(logdir, None, Level.WATCH, "vanished"),)
    logdir.mkdir()
    write(logdir / "y.tfevents.1", range(3, 4))
    collect(reader, lambda b: steps(b) == [3])
    assert reader.state.notes == (Note(logdir, None, Level.OK, "is back"),)


def test_live_files_are_followed_while_much_is_read(
    tmp_path: Path, started: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "TURN_BYTES", 1)
    monkeypatch.setattr(batch_queue, "MOST_BATCHES", 1)
    old = write(tmp_path / "old" / "x.tfevents.1", range(1, 2000))
    os.utime(old, (1000, 1000))
    live = write(tmp_path / "live" / "x.tfevents.1", range(1, 3))
    reader = started(Reader([tmp_path], ReaderOptions(watch=FAST), budget_bytes=2000))
    found = collect(reader, lambda b: len(b) > 3)
    assert found[0].run.name == "live"
    write(live, range(3, 4))
    write(tmp_path / "new" / "x.tfevents.1", range(1, 2))
    found = collect(reader, lambda b: bool(b) and steps(b)[-1] == 1999)
    names = [b.run.name for b in found]
    assert {"live", "new"} <= set(names)
    assert names[-1] == "old"


def test_stop_during_a_search(
    tmp_path: Path, started: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A huge tree on a slow disk: the thread does not search to the end."""
    file = write(tmp_path / "x.tfevents.1", range(1, 3))
    for number in range(20):
        (tmp_path / f"run{number:02}").mkdir()
    reader = started(Reader([tmp_path], ReaderOptions(watch=FAST)))
    collect(reader, lambda b: len(steps(b)) == 2)
    searching, stopped, listed, scandir = threading.Event(), threading.Event(), [], os.scandir

    def slow(path: str) -> Any:
        listed.append(path)
        searching.set()
        assert stopped.wait(LONG)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", slow)
    (tmp_path / "new").mkdir()
    assert searching.wait(LONG)
    stop, reader._wake_ups.stop = reader._wake_ups.stop, lambda: (stop(), stopped.set())
    reader.stop()
    assert len(listed) == 1
    monkeypatch.undo()
    write(file, range(3, 4))
    started(reader)
    collect(reader, lambda b: steps(b) == [3])


# -- new files, and files that make room for others --------------------------------------------


def checkpoint(directory: Path, step: int) -> Path:
    file = directory / f"checkpoint-{step}" / "trainer_state.json"
    file.parent.mkdir(parents=True)
    history = [{"step": s, "loss": 1.0} for s in range(1, step + 1)]
    file.write_text(json.dumps({"global_step": step, "log_history": history}))
    return file


def notes_of(batches: list[Batch]) -> list[str]:
    return [n.message for b in batches for n in b.notes if n.level >= Level.WATCH]


def test_a_rotated_checkpoint_is_no_trouble(tmp_path: Path, started: Start) -> None:
    """Whether its end is noticed before or after the new one: here before."""
    old = checkpoint(tmp_path, 3)
    watch = Intervals(0.01, 0.01, 1000.0, inotify=False)
    reader = started(Reader([tmp_path], ReaderOptions(watch=watch)))
    found = collect(reader, lambda b: steps(b, "train/loss") == [1, 2, 3])
    until(reader.loop.listening.is_set)
    checkpoint(tmp_path, 4)
    old.unlink()
    found += collect(reader, lambda b: any(x.gone for x in b) and 4 in steps(b, "train/loss"))
    assert notes_of(found) == []
    assert reader.loop._schedule._files.keys() == {tmp_path / "checkpoint-4" / old.name}


def test_a_checkpoint_without_a_successor_is_missed(tmp_path: Path, started: Start) -> None:
    old = checkpoint(tmp_path, 3)
    reader = started(Reader([tmp_path], ReaderOptions(watch=FAST)))
    collect(reader, lambda b: steps(b, "train/loss") == [1, 2, 3])
    old.unlink()
    found = collect(reader, lambda b: any(x.gone for x in b))
    assert notes_of(found) == ["was deleted or moved; what was read of it is kept"]
