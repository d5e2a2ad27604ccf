"""Each fault that a growing file can have."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from rltui.sources.tail import Polled, Tail

BIG = 1 << 20


def messages(polled: Polled) -> list[str]:
    return [m for _, m in polled.notes]


def touch(path: Path, ns: int) -> None:
    os.utime(path, ns=(ns, ns))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log"
    path.write_bytes(b"first line\n" * 10)
    return path


def test_reads_what_is_appended(log: Path) -> None:
    tail = Tail(log)
    assert tail.poll(BIG).data == b"first line\n" * 10
    assert tail.poll(BIG) == Polled()
    with log.open("ab") as file:
        file.write(b"more")
    polled = tail.poll(BIG)
    assert (polled.data, polled.more, polled.restarted) == (b"more", False, False)
    assert (tail.offset, tail.size, tail.generation) == (114, 114, 0)


def test_budget(log: Path) -> None:
    tail = Tail(log)
    parts = [tail.poll(30) for _ in range(4)]
    assert [len(p.data) for p in parts] == [30, 30, 30, 20]
    assert [p.more for p in parts] == [True, True, True, False]


def test_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.touch()
    tail = Tail(path)
    assert tail.poll(BIG).data == b""
    path.write_bytes(b"x")
    polled = tail.poll(BIG)
    assert (polled.data, polled.restarted) == (b"x", False)


def test_no_handle_stays_open(log: Path) -> None:
    handles = Path("/proc/self/fd")
    before = len(list(handles.iterdir()))
    tails = [Tail(log) for _ in range(50)]
    for tail in tails:
        tail.poll(BIG)
    assert len(list(handles.iterdir())) == before


def test_truncated_and_written_anew(log: Path) -> None:
    tail = Tail(log)
    tail.poll(BIG)
    log.write_bytes(b"other\n")
    polled = tail.poll(BIG)
    assert (polled.data, polled.restarted) == (b"other\n", True)
    assert messages(polled) == ["was truncated and written anew; read again from its start"]
    assert tail.generation == 1
    assert tail.poll(BIG) == Polled()


def test_truncated_to_nothing_first(log: Path) -> None:
    """verl opens its file with truncation and writes the first row minutes later."""
    tail = Tail(log)
    tail.poll(BIG)
    log.write_bytes(b"")
    assert tail.poll(BIG) == Polled()
    log.write_bytes(b"first line\n")
    polled = tail.poll(BIG)
    assert (polled.data, polled.restarted, tail.generation) == (b"first line\n", True, 1)


def test_written_anew_beyond_the_old_size_between_two_polls(log: Path) -> None:
    tail = Tail(log)
    tail.poll(BIG)
    log.write_bytes(b"second one\n" * 20)
    polled = tail.poll(BIG)
    assert polled.data == b"second one\n" * 20
    assert messages(polled) == ["was written anew; read again from its start"]


def test_same_beginning_but_other_content(log: Path) -> None:
    log.write_bytes(b"h" * 2000 + b"one" * 100)
    tail = Tail(log)
    tail.poll(BIG)
    log.write_bytes(b"h" * 2000 + b"two" * 200)
    assert tail.poll(BIG).restarted


def test_a_size_that_lags_is_not_believed(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An NFS client may show an older size for a while: same beginning, shorter."""
    tail = Tail(log)
    tail.poll(BIG)
    whole = log.read_bytes()
    log.write_bytes(whole[:60])
    assert tail.poll(BIG) == Polled()
    log.write_bytes(whole + b"next")
    polled = tail.poll(BIG)
    assert (polled.data, polled.restarted, tail.generation) == (b"next", False, 0)


def test_shorter_and_growing_again_is_believed(log: Path) -> None:
    tail = Tail(log)
    tail.poll(BIG)
    whole = log.read_bytes()
    log.write_bytes(whole[:22])
    assert not tail.poll(BIG).changed
    log.write_bytes(whole[:33])
    polled = tail.poll(BIG)
    assert (polled.data, polled.restarted) == (whole[:33], True)


def test_shorter_for_long_is_believed(log: Path) -> None:
    tail = Tail(log)
    tail.poll(BIG)
    log.write_bytes(log.read_bytes()[:22])
    polls = [tail.poll(BIG) for _ in range(10)]
    assert sum(p.restarted for p in polls) == 1
    assert tail.generation == 1


def test_replaced_by_another_file(log: Path) -> None:
    tail = Tail(log)
    tail.poll(BIG)
    other = log.with_name("other")
    other.write_bytes(b"something else entirely\n" * 9)
    other.replace(log)
    polled = tail.poll(BIG)
    assert (polled.restarted, tail.generation) == (True, 1)
    assert messages(polled) == ["was replaced by another file; read again from its start"]
    assert polled.data == b"something else entirely\n" * 9


def test_replaced_by_a_longer_copy_of_itself_goes_on(log: Path) -> None:
    """rsync writes a new file and renames it."""
    tail = Tail(log)
    tail.poll(BIG)
    copy = log.with_name("copy")
    copy.write_bytes(log.read_bytes() + b"new")
    copy.replace(log)
    polled = tail.poll(BIG)
    assert (polled.data, polled.restarted, tail.generation) == (b"new", False, 0)


def test_deleted_and_created_again(log: Path) -> None:
    tail = Tail(log)
    tail.poll(BIG)
    log.unlink()
    assert messages(tail.poll(BIG)) == ["was deleted or moved; what was read of it is kept"]
    assert tail.gone
    assert tail.poll(BIG) == Polled()
    log.write_bytes(b"again\n")
    polled = tail.poll(BIG)
    assert (polled.data, polled.restarted, tail.gone) == (b"again\n", True, False)
    (message,) = messages(polled)  # one note for one event
    assert message.endswith("; read again from its start")


def test_missing_from_the_start(tmp_path: Path) -> None:
    tail = Tail(tmp_path / "nothing")
    assert messages(tail.poll(BIG)) == ["was deleted or moved; what was read of it is kept"]


def test_a_directory_in_its_place(log: Path) -> None:
    tail = Tail(log)
    tail.poll(BIG)
    log.unlink()
    log.mkdir()
    assert messages(tail.poll(BIG)) == ["is no longer a regular file"]
    assert tail.poll(BIG) == Polled()


@pytest.mark.parametrize("code", [errno.EACCES, errno.ESTALE, errno.EIO])
def test_trouble_is_told_once_and_recovers(
    log: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    tail = Tail(log)
    tail.poll(BIG)

    def failing(*args: Any, **kwargs: Any) -> Any:
        raise OSError(code, os.strerror(code))

    with log.open("ab") as file:
        file.write(b"more")
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", failing)
        assert messages(tail.poll(BIG)) == [f"cannot be read: {os.strerror(code)}"]
        assert tail.poll(BIG) == Polled()
    polled = tail.poll(BIG)
    assert (polled.data, messages(polled)) == (b"more", ["can be read again"])
    assert not polled.restarted


def test_a_touched_file_is_looked_at_but_gives_nothing(log: Path) -> None:
    tail = Tail(log)
    tail.poll(BIG)
    touch(log, 10**18)
    polled = tail.poll(BIG)
    assert (polled.data, polled.changed, tail.modified) == (b"", True, 1e9)
