"""What is too large for a frame is divided or left out; the stream goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rltui.core.batch import Batch, LogTail, Note, RunKey, SourceInfo, TextPoint
from rltui.core.block import Block
from rltui.core.level import Level
from rltui.remote.stream import Stream
from rltui.remote.wire import framing
from rltui.remote.wire.batches import MOST_TEXT, PART_BYTES, BatchDecoder, BatchEncoder
from rltui.remote.wire.codec import dump, load
from rltui.remote.wire.framing import MOST_PAYLOAD, Frame, FrameReader, FrameWriter, Kind
from rltui.remote.wire.messages import MOST_NOTES, Error, State, message_in

PLAIN = Batch(
    RunKey(0, "a"), Path("/a"), SourceInfo(Path("/a/x.jsonl"), "jsonl", 0, 9, 9, 1, 0.0), more=True
)
#: Takes six bytes in a record.
WIDE = "\u00e4"


def frames_of(*batches: Batch) -> list[Frame]:
    out: list[bytes] = []
    writer, encoder = FrameWriter(out.append), BatchEncoder()
    for batch in batches:
        for frame in encoder.frames(batch):
            writer.put(frame)
    writer.flush()
    return list(FrameReader().feed(b"".join(out)))


def decoded(frames: Sequence[Frame]) -> list[Batch]:
    decoder = BatchDecoder(1)
    return [b for f in frames if (b := decoder.batch_of(f)) is not None]


def text(step: int, chars: int) -> TextPoint:
    return TextPoint("sample", step, 0.0, WIDE * chars)


def rows(tags: Sequence[str]) -> Block:
    return Block(tuple(tags), np.arange(2), np.zeros(2), np.ones((2, len(tags))))


def test_many_texts_come_in_several_frames() -> None:
    texts = tuple(text(n, 100_000) for n in range(80))
    frames = frames_of(replace(PLAIN, items=(rows(["loss"]),), texts=texts), PLAIN)
    assert max(len(f.record + f.columns) for f in frames) <= PART_BYTES
    assert sum(len(f.record + f.columns) for f in frames) > MOST_PAYLOAD
    found, after = decoded(frames)
    assert found.texts == texts
    assert replace(found, items=(), texts=()) == PLAIN
    assert after == PLAIN


def test_a_long_text_loses_its_end() -> None:
    texts = text(1, MOST_TEXT + 1), text(2, 3)
    found, after = decoded(frames_of(replace(PLAIN, texts=texts), PLAIN))
    assert [t.text for t in found.texts] == [WIDE * MOST_TEXT, WIDE * 3]
    (note,) = found.notes
    assert (note.path, note.level) == (PLAIN.source.path, Level.WATCH)
    assert note.message == (
        "too large for the connection, and left out: the end of a text of 2,097,153 characters"
    )
    assert after == PLAIN


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"hparams": {str(n): WIDE * 100_000 for n in range(60)}}, "settings"),
        ({"hparams": dict.fromkeys(map(str, range(70_000)), 1)}, "settings"),
        ({"tail": LogTail((WIDE * 60_000,) * 100, 0)}, "its last lines"),
        ({"notes": (Note(Path("/a"), None, Level.OK, WIDE * 60_000),) * 100}, "notes"),
        ({"items": (rows([f"{n}{WIDE * 1000}" for n in range(6000)]),)}, "rows of 6,000 metrics"),
        ({"items": (rows(list(map(str, range(140_000)))),)}, "rows of 140,000 metrics"),
    ],
    ids=["settings", "many settings", "lines", "notes", "tags", "many tags"],
)
def test_what_no_frame_can_hold_is_left_out(changes: dict[str, object], what: str) -> None:
    kept = {"checksum": 7, "texts": (text(1, 3),), **changes}
    batch = replace(PLAIN, **kept)  # type: ignore[arg-type]
    # rows that follow use the number of the list of tags
    plain = replace(PLAIN, items=(rows(["loss"]),))
    _, found, after = decoded(frames_of(plain, batch, plain))
    assert found.notes[-1].message == f"too large for the connection, and left out: {what}"
    assert (found.checksum, found.texts) == (7, (text(1, 3),))
    assert after.blocks[0].tags == ("loss",)


def test_a_setting_with_very_many_digits_arrives_as_text() -> None:
    settings = {"seed": 1 << 70, "least": -(1 << 64), "most": (1 << 64) - 1, "on": True}
    (found,) = decoded(frames_of(replace(PLAIN, hparams=settings)))
    assert found.hparams == {**settings, "seed": hex(1 << 70), "least": hex(-(1 << 64))}


def test_only_so_many_notes_about_directories_are_sent() -> None:
    notes = tuple(Note(Path(f"/{n}"), 1, Level.WATCH, "no") for n in range(MOST_NOTES + 5))
    found = load(State, dump(State(notes=notes, unclaimed=notes[:3]).since(State())))
    assert found.unclaimed == notes[:3]
    assert found.notes[:-1] == notes[:MOST_NOTES]
    assert found.notes[-1].message == "and 5 more such notes"


def test_a_message_that_cannot_be_sent_ends_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[bytes] = []
    stream = Stream([tmp_path], sent.append)
    monkeypatch.setattr(framing, "MOST_PAYLOAD", 70)  # HELLO has more
    stream.run()
    monkeypatch.undo()
    (frame,) = FrameReader().feed(b"".join(sent))
    assert frame.kind == Kind.ERROR
    assert message_in(frame) == Error("too much for one frame of kind HELLO")
