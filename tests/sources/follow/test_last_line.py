"""A last line without its end: when it counts, and when it waits."""

import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rltui.core.batch import Batch
from rltui.formats.base import Decoded, Options
from rltui.sources import Intervals, Reader
from rltui.sources.discovery.processes import OpenFiles
from rltui.sources.follow import file_feed
from rltui.sources.follow.file_feed import FileFeed
from rltui.sources.options import ReaderOptions
from rltui.store import RunData, Store
from tests.builders import discover
from tests.clock import ManualClock
from tests.formats import encode

LOGS = {
    "train.log": "".join(f"step {s}, loss {4 - s / 8:.4f}, reward {s / 8:.4f}\n" for s in range(9)),
    "progress.csv": "step,loss\n" + "".join(f"{s},{s / 8}\n" for s in range(9)),
    "run.jsonl": "".join(f'{{"step": {s}, "loss": {s / 8}}}\n' for s in range(9)),
}
ALL = pytest.mark.parametrize("name", LOGS)
DAY = 86_400.0
LEFT_OUT = "last row is not complete yet, left out"


def points(batches: list[Batch]) -> list[tuple[int, float]]:
    """Steps and values of the loss."""
    parts = [Decoded(b.items, replaces=b.replaced) for b in batches]
    found = encode.points_of(parts).get("loss", [])
    return [(step, struct.unpack("<d", value)[0]) for step, _, value in found]


def steps(batches: list[Batch]) -> list[int]:
    return [step for step, _ in points(batches)]


def all_of(feed: FileFeed, budget: int = 1 << 20) -> list[Batch]:
    return list(iter(lambda: feed.read(budget), None))


def written(path: Path, text: str, modified: float) -> Path:
    path.write_text(text)
    os.utime(path, (modified, modified))
    return path


@pytest.fixture
def started() -> Iterator[Callable[..., Reader]]:
    readers = []

    def start(logdir: Path, clock: ManualClock) -> Reader:
        watch = Intervals(0.01, 0.01, 0.02, inotify=False)
        reader = Reader([logdir], ReaderOptions(clock, watch))
        readers.append(reader)
        reader.start()
        assert reader.loop.listening.wait(20)
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


@pytest.mark.parametrize("name", ["train.log", "progress.csv"])
def test_a_row_that_is_being_written_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """As long as a process has the file open for writing."""
    file = tmp_path / name
    with file.open("w") as writer:
        writer.write(LOGS[name].rstrip("\n"))
        writer.flush()
        monkeypatch.setattr(file_feed, "_OPEN", OpenFiles())
        batches = list(Reader([tmp_path]).read_all())
    assert steps(batches) == list(range(8))
    assert [n.message for b in batches for n in b.notes] == [LEFT_OUT]
    monkeypatch.setattr(file_feed, "_OPEN", OpenFiles())
    batches = list(Reader([tmp_path]).read_all())
    assert steps(batches) == list(range(9))
    assert not any(b.notes for b in batches)


@pytest.mark.parametrize("name", ["train.log", "progress.csv"])
@pytest.mark.parametrize("budget", [1 << 20, 100], ids=["at once", "in pieces"])
def test_a_completed_row_replaces_what_was_read_of_it(
    tmp_path: Path, name: str, budget: int
) -> None:
    """Whatever the change times say: a file that was taken for complete has grown."""
    rows = [LOGS[name].splitlines()[-1].replace("8", str(s), 1) for s in range(9, 400)]
    whole = LOGS[name] + "".join(f"{row}\n" for row in rows)
    file = written(tmp_path / name, whole[:-3], 0.0)
    (run,) = discover([tmp_path]).runs
    feed = FileFeed(run, run.files[0], Options())
    feed.final = True

    first = points(batches := all_of(feed, budget))
    assert first[-1][0] == 399
    written(file, whole, 0.0)
    second = points(batches + all_of(feed, budget))
    assert [step for step, _ in second] == list(range(400))
    assert second[:-1] == first[:-1]
    assert second == points(list(Reader([tmp_path]).read_all()))
    with file.open("a") as log:
        log.write(rows[-1].replace("399", "400")[:-2])
    assert not points(all_of(feed, budget))  # it has been seen to grow: half a row waits


def test_a_completed_row_keeps_what_was_there_before_the_file_began_anew(tmp_path: Path) -> None:
    def rows(begin: int, end: int, reward: float) -> str:
        return "".join(f"step {s}, loss {s / 8}, reward {reward + s}\n" for s in range(begin, end))

    file = written(tmp_path / "train.log", rows(0, 400, 60_000.5), 0.0)
    (run,) = discover([tmp_path]).runs
    feed, store = FileFeed(run, run.files[0], Options()), Store()

    def take() -> RunData:
        for batch in all_of(feed):
            store.apply(batch)
        return store.runs[run.key]

    take()
    second = rows(200, 480, 70_000.5)
    written(file, second[:-5], 5.0)
    feed.final = True
    assert take().series("reward").values[-1] == 704.0
    written(file, second, 6.0)
    data = take()
    series = data.series("reward")
    assert list(series.steps) == list(range(480))
    assert (series.values[0], series.values[-1]) == (60_000.5, 70_479.5)
    assert (data.extent.restarts, data.files.generations) == ((200,), (1,))
