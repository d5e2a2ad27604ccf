"""Documents that are kept between starts: as parsed ones, and never a reason to fail."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rltui.core.installation import shipped
from rltui.core.kept_documents import KEPT, KeptDocuments, keeping
from rltui.core.yaml_document import _packed, parse_anew, parse_document

PATHS = ONE, *_ = sorted(shipped("catalogue", "data").parent.parent.rglob("*.yaml"))


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    with keeping(tmp_path / "cache" / "documents"):
        parse_document(ONE.read_text("utf-8"), ONE)
    return tmp_path / "cache" / "documents"


def test_kept_documents_are_those_of_the_parser(kept: Path) -> None:
    for _ in range(2):
        with keeping(kept):
            found = [parse_document(path.read_text("utf-8"), path) for path in PATHS]
        anew = [parse_anew(path.read_text("utf-8"), path) for path in PATHS]
        assert [*map(_packed, found)] == [*map(_packed, anew)]
    assert {node.is_kept for node in found} == {True}


def is_kept(kept: Path, path: Path = ONE) -> bool:
    with keeping(kept):
        return parse_document(ONE.read_text("utf-8"), path).is_kept


@pytest.mark.parametrize(("old", "new"), [("1", "2"), ("1-", "0-"), ("\n", ""), ("[", "\0")])
def test_a_spoiled_file_is_written_anew(kept: Path, old: str, new: str) -> None:
    assert is_kept(kept)
    kept.write_text(kept.read_text("utf-8").replace(old, new), "utf-8")
    assert not is_kept(kept)
    assert is_kept(kept)


def test_a_file_that_cannot_be_read_or_written(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_kept(kept / "below a file")
    assert not is_kept(kept.parent)
    known = os.stat_result((0o100600, 0, 0, 1, 12345, 0, 1 << 20, 0, 0, 0))
    monkeypatch.setattr("os.fstat", lambda _: known)
    assert not is_kept(kept)  # that of another user


def test_what_was_wrong_is_not_kept(tmp_path: Path) -> None:
    with keeping(tmp_path / "documents"):
        parse_document(ONE.read_text("utf-8"), ONE)
        KEPT.clear()
    assert not (tmp_path / "documents").exists()


def test_only_shipped_documents_are_kept(kept: Path, tmp_path: Path) -> None:
    assert not is_kept(kept, tmp_path / ONE.name)
    with keeping(kept):
        parse_document("token: secret", tmp_path / "config.yaml")
    assert "secret" not in kept.read_text("utf-8")


def test_what_two_processes_parse_is_kept(kept: Path) -> None:
    both = KeptDocuments(kept), KeptDocuments(kept)
    assert not any(process.find("") for process in both), "what is there is known to both"
    for process in both:
        process.add(text := f"{id(process)}", [text])
        process.write()
        assert KeptDocuments(kept).find(text) == [text]
    assert is_kept(kept)
