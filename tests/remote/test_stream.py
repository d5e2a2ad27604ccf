"""The far side of a stream."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.core.batch import Batch
from rltui.remote import stream as stream_module
from rltui.remote.stream import Stream
from rltui.remote.wire import Frame, FrameReader, FrameWriter, Kind
from rltui.remote.wire.codec import dump
from rltui.remote.wire.messages import Read, Request, kind_of
from rltui.sources.follow.reader import Reader
from tests.builders import a_batch


class _StopError(Exception):
    pass


class OneBatch(Reader):
    """Has one batch, and nothing new to say beside it."""

    kinds: list[int]

    def drain(self, max_batches: int = 64) -> list[Batch]:
        found, self.batches = self.batches, []
        return found

    def wait(self, timeout: float) -> bool:
        if self.batches:
            return True
        self.kinds += [f.kind for f in FrameReader().feed(b"".join(self.received))]
        raise _StopError


def test_a_batch_is_on_its_way_before_the_reader_waits_for_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "a.jsonl"
    log.write_text("{}\n")
    received: list[bytes] = []
    monkeypatch.setattr(OneBatch, "received", received, raising=False)
    monkeypatch.setattr(OneBatch, "batches", [a_batch()], raising=False)
    monkeypatch.setattr(OneBatch, "kinds", kinds := [], raising=False)
    monkeypatch.setattr(stream_module, "Reader", OneBatch)
    stream, out = Stream([tmp_path], received.append), list[bytes]()
    writer = FrameWriter(out.append)
    for message in (Request(), Read(follow=True)):
        writer.put(Frame(kind_of(message), dump(message)))
    writer.flush()
    stream.feed(b"".join(out))
    with pytest.raises(_StopError):
        stream.run()
    assert kinds[-1] == Kind.BATCH
