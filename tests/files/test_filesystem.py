"""Kinds of file systems. What is reported of trouble, how often, and when to try again."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest

from rltui.core.batch import Note
from rltui.core.level import Level
from rltui.files.disk import Mounts, opened
from rltui.files.trouble import READABLE, Trouble, is_missing, lasting, reason_of
from tests.tables import cases


def test_a_read_that_is_cut_short_is_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, pread = tmp_path / "log", os.pread
    path.write_bytes(b"0123456789")
    monkeypatch.setattr(os, "pread", lambda file, size, at: pread(file, min(size, 3), at))
    with opened(path) as read:
        assert read(8, 0) == b"01234567"
        assert read(8, 5) == b"56789"


LINE = "{id} 1 0:{id} / {point} rw,relatime shared:1 master:2 - {kind} {source} rw,vers=4.2"


def mounts(tmp_path: Path, *points: tuple[str, str]) -> Mounts:
    table = tmp_path / "mountinfo"
    lines = (
        LINE.format(id=n, point=point.replace(" ", r"\040"), kind=kind, source=f"host:/{n}")
        for n, (point, kind) in enumerate(points)
    )
    table.write_text("\n".join(lines) + "\n")
    return Mounts(table)


def test_the_longest_mount_point_counts(tmp_path: Path) -> None:
    table = mounts(tmp_path, ("/", "ext4"), ("/nowhere", "nfs4"), ("/nowhere/local", "xfs"))
    for path, kind in (
        ("/elsewhere/run", "ext4"),
        ("/nowhere/run/a", "nfs4"),
        ("/nowhere2", "ext4"),
        ("/nowhere/local", "xfs"),
        ("/nowhere/local/x", "xfs"),
    ):
        assert table.kind_of(Path(path)) == kind
        assert table.reports_writes(Path(path)) == (kind != "nfs4")


@cases(__file__, "kinds")
def test_kinds(tmp_path: Path, kind: str, reported: bool) -> None:
    table = mounts(tmp_path, ("/", kind))
    assert table.kind_of(Path("/x")) == kind
    assert table.reports_writes(Path("/x")) == reported


def test_a_table_that_changes(tmp_path: Path) -> None:
    table = mounts(tmp_path, ("/", "ext4"))
    assert table.reports_writes(Path("/data"))
    mounts(tmp_path, ("/", "ext4"), ("/data", "nfs"))
    assert table.reports_writes(Path("/data"))  # until it is looked at again
    table.refresh()
    assert not table.reports_writes(Path("/data"))


@pytest.mark.parametrize("content", ["", "nonsense\n - \n1 2 3\n 1 2 3 4 5 - \n"])
def test_systems_without_a_table_are_not_trusted(tmp_path: Path, content: str) -> None:
    table = tmp_path / "mountinfo"
    if content:
        table.write_text(content)
    assert Mounts(table).kind_of(tmp_path) == ""
    assert not Mounts(table).reports_writes(tmp_path)


def test_the_origin_of_a_path(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    nfs = r"40 22 0:52 /team/a /mnt/my\040logs rw shared:9 - nfs4 server:/export rw,vers=4.2"
    table.write_text(f"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n{nfs}\n")
    found = Mounts(table).origin_of(Path("/mnt/my logs/run"))
    assert found == ("server:/export", "/team/a/run")
    assert Mounts(table).origin_of(Path("/mnt/my")) == ("/dev/sda1", "/mnt/my")
    assert Mounts(tmp_path / "missing").origin_of(Path("/x")) == ("", "")


A, B = Path("a"), Path("b")


def test_trouble_is_reported_once_and_its_end_once() -> None:
    trouble = Trouble()
    assert trouble.over() == ()
    assert trouble.failed("is locked") == ((Level.WATCH, "is locked"),)
    assert trouble.failed("is locked") == ()
    assert trouble.failed("is damaged") == ((Level.WATCH, "is damaged"),)
    assert trouble.over() == ((Level.OK, READABLE),)
    assert trouble.over() == ()
    assert not trouble.message


def test_recurring_trouble_is_reported_ever_more_rarely() -> None:
    trouble, reported = Trouble(), []
    for number in range(1, 1001):
        failed, over = trouble.failed("is locked"), trouble.over()
        assert bool(failed) == bool(over)
        if failed:
            reported.append(number)
    assert reported == [1, 2, 3, 4, 5, 6, 10, 100, 1000]


def test_retries_become_rarer_the_longer_it_lasts() -> None:
    trouble, now, tries = Trouble(), 100.0, []
    while now < 200:
        if not trouble.waits(now):
            trouble.failed("is locked", now=now)
            tries.append(now)
        now += 0.25
    pauses = [b - a for a, b in pairwise(tries)]
    assert pauses[0] == 0.5
    assert pauses == sorted(pauses)
    assert pauses[-1] == 5.0
    trouble.over()
    assert not trouble.waits(now)


@pytest.mark.parametrize(
    ("error", "missing", "reason"),
    [
        (FileNotFoundError(2, "No such file"), True, "cannot be read: No such file"),
        (NotADirectoryError(20, "Not a directory"), True, "cannot be read: Not a directory"),
        (PermissionError(13, "Permission denied"), False, "cannot be read: Permission denied"),
        (OSError("odd\x1b[31m"), False, "cannot be read: odd\\x1b[31m"),
        (ValueError(), False, "cannot be read: ValueError"),
    ],
)
def test_reasons(error: OSError | ValueError, missing: bool, reason: str) -> None:
    assert is_missing(error) == missing
    assert reason_of(error) == reason


def note(path: Path, message: str) -> Note:
    return Note(path, None, Level.WATCH, message)


def test_trouble_lasts_until_the_file_can_be_read_again() -> None:
    skipped = Note(A, 40, Level.WATCH, "line is no JSON")
    lost, elsewhere = (Note(path, None, Level.WATCH, "is locked") for path in (A, B))
    again, other = (Note(A, None, Level.OK, text) for text in (READABLE, "line without a step"))
    assert lasting([skipped, lost, elsewhere, other]) == [skipped, lost, elsewhere]
    assert lasting([skipped, lost, elsewhere, again]) == [skipped, elsewhere]
    assert lasting([lost, again, lost]) == [lost]
