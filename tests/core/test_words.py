"""Level, block, clock, errors, shipped files."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.core.errors import DocumentError, RltuiError
from rltui.core.installation import shipped
from rltui.core.level import Level, worst
from tests.builders import a_block


def test_levels_are_ordered_and_roll_up() -> None:
    assert Level.UNKNOWN < Level.OK < Level.WATCH < Level.BAD
    assert worst([Level.OK, Level.BAD, Level.WATCH]) is Level.BAD
    assert worst([]) is Level.UNKNOWN
    assert [level.word for level in Level] == ["unknown", "ok", "watch", "bad"]


def test_block_counts_what_is_present() -> None:
    block = a_block({"a": [1, None, 3], "b": [4]})
    assert block.points == 3
    assert block.nbytes == 3 * 8 * 2 + 6 * 8 + 6
    assert a_block({"a": [1, 2]}).absent is None


def test_document_error_without_a_place() -> None:
    error = DocumentError("is odd", path="x.yaml")
    assert str(error) == "x.yaml: is odd"
    assert error.path == Path("x.yaml")
    assert str(DocumentError("odd", path="x.yaml", line=3)) == "x.yaml:3: odd"


def test_shipped_finds_files_of_checkout_and_package() -> None:
    assert shipped("config.example.yaml").is_file()
    assert shipped("core", "text.py").is_file()
    with pytest.raises(RltuiError, match="no/such/file is missing"):
        shipped("no", "such", "file")
