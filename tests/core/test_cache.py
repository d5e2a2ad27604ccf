"""The cache never harms: what cannot be read is not there, what cannot be written is not kept."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest

from rltui.core import cache
from rltui.core.errors import DocumentError
from rltui.core.yaml_document import parse_document

TEXT = "a: 1\nb: [x, 2.5, null, true]\nc: {d: ' '}\n"
PATH = Path("some.yaml")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "rltui"


def entry(place: Path) -> Path:
    (found,) = place.glob("*.json")
    return found


def test_what_was_kept_is_found_by_the_same_text_only(place: Path) -> None:
    cache.save("k", "text", [1, "a", None])
    assert cache.load("k", "text") == [1, "a", None]
    assert cache.load("k", "other") is None
    assert cache.load("other", "text") is None
    assert stat.S_IMODE(entry(place).stat().st_mode) == 0o600


def test_a_document_from_the_cache_equals_the_parsed_one(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = parse_document(TEXT, PATH)
    assert parse_document(TEXT, PATH, keep=True) == parsed
    assert place.is_dir()
    monkeypatch.setattr("rltui.core.yaml_document._parse", None)  # would fail when it were called
    assert parse_document(TEXT, PATH, keep=True) == parsed


def test_a_document_that_is_wrong_is_not_kept(place: Path) -> None:
    with pytest.raises(DocumentError):
        parse_document("a: [", PATH, keep=True)
    assert not place.exists()


@pytest.mark.parametrize("text", ["a: .nan\n", "a: 2024-01-02\n", "a: !!binary aGk=\n"])
def test_values_that_json_would_change_are_not_kept(place: Path, text: str) -> None:
    parse_document(text, PATH, keep=True)
    assert not place.exists()


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"null", b"7", b"[]", b"[1]", b'{"a": 1}', b"[1, 1, {}]", b'["1", 1, "x"]',
        b"[1, 1, [[1, 1, [[1, 1, 2]]]], []]", b"[1, 1, [[1, 1, 2]], [[1]]]", b"[1, 1, 2, 3, 4]",
        b"[" * 100_000, b"[1,1," + b"[[1,1," * 60 + b"0" + b"]]" * 60 + b"]", b"\xff\xfe",
    ],
)  # fmt: skip
def test_a_damaged_entry_is_as_good_as_none(place: Path, content: bytes) -> None:
    parsed = parse_document(TEXT, PATH, keep=True)
    path = entry(place)
    path.write_bytes(content)
    assert parse_document(TEXT, PATH, keep=True) == parsed


def test_an_enormous_entry_is_not_read(place: Path) -> None:
    parsed = parse_document(TEXT, PATH, keep=True)
    os.truncate(entry(place), 1 << 40)
    assert parse_document(TEXT, PATH, keep=True) == parsed


def test_a_place_that_cannot_be_written_does_no_harm(place: Path) -> None:
    place.write_text("a file where the directory should be")
    assert parse_document(TEXT, PATH, keep=True) == parse_document(TEXT, PATH)


@pytest.mark.parametrize("home", ["", "relative/path"])
def test_without_a_home_nothing_is_kept(monkeypatch: pytest.MonkeyPatch, home: str) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", home)
    monkeypatch.setenv("HOME", home)
    cache.save("k", "text", 1)
    assert cache.directory() is None
    assert cache.load("k", "text") is None


def test_old_entries_are_removed_and_other_files_are_left(place: Path) -> None:
    cache.save("k", "old", 1)
    other = place / "notes.txt"
    other.write_text("mine")
    long_ago = time.time() - 100 * 86400
    for path in (entry(place), other):
        os.utime(path, (long_ago, long_ago))
    cache.save("k", "new", 2)
    assert cache.load("k", "old") is None
    assert cache.load("k", "new") == 2
    assert other.exists()
