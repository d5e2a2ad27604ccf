"""What is reported of trouble, how often, and when to try again."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from rltui.core.batch import Note
from rltui.core.level import Level
from rltui.files.trouble import (
    READABLE,
    Trouble,
    is_missing,
    lasting,
    reason_of,
)

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
