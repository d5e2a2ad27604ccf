"""``rltui stream`` as a process: what it sends, and that it ends with its pipes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from rltui.remote.wire import BatchDecoder, Frame, FrameReader, FrameWriter, Kind
from rltui.remote.wire.codec import dump
from rltui.remote.wire.messages import (
    Hello,
    Message,
    Read,
    Request,
    kind_of,
    message_in,
)

PATIENCE_S = 60


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "metrics.jsonl").write_text('{"step": 1, "loss": 0.5}\n')
    return tmp_path


class Far:
    """A process that streams."""

    def __init__(self, *paths: Path) -> None:
        command = [sys.executable, "-m", "rltui", "stream", "--", *map(str, paths)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        self._reader = FrameReader()
        self._writer = FrameWriter(self.input.write)

    @property
    def input(self) -> IO[bytes]:
        assert self.process.stdin is not None
        return self.process.stdin

    @property
    def output(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout

    def send(self, message: Message) -> None:
        self._writer.put(Frame(kind_of(message), dump(message)))
        self._writer.flush()

    def frames(self) -> Iterator[Frame]:
        while data := self.output.read(1 << 16):
            yield from self._reader.feed(data)

    def until(self, kind: Kind) -> Frame:
        return next(frame for frame in self.frames() if frame.kind == kind)

    def end(self) -> int:
        return self.process.wait(PATIENCE_S)


@pytest.fixture
def far(logdir: Path) -> Iterator[Far]:
    far = Far(logdir)
    yield far
    far.process.kill()
    far.input.close()
    far.output.close()
    far.end()


def test_it_reads_once(far: Far, logdir: Path) -> None:
    hello = message_in(far.until(Kind.HELLO))
    assert isinstance(hello, Hello)
    assert hello.logdirs == (logdir,)
    far.send(Request())
    far.until(Kind.SCANNED)
    far.send(Read())
    decoder, points = BatchDecoder(1), 0
    for frame in far.frames():
        if frame.kind == Kind.BATCH:
            batch = decoder.batch_of(frame)
            assert batch is not None
            points += sum(block.points for block in batch.blocks)
        if frame.kind == Kind.END:
            break
    assert points == 1
    assert far.end() == 0


def test_it_follows_until_its_input_is_closed(far: Far) -> None:
    far.send(Request())
    far.send(Read(follow=True))
    far.until(Kind.BATCH)
    assert far.process.poll() is None
    far.input.close()
    assert far.end() == 0


def test_it_ends_when_nobody_reads_its_output(far: Far, logdir: Path) -> None:
    far.send(Request())
    far.send(Read(follow=True))
    far.until(Kind.BATCH)
    far.output.close()
    with (logdir / "a" / "metrics.jsonl").open("a") as log:
        log.write('{"step": 2, "loss": 0.5}\n')
    assert far.end() == 0


def test_it_refuses_a_terminal() -> None:
    import os
    import pty

    parent, child = pty.openpty()
    command = [sys.executable, "-m", "rltui", "stream", "."]
    done = subprocess.run(command, stdout=child, stderr=subprocess.PIPE, check=False, timeout=60)
    os.close(parent)
    os.close(child)
    assert done.returncode == 2
    assert b"for another rltui" in done.stderr
