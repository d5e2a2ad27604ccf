"""A log that comes through a pipe."""

import os
import re
import threading
from collections.abc import Iterator

import pytest

from rltui.core.address import PIPE, PIPE_NAME
from rltui.core.batch import Batch
from rltui.health.job_log import JobLogs
from rltui.sources import Reader
from rltui.sources.follow import stdin_feed as pipe_reader
from rltui.sources.follow.stdin_feed import PipeReader
from rltui.sources.options import ReaderOptions

ROW = "step:{0} - actor/entropy:{1} - critic/score/mean:0.5 - response_length/mean:300.0\n"


class Pipe:
    """Both ends of a pipe."""

    def __init__(self) -> None:
        self.out, descriptor = os.pipe()
        self._into = os.fdopen(descriptor, "wb", buffering=0)

    def write(self, text: str | bytes) -> None:
        data = text.encode() if isinstance(text, str) else text
        while data:
            data = data[self._into.write(data) :]

    def close(self) -> None:
        self._into.close()


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    ends = Pipe()
    yield ends
    ends.close()
    os.close(ends.out)


def steps(batches: list[Batch]) -> list[int]:
    return [int(s) for b in batches for block in b.blocks for s in block.steps]


def written(pipe: Pipe, text: str) -> Reader:
    """A reader of a pipe through which all of ``text`` has come, and nothing more will."""
    pipe.write(text)
    pipe.close()
    return Reader([PIPE], ReaderOptions(pipe=pipe.out))


def console(last: int) -> str:
    return "some noise\n" + "".join(ROW.format(s, 0.5 - s / 100) for s in range(1, last + 1))


def test_a_pipe_is_read_to_its_end(pipe: Pipe) -> None:
    batches = list(written(pipe, console(9)).read_all())
    assert steps(batches) == list(range(1, 10))
    assert {b.run.name for b in batches} == {PIPE_NAME}
    assert not batches[-1].more


def test_what_is_no_log_is_reported(pipe: Pipe) -> None:
    *_, last = written(pipe, "hello\nworld\n").read_all()
    assert [n.message for n in last.notes] == ["no rows of metrics came through it"]


def test_live_rows_arrive_as_they_are_written(pipe: Pipe) -> None:
    reader = Reader([PIPE], ReaderOptions(pipe=pipe.out))
    reader.start()
    pipe.write(console(2))
    found: list[Batch] = []
    while not steps(found):
        assert reader.wait(10)
        found += reader.drain()
    assert not reader.ended
    pipe.write(ROW.format(3, 0.4))
    while len(steps(found)) < 3:
        assert reader.wait(10)
        found += reader.drain()
    pipe.close()
    while not reader.ended:
        reader.wait(1)
        found += reader.drain()
    reader.stop()
    assert steps(found) == [1, 2, 3]


@pytest.mark.parametrize("form", ["json", "console"])
def test_a_last_row_without_newline(pipe: Pipe, form: str) -> None:
    rows = "".join(f'{{"step": {s}, "loss": 0.5}}\n' for s in range(1, 31))
    text = rows if form == "json" else console(30)
    assert steps(list(written(pipe, text.rstrip("\n")).read_all())) == list(range(1, 31))


def test_what_nobody_takes_is_dropped_at_last(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the view is paused the training must go on, but not fill the memory."""
    monkeypatch.setattr(pipe_reader, "_MOST_BYTES", 1 << 20)
    came = threading.Semaphore(0)
    reader = PipeReader(pipe.out, came.release)
    row = ROW.format(1, 0.5)
    pipe.write(row + row[:30])
    assert came.acquire(timeout=10)
    assert reader.read(1 << 20, wait=False)[0] == (row + row[:30]).encode()
    pipe.write(row[30:] + "".join(ROW.format(s, 0.5) for s in range(2, 60_000)))
    pipe.close()
    while not reader._ended:
        assert came.acquire(timeout=10)
    data, more, ended, dropped = reader.read(1 << 30, wait=False)
    first, second, *_, last = data.decode().splitlines()
    assert (more, ended, reader.read(1, wait=False)[3]) == (False, True, 0)
    assert first == row[30:].rstrip()
    assert re.fullmatch(r"step:\d+ - actor.*:300.0", second)
    assert last.startswith("step:59999 ")
    assert len(data) < 1 << 20
    assert dropped > 3 << 20


def test_the_output_of_a_job_that_died_before_its_first_row(pipe: Pipe) -> None:
    pipe.write("loading\nTraceback (most recent call last):\n  File 'x'\nValueError: no data")
    pipe.close()
    *_, last = Reader([PIPE], ReaderOptions(pipe=pipe.out, ends=JobLogs())).read_all()
    assert last.source.format == "console"
    assert last.tail.lines[-1] == "ValueError: no data"
    assert not last.notes
