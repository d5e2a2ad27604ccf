"""Verbs over a directory in memory: nothing but the address differs.

What the far side answers about its files.
"""

from __future__ import annotations

import errno
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main
from rltui.core.address import parse_logdir
from rltui.core.batch import Batch
from rltui.files.disk import costs
from rltui.remote import host_script, stream
from rltui.remote.host_script import MOST_READ
from rltui.remote.stream import Stream, answer
from rltui.remote.wire.codec import WireError, dump, dump_json, load
from rltui.remote.wire.framing import Frame, FrameReader, FrameWriter, Kind
from rltui.remote.wire.messages import Answer, Message, Question, Read, Request, Sort, What, kind_of
from rltui.sources.discovery.logdir import RunFinder
from rltui.sources.follow.reader import Reader
from rltui.sources.side_files import sample_files
from rltui.sources.side_files.sample_files import find_samples
from rltui.sources.side_files.settings_files import read_settings
from tests.remote.stores import MemoryShelf, need_extra
from tests.remote.test_stores import rows

PATIENCE_S = 30.0
NO_TABLE = "looks like a database of a tracker, which is read from a local disk only"


@pytest.fixture
def shelf() -> MemoryShelf:
    shelf = MemoryShelf()
    shelf.put("a/metrics.jsonl", rows(0, 100))
    shelf.put("b/metrics.jsonl", rows(0, 200))
    return shelf


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(capsys, *arguments)[1])
    return found


def test_check_is_that_of_a_local_directory(
    shelf: MemoryShelf, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, last in (("a", 100), ("b", 200)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "metrics.jsonl").write_bytes(rows(0, last))
    here = document(capsys, "check", "--json", str(tmp_path))
    there = document(capsys, "check", "--json", shelf.address)
    assert there["logdirs"] == [shelf.address]
    assert [r["path"] for r in there["runs"]] == [f"{shelf.address}/{n}" for n in "ab"]
    for run_here, run_there in zip(here["runs"], there["runs"], strict=True):
        for same in ("run", "level", "categories", "last_step", "findings"):
            assert run_here[same] == run_there[same]


def test_doctor_counts_requests(shelf: MemoryShelf, capsys: pytest.CaptureFixture[str]) -> None:
    shelf.put("mlflow.db", b"SQLite format 3\0")
    (found,) = document(capsys, "doctor", "--json", shelf.address)["logdirs"]
    assert (found["filesystem"], found["inotify"], found["error"]) == ("memory", False, None)
    assert [r["run"] for r in found["runs"]] == ["a", "b"]
    requests = found["requests"]
    assert requests["reads"] == 2
    assert requests["bytes_read"] == len(rows(0, 100)) + len(rows(0, 200))
    assert requests["lists"] in range(3, 6)
    assert 0 < requests["least"] < requests["most"]
    assert [n["reason"] for n in found["not_read"]] == [NO_TABLE]
    assert "lists a minute" in run(capsys, "doctor", shelf.address)[1]


def test_doctor_says_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    need_extra("fsspec")
    (found,) = document(capsys, "doctor", "--json", "s4://bucket/runs")["logdirs"]
    assert found["error"] == "s4://bucket/runs: fsspec knows no protocol s4://"


def test_settings_and_samples_beside(shelf: MemoryShelf) -> None:
    shelf.put("a/config.json", b'{"lr": 1e-6}')
    shelf.put("a/rollouts/3.jsonl", b'{"prompt": "p", "response": "r", "reward": 1.0}\n')
    run_path = parse_logdir(shelf.address) / "a"
    settings = read_settings([run_path])
    assert (settings.values, settings.files) == ({"lr": 1e-6}, ("config.json",))
    (samples,) = find_samples(run_path)
    (row,) = samples.load(3).rows
    assert dict(samples.read(3, row).texts) == {"prompt": "p", "response": "r"}


def test_a_large_parquet_file_is_not_read(
    shelf: MemoryShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_extra("pyarrow")
    shelf.put("a/completions_00001.parquet", b"PAR1" * 10)
    (samples,) = find_samples(parse_logdir(shelf.address))
    assert "too large" not in samples.load(1).note
    monkeypatch.setattr(sample_files, "_MAX_REMOTE_PARQUET", 39)
    assert samples.load(1).note == "the file is too large to be read from elsewhere"


def test_a_console_log_is_not_searched_from_end_to_end(shelf: MemoryShelf) -> None:
    line = b"a prompt, its answer, and what a judge said of it\n"
    row = b"step:7 - actor/entropy_loss:0.5 - critic/score/mean:0.25\n"
    shelf.put("d/train.log", line * 20_000 + row * 3 + line * 20_000)
    path = parse_logdir(f"{shelf.address}/d")
    assert RunFinder([path]).find().runs == ()
    asked = costs(path)
    assert asked.bytes_read <= 2 << 16
    (named,) = RunFinder([path / "train.log"]).find().runs
    assert named.files


def asked(what: What, path: Path | str, begin: int = 0, size: int = 0) -> tuple[Answer, bytes]:
    """An answer after its way through a connection."""
    found, data = answer(Question(what, Path(path), begin, size))
    return load(Answer, dump_json(found)), data


def test_names_of_any_bytes_come_through(tmp_path: Path) -> None:
    strange = os.fsdecode(b"\xff\n\x1b[2J")
    (tmp_path / strange).mkdir()
    found, _ = asked(What.NAMES, tmp_path)
    assert [(str(n.name), n.sort) for n in found.names] == [(strange, Sort.DIRECTORY)]
    assert asked(What.STATUS, tmp_path / strange)[0].sort is Sort.DIRECTORY


@pytest.mark.parametrize(("limit", "most"), [("MOST_NAMES", 3), ("MOST_NAME_BYTES", 7)])
def test_a_directory_of_too_many_names_is_not_listed(
    limit: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        (tmp_path / f"{number}.").touch()
    assert len(asked(What.NAMES, tmp_path)[0].names) == 3
    monkeypatch.setattr(host_script, limit, most)
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
@pytest.mark.parametrize("what", [what for what in What if what is not What.HOLD])
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

    def send(self, *messages: Message) -> None:
        out: list[bytes] = []
        writer = FrameWriter(out.append)
        for message in messages:
            writer.put(Frame(kind_of(message), dump(message)))
        writer.flush()
        self.stream.feed(b"".join(out))

    def asks(self, *messages: Message) -> list[Frame]:
        """What comes back until the far side ends for want of questions."""
        self.send(*messages)
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


def test_threads_of_a_stream_end_with_its_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "metrics.jsonl").write_bytes(rows(0, 2))
    monkeypatch.setattr(stream, "HEARTBEAT_S", 1000.0)
    following, drain = threading.Event(), Reader.drain

    def drained(reader: Reader) -> list[Batch]:
        following.set()
        return drain(reader)

    monkeypatch.setattr(Reader, "drain", drained)
    side = Side(tmp_path)
    side.send(Request(), Read(follow=True))
    threads = [threading.Thread(target=body) for body in (side.stream.run, side.stream.beat)]
    for thread in threads:
        thread.start()
    assert following.wait(PATIENCE_S)
    side.stream.close()
    for thread in threads:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
