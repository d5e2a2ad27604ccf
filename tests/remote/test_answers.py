"""What the far side answers about its files."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from rltui.core.batch import RunKey
from rltui.remote import part as answers
from rltui.remote.part import answer
from rltui.remote.stream import Stream
from rltui.remote.wire import Frame, FrameReader, FrameWriter, Kind, WireError
from rltui.remote.wire.messages import (
    MOST_READ,
    Again,
    Answer,
    Question,
    Request,
    Sort,
    What,
    load_kept,
)


def sent(found: Answer) -> Answer:
    """An answer after its way through a connection."""
    return Answer.load(Frame(Kind.ANSWER, found.dump()))


def test_names_of_any_bytes_come_through(tmp_path: Path) -> None:
    strange = os.fsdecode(b"\xff\n\x1b[2J")
    (tmp_path / strange).mkdir()
    found = sent(answer(Question(What.NAMES, str(tmp_path))))
    assert list(found.names) == [(strange, Sort.DIRECTORY)]
    assert sent(answer(Question(What.STATUS, f"{tmp_path}/{strange}"))).sort is Sort.DIRECTORY


@pytest.mark.parametrize(("limit", "most"), [("MOST_NAMES", 3), ("MOST_NAME_BYTES", 7)])
def test_a_directory_of_too_many_names_is_not_listed(
    limit: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        (tmp_path / f"{number}.").touch()
    assert len(sent(answer(Question(What.NAMES, str(tmp_path)))).names) == 3
    monkeypatch.setattr(answers, limit, most)
    (tmp_path / "more").touch()
    found = sent(answer(Question(What.NAMES, str(tmp_path))))
    assert found.error is not None
    assert found.error.errno == errno.EFBIG


def test_one_answer_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * (MOST_READ + 9))
    found = sent(answer(Question(What.BYTES, f"{tmp_path}/a", 0, MOST_READ + 9)))
    assert len(found.data) == MOST_READ
    found = sent(answer(Question(What.BYTES, f"{tmp_path}/a", MOST_READ, MOST_READ)))
    assert found.data == b"x" * 9


@pytest.mark.parametrize(
    ("path", "number"),
    [("none", errno.ENOENT), ("a/b", errno.ENOTDIR), ("x" * 300, errno.ENAMETOOLONG)],
)
@pytest.mark.parametrize("what", What)
def test_errors_of_the_system_are_answers(
    what: What, path: str, number: int, tmp_path: Path
) -> None:
    (tmp_path / "a").touch()
    found = sent(answer(Question(what, f"{tmp_path}/{path}", 0, 10)))
    assert found.error is not None
    assert found.error.errno == number


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\xff\xff\xff\x7f{}",
        b"\x02\x00\x00\x00[]",
        b'\x10\x00\x00\x00{"sort":"socket"}',
        *(
            len(head).to_bytes(4, "little") + head
            for head in (
                b'{"sort":"file","size":-1}',
                b'{"sort":"file","names":[["a/b","file"]]}',
                b'{"sort":"file","names":[["..","directory"]]}',
                b'{"sort":"file","names":[["a"]]}',
            )
        ),
    ],
)
def test_answers_that_cannot_be_are_refused(payload: bytes) -> None:
    with pytest.raises(WireError):
        Answer.load(Frame(Kind.ANSWER, payload))


@pytest.mark.parametrize(
    "payload",
    [
        b'{"what":"write","path":"/a"}',
        b'{"what":"bytes","path":"/a","size":99999999}',
        b'{"what":"bytes","path":"/a","begin":-1}',
        b'{"what":"bytes","path":"/a\\u0000"}',
        b'{"what":"status"}',
    ],
)
def test_questions_that_cannot_be_are_refused(payload: bytes) -> None:
    with pytest.raises(WireError):
        Question.load(Frame(Kind.ASK, payload))


def test_an_unknown_error_is_one_of_reading() -> None:
    head = b'{"error":"strerror","text":"odd\\u001b[2J"}'
    found = Answer.load(Frame(Kind.ANSWER, len(head).to_bytes(4, "little") + head))
    assert found.error is not None
    assert found.error.errno == errno.EIO
    assert str(found.error).isprintable()


class Side:
    """This side of a stream that runs in this process."""

    def __init__(self, logdir: Path) -> None:
        self._got = b""
        self.stream = Stream([logdir], self._take, idle_s=0.0)

    def _take(self, data: bytes) -> None:
        self._got += data

    def asks(self, *frames: tuple[Kind, bytes]) -> list[Frame]:
        """What comes back until the far side ends for want of questions."""
        out: list[bytes] = []
        writer = FrameWriter(out.append)
        for kind, payload in frames:
            writer.put(kind, payload)
        writer.flush()
        self.stream.take(b"".join(out))
        self.stream.run()
        return list(FrameReader().feed(self._got))


def test_a_connection_ends_when_nobody_asks(tmp_path: Path) -> None:
    question = Question(What.STATUS, str(tmp_path)).dump()
    hello, *answers = Side(tmp_path).asks((Kind.ASK, question), (Kind.ASK, question))
    assert hello.kind == Kind.HELLO
    assert [f.kind for f in answers] == [Kind.ANSWER] * 2


def test_a_connection_for_reading_again_ends_when_nobody_asks(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"step": 1, "loss": 2.5}\n')
    nothing = Again(RunKey(0, "a"), ())
    frames = Side(tmp_path).asks(
        (Kind.REQUEST, Request().dump()), (Kind.AGAIN, nothing.dump(only_ask=True))
    )
    assert load_kept(frames[-1]) is False


def test_other_frames_are_no_questions(tmp_path: Path) -> None:
    question = Question(What.STATUS, str(tmp_path)).dump()
    with pytest.raises(WireError, match="a frame of kind ASK was expected"):
        Side(tmp_path).asks((Kind.ASK, question), (Kind.READ, b"{}"))
