"""Each fault that a growing file can have."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from rltui.files.tail import Polled, Tail
from tests.clock import ManualClock

BIG = 1 << 20


def messages(polled: Polled) -> list[str]:
    return [m for _, m in polled.notes]


def touch(path: Path, ns: int) -> None:
    os.utime(path, ns=(ns, ns))


def written(path: Path, data: bytes, clock: ManualClock, *, mode: str = "wb") -> None:
    """Write, and give the file the time of the clock."""
    with path.open(mode) as file:
        file.write(data)
    touch(path, int(clock.now() * 1e9))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log"
    path.write_bytes(FIRST)
    return path


def copied(path: Path, data: bytes) -> None:
    """Write a new file and rename it, as rsync does."""
    other = path.with_name("other")
    other.write_bytes(data)
    other.replace(path)


FIRST = b"first line\n" * 10
TRUNCATED, REPLACED = "was truncated and written anew", "was replaced by another file"
#: How a file is changed between two polls, to what, and why it then counts as begun anew, if so.
CHANGES = {
    "appended": (Path.write_bytes, FIRST + b"more", ""),
    "a longer copy": (copied, FIRST + b"more", ""),
    "a shorter text": (Path.write_bytes, b"other\n", TRUNCATED),
    "a longer text": (Path.write_bytes, b"second one\n" * 20, "was written anew"),
    "a shorter file": (copied, b"something else\n", REPLACED),
    "a longer file": (copied, b"something else entirely\n" * 9, REPLACED),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_happens_between_two_polls(log: Path, change: str) -> None:
    write, content, why = CHANGES[change]
    tail = Tail(log)
    assert tail.poll(BIG).data == FIRST
    assert tail.poll(BIG) == Polled()
    write(log, content)
    polled = tail.poll(BIG)
    assert polled.data == (content if why else b"more")
    assert (polled.more, polled.restarted, tail.generation) == (False, bool(why), int(bool(why)))
    assert messages(polled) == ([f"{why}; read again from its start"] if why else [])
    assert (tail.offset, tail.size) == (len(content), len(content))
    assert tail.poll(BIG) == Polled()


def test_budget(log: Path) -> None:
    tail = Tail(log)
    parts = [tail.poll(30) for _ in range(4)]
    assert [len(p.data) for p in parts] == [30, 30, 30, 20]
    assert [p.more for p in parts] == [True, True, True, False]


def test_still_while_nothing_changes(log: Path) -> None:
    clock = ManualClock()
    touch(log, 10**18)
    tail = Tail(log, clock=clock)
    tail.poll(60)
    assert not tail.still(), "there is more to read"
    tail.poll(BIG)
    assert tail.still()
    touch(log, 10**18 + 1)
    assert not tail.still()
    tail.poll(BIG)
    assert tail.still()
    log.unlink()
    assert not tail.still()


def test_truncated_to_nothing_first(log: Path) -> None:
    """verl opens its file with truncation and writes the first row minutes later."""
    tail = Tail(log)
    tail.poll(BIG)
    log.write_bytes(b"")
    assert tail.poll(BIG) == Polled()
    log.write_bytes(b"first line\n")
    polled = tail.poll(BIG)
    assert (polled.data, polled.restarted, tail.generation) == (b"first line\n", True, 1)


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


def test_shorter_for_long_is_believed(log: Path) -> None:
    tail = Tail(log)
    tail.poll(BIG)
    log.write_bytes(log.read_bytes()[:22])
    polls = [tail.poll(BIG) for _ in range(10)]
    assert [n for n, p in enumerate(polls, 1) if p.restarted] == [8]
    assert messages(polls[7]) == ["was truncated and written anew; read again from its start"]
    assert tail.generation == 1
    log.write_bytes(log.read_bytes()[:11])
    assert [tail.poll(BIG) for _ in range(7)] == [Polled()] * 7
    assert tail.poll(BIG).restarted


def test_deleted_and_created_again(log: Path) -> None:
    tail = Tail(log)
    tail.poll(BIG)
    log.unlink()
    polled = tail.poll(BIG)
    assert messages(polled) == ["was deleted or moved; what was read of it is kept"]
    assert polled.changed
    assert tail.gone
    assert tail.poll(BIG) == Polled()
    log.write_bytes(b"again\n")
    polled = tail.poll(BIG)
    assert (polled.data, polled.restarted, tail.gone) == (b"again\n", True, False)
    (message,) = messages(polled)  # one note for one event
    assert message.endswith("; read again from its start")


@pytest.mark.parametrize("code", [errno.EACCES, errno.ESTALE, errno.EIO])
def test_trouble_is_seen_once_and_recovers(
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


@pytest.mark.parametrize("code", [errno.ESTALE, errno.EIO])
@pytest.mark.parametrize("call", ["stat", "fstat", "pread"])
def test_trouble_in_any_call_loses_nothing(
    log: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int
) -> None:
    """The content begins anew while NFS fails: that is still reported when it works again."""
    tail = Tail(log)
    tail.poll(BIG)
    log.write_bytes(b"other\n")
    calls, real = [0], getattr(os, call)

    def failing(*args: Any, **kwargs: Any) -> Any:
        calls[0] += 1
        if calls[0] > first:
            raise OSError(code, os.strerror(code))
        return real(*args, **kwargs)

    for allowed in range(3):
        with monkeypatch.context() as patch:
            patch.setattr(os, call, failing)
            first, calls[0] = allowed, 0
            polled = tail.poll(BIG)
        if polled.restarted:
            break  # that was enough calls
        assert messages(polled) in ([f"cannot be read: {os.strerror(code)}"], [])
    else:
        polled = tail.poll(BIG)
    assert (polled.data, polled.restarted, tail.generation) == (b"other\n", True, 1)


def test_what_is_no_longer_noted_is_still_a_change(log: Path) -> None:
    tail = Tail(log)
    content = log.read_bytes()
    for number in range(20):
        log.write_bytes(content)
        assert tail.poll(BIG).changed
        log.unlink()
        polled = tail.poll(BIG)
        assert polled.changed
        assert bool(polled.notes) == (number in (*range(6), 9))
        assert tail.poll(BIG) == Polled()


# -- documents, and files that are rewritten as a habit -----------------------------------------


def test_a_document_is_handed_over_again_whenever_it_changes(log: Path) -> None:
    tail = Tail(log, whole=True)
    assert tail.poll(BIG).data == b"first line\n" * 10
    assert tail.poll(BIG) == Polled()
    for number, content in enumerate((b"first line\n" * 11, b"shorter", b"", b"new")):
        log.write_bytes(content)
        touch(log, 10**18 + number)
        polled = tail.poll(BIG)
        assert (polled.data, polled.notes) == (content, ())
        assert polled.restarted == (number != 3)  # nothing had come of the empty one
        assert tail.poll(BIG) == Polled()
    assert tail.generation == 3


def test_a_document_in_pieces_begins_anew_when_it_changes_in_between(log: Path) -> None:
    tail = Tail(log, whole=True)
    assert tail.poll(60) == Polled(b"first line\n" * 5 + b"first", True, False, (), True)
    other = log.with_name("other")
    other.write_bytes(b"second one\n" * 10)
    other.replace(log)
    parts = [tail.poll(60), tail.poll(60), tail.poll(60)]
    assert b"".join(p.data for p in parts) == b"second one\n" * 10
    assert [p.restarted for p in parts] == [True, False, False]
    assert [p.more for p in parts] == [True, False, False]
    assert not any(p.notes for p in parts)


@pytest.mark.parametrize("content", [b"other beginning\n" * 20, b"x", b"other" * 20])
def test_rewritten_as_a_habit_is_no_trouble(log: Path, content: bytes) -> None:
    tail = Tail(log, rewritten=True)
    tail.poll(BIG)
    log.write_bytes(content)
    polled = tail.poll(BIG)
    assert (polled.data, polled.restarted, polled.notes) == (content, True, ())


# -- clocks of file systems that tick slowly ------------------------------------------------------


@pytest.mark.parametrize("whole", [False, True])
def test_the_same_size_and_time_but_other_content(log: Path, whole: bool) -> None:
    clock = ManualClock()
    written(log, b"step 1 loss 0.5\n", clock)
    tail = Tail(log, whole=whole, clock=clock)
    tail.poll(BIG)
    written(log, b"step 1 loss 0.7\n", clock)
    assert tail.poll(BIG) == Polled()
    clock.advance(2.5)
    polled = tail.poll(BIG)
    assert (polled.data, polled.restarted) == (b"step 1 loss 0.7\n", True)
    clock.advance(2.5)
    assert tail.poll(BIG) == Polled()


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("jump", [0.0, -1e6, 1e6])
def test_an_unchanged_file_is_opened_once_more_at_most(
    log: Path, whole: bool, jump: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the clock of the machine does."""
    clock = ManualClock()
    touch(log, int((clock.now() + jump) * 1e9))
    tail = Tail(log, whole=whole, clock=clock)
    tail.poll(BIG)
    opened, real = [], os.open

    def counted(*args: Any, **kwargs: Any) -> int:
        opened.append(args)
        return real(*args, **kwargs)

    monkeypatch.setattr(os, "open", counted)
    for _ in range(20):
        clock.advance(1.0)
        assert tail.poll(BIG) == Polled()
    assert len(opened) == (0 if jump else 1)


# -- other content in the same places -------------------------------------------------------------


def test_the_same_head_and_end_but_another_middle(log: Path) -> None:
    """Found at once when the file was replaced, after some looks when it was written anew."""
    old = b"h" * 2000 + b"one" * 30_000 + b"e" * 100
    new = b"h" * 2000 + b"two" * 30_000 + b"e" * 100
    for replaced in (True, False):
        log.write_bytes(old)
        tail = Tail(log)
        tail.poll(BIG)
        if replaced:
            other = log.with_name("other")
            other.write_bytes(new + b"more")
            other.replace(log)
            assert tail.poll(BIG).restarted
            continue
        log.write_bytes(new)
        grown = b""
        for _ in range(16):
            grown += b"more"
            log.write_bytes(new + grown)
            polled = tail.poll(BIG)
            if polled.restarted:
                break
        assert polled.data == new + grown


#: Where a fingerprint of MANY bytes has its last sample; others lie before it.
MANY, LAST = 40_000, 36_864


def with_another_sample(content: bytes) -> bytes:
    return content[:LAST] + b"?" * 32 + content[LAST + 32 :]


@pytest.mark.parametrize("more", [b"", b"more"], ids=["as long", "longer"])
@pytest.mark.parametrize("why", ["replaced", "was short"])
def test_all_samples_are_compared_where_there_is_a_reason(log: Path, why: str, more: bytes) -> None:
    content = bytes(range(1, 251)) * (MANY // 250)
    log.write_bytes(content)
    tail = Tail(log)
    tail.poll(BIG)
    other = log
    if why == "replaced":
        other = log.with_name("other")
    else:
        log.write_bytes(content[:5000])
        assert tail.poll(BIG) == Polled()
    other.write_bytes(with_another_sample(content) + more)
    other.replace(log)
    polled = tail.poll(BIG)
    assert (polled.restarted, len(polled.data)) == (True, MANY + len(more))


def test_growing_costs_few_reads(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log.write_bytes(bytes(range(1, 251)) * (MANY // 250))
    tail = Tail(log)
    tail.poll(BIG)
    reads, real = [0], os.pread

    def counted(*args: Any) -> bytes:
        reads[0] += 1
        return real(*args)

    monkeypatch.setattr(os, "pread", counted)
    for _ in range(5):
        reads[0] = 0
        with log.open("ab") as file:
            file.write(b"row\n")
        assert tail.poll(BIG).data == b"row\n"
        assert reads == [4], "beginning, end, a sample, and what is new"


# -- holes ---------------------------------------------------------------------------------------

PAGE = b"a line of text.\n" * 256


def after_a_page(log: Path) -> tuple[Tail, ManualClock]:
    """A tail that has read the page of which the file consists."""
    clock = ManualClock()
    written(log, PAGE, clock)
    tail = Tail(log, clock=clock)
    tail.poll(BIG)
    return tail, clock


def test_zeros_at_the_end_wait_for_what_follows(log: Path) -> None:
    clock = ManualClock()
    tail = Tail(log, clock=clock)
    written(log, b"row 1\n" + bytes(5000), clock)
    polled = tail.poll(BIG)
    assert (polled.data, polled.more) == (b"row 1\n", False)
    assert messages(polled) == [
        "ends in zero bytes, which are not read until something follows them"
    ]
    assert tail.poll(BIG) == Polled()
    clock.advance(60)
    assert tail.poll(BIG) == Polled()
    written(log, b"row 1\n" + bytes(9000), clock)
    polled = tail.poll(BIG)
    assert (polled.data, polled.notes) == (b"", ())
    written(log, b"row 3\n", clock, mode="ab")
    polled = tail.poll(BIG)
    assert (polled.data, polled.notes) == (bytes(9000) + b"row 3\n", ())
    assert tail.offset == log.stat().st_size
    written(log, bytes(100), clock, mode="ab")
    assert tail.poll(BIG).notes == ()
    clock.advance(5.0)
    assert len(tail.poll(BIG).notes) == 1, "another gap is another note"


def test_a_page_that_arrives_late_behind_rows_that_came_in_pieces(log: Path) -> None:
    tail, clock = after_a_page(log)
    written(log, PAGE * 2 + bytes(4096) + PAGE, clock)
    assert tail.poll(100).data == PAGE[:100]
    assert tail.poll(BIG).data == PAGE[100:]
    clock.advance(1.0)
    written(log, PAGE * 4, clock)
    assert tail.poll(BIG).data == PAGE * 2


def test_a_page_that_never_arrives(log: Path) -> None:
    tail, clock = after_a_page(log)
    written(log, PAGE + b"row" + bytes(4093) + PAGE, clock)
    assert tail.poll(BIG).data == b"row"
    clock.advance(4.9)
    assert tail.poll(BIG) == Polled()
    clock.advance(0.2)
    assert tail.poll(BIG).data == bytes(4093) + PAGE
    written(log, PAGE, clock, mode="ab")
    assert tail.poll(BIG).data == PAGE
    clock.advance(60.0)
    written(log, bytes(4096) + PAGE, clock, mode="ab")
    assert tail.poll(BIG).data == b"", "the next gap gets its time, too"


def test_reads_that_are_cut_short_are_no_rewriting(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tail = Tail(log)
    tail.poll(BIG)
    with log.open("ab") as file:
        file.write(b"more")
    whole = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, length, at: whole(fd, min(length, 7), at))
    polled = tail.poll(BIG)
    assert (polled.data, polled.restarted, tail.generation) == (b"more", False, 0)


def test_gigabytes_of_nothing_cost_nothing(tmp_path: Path) -> None:
    path = tmp_path / "events"
    with path.open("wb") as file:
        file.write(b"abc")
        file.truncate(5 << 30)
        if os.fstat(file.fileno()).st_blocks * 512 >= 5 << 30:
            pytest.skip("this file system has no holes")
    tail, read = Tail(path), b""
    for _ in range(8):
        read += tail.poll(1 << 24).data
    assert read.rstrip(b"\0") == b"abc"
    assert len(read) <= 1 << 24
