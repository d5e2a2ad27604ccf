"""What the far side answers about its files."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from rltui.remote import stream as answers
from rltui.remote.stream import Stream, answer
from rltui.remote.wire import Frame, FrameReader, FrameWriter, Kind, WireError
from rltui.remote.wire.codec import dump, load
from rltui.remote.wire.messages import (
    MOST_READ,
    Answer,
    Message,
    Question,
    Read,
    Sort,
    What,
    kind_of,
)


def asked(what: What, path: Path | str, begin: int = 0, size: int = 0) -> tuple[Answer, bytes]:
    """An answer after its way through a connection."""
    found, data = answer(Question(what, Path(path), begin, size))
    return load(Answer, dump(found)), data


def test_names_of_any_bytes_come_through(tmp_path: Path) -> None:
    strange = os.fsdecode(b"\xff\n\x1b[2J")
    (tmp_path / strange).mkdir()
    found, _ = asked(What.NAMES, tmp_path)
    assert [(str(name), sort) for name, sort in found.names] == [(strange, Sort.DIRECTORY)]
    assert asked(What.STATUS, tmp_path / strange)[0].sort is Sort.DIRECTORY


@pytest.mark.parametrize(("limit", "most"), [("MOST_NAMES", 3), ("MOST_NAME_BYTES", 7)])
def test_a_directory_of_too_many_names_is_not_listed(
    limit: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        (tmp_path / f"{number}.").touch()
    assert len(asked(What.NAMES, tmp_path)[0].names) == 3
    monkeypatch.setattr(answers, limit, most)
    (tmp_path / "more").touch()
    assert asked(What.NAMES, tmp_path)[0].error == "EFBIG"


def test_one_answer_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * (MOST_READ + 9))
    assert len(asked(What.BYTES, tmp_path / "a", 0, MOST_READ + 9)[1]) == MOST_READ
    assert asked(What.BYTES, tmp_path / "a", MOST_READ, MOST_READ)[1] == b"x" * 9


@pytest.mark.parametrize(
    ("path", "number"),
    [("none", errno.ENOENT), ("a/b", errno.ENOTDIR), ("x" * 300, errno.ENAMETOOLONG)],
)
@pytest.mark.parametrize("what", What)
def test_errors_of_the_system_are_answers(
    what: What, path: str, number: int, tmp_path: Path
) -> None:
    (tmp_path / "a").touch()
    assert asked(what, tmp_path / path, 0, 10)[0].error == errno.errorcode[number]


class Side:
    """This side of a stream that runs in this process."""

    def __init__(self, logdir: Path) -> None:
        self._got = b""
        self.stream = Stream([logdir], self._take, idle_s=0.0)

    def _take(self, data: bytes) -> None:
        self._got += data

    def asks(self, *messages: Message) -> list[Frame]:
        """What comes back until the far side ends for want of questions."""
        out: list[bytes] = []
        writer = FrameWriter(out.append)
        for message in messages:
            writer.put(Frame(kind_of(message), dump(message)))
        writer.flush()
        self.stream.feed(b"".join(out))
        self.stream.run()
        return list(FrameReader().feed(self._got))


def test_a_connection_ends_when_nobody_asks(tmp_path: Path) -> None:
    question = Question(What.STATUS, tmp_path)
    hello, *answers = Side(tmp_path).asks(question, question)
    assert hello.kind == Kind.HELLO
    assert [f.kind for f in answers] == [Kind.ANSWER] * 2


def test_other_frames_are_no_questions(tmp_path: Path) -> None:
    with pytest.raises(WireError, match="a frame of kind QUESTION was expected"):
        Side(tmp_path).asks(Question(What.STATUS, tmp_path), Read())
