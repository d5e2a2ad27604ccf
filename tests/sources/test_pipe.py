"""A log that comes through a pipe."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rltui.core.batch import Batch
from rltui.core.pipe import PIPE, PIPE_NAME
from rltui.sources import Reader

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
    return Reader([PIPE], pipe=pipe.out)


def console(last: int) -> str:
    return "some noise\n" + "".join(ROW.format(s, 0.5 - s / 100) for s in range(1, last + 1))


def test_all_of_it_is_read_to_its_end(pipe: Pipe) -> None:
    batches = list(written(pipe, console(9)).read_all())
    assert steps(batches) == list(range(1, 10))
    assert {b.run.name for b in batches} == {PIPE_NAME}
    assert not batches[-1].more


def test_the_end_of_the_log_is_told(pipe: Pipe) -> None:
    text = console(3) + "Traceback (most recent call last):\nRuntimeError: boom\n"
    *_, last = written(pipe, text).read_all()
    assert last.tail is not None
    assert last.tail.lines[-last.tail.after_row :][-1] == "RuntimeError: boom"


def test_json_lines(pipe: Pipe) -> None:
    rows = "".join(f'{{"step": {s}, "loss": 0.5}}\n' for s in range(5))
    assert steps(list(written(pipe, rows).read_all())) == list(range(5))


def test_what_is_no_log_is_told(pipe: Pipe) -> None:
    *_, last = written(pipe, "hello\nworld\n").read_all()
    assert [n.message for n in last.notes] == ["no rows of metrics came through it"]


def test_much_noise_before_the_first_row(pipe: Pipe) -> None:
    reader = Reader([PIPE], pipe=pipe.out)
    reader.start()
    noise = b"Loading checkpoint shards from a place far away\n" * 1000
    for _ in range(150):  # more than is kept
        pipe.write(noise)
    pipe.write(console(9))
    pipe.close()
    found: list[Batch] = []
    while not reader.ended:
        reader.wait(5)
        found += reader.drain()
    reader.stop()
    assert steps(found + reader.drain()) == list(range(1, 10))


def test_live_rows_arrive_as_they_are_written(pipe: Pipe) -> None:
    reader = Reader([PIPE], pipe=pipe.out)
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


def test_a_pipe_beside_a_directory_is_of_its_run(pipe: Pipe, tmp_path: Path) -> None:
    from tests.sources.test_logdir import events

    events(tmp_path, "loss")
    pipe.write(console(3))
    pipe.close()
    batches = list(Reader([tmp_path, PIPE], pipe=pipe.out).read_all())
    assert {b.run.name for b in batches} == {"."}
