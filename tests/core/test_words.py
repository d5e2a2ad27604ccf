"""Level, block, clock, errors, shipped files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rltui.core.clock import SystemClock
from rltui.core.errors import DocumentError, RltuiError
from rltui.core.installation import shipped
from rltui.core.level import Level, worst
from tests.blocks import make_block
from tests.builders import a_batch, a_block
from tests.clock import ManualClock


def test_levels_are_ordered_and_roll_up() -> None:
    assert Level.UNKNOWN < Level.OK < Level.WATCH < Level.BAD
    assert worst([Level.OK, Level.BAD, Level.WATCH]) is Level.BAD
    assert worst([]) is Level.UNKNOWN
    assert [level.word for level in Level] == ["unknown", "ok", "watch", "bad"]


def test_block_keeps_the_type_of_arrays() -> None:
    values = np.ones((2, 1), np.float32)
    assert make_block(("a",), [1, 2], None, values).values.dtype == np.float32
    assert make_block(("a",), [1, 2], None, [[1], [2]]).values.dtype == np.float64
    assert make_block(("a",), [1, 2], None, values.astype(np.float16)).values.dtype == np.float64
    forced = make_block(("a",), [1, 2], None, [1, 2], dtype=np.float32)
    assert forced.values.dtype == np.float32
    assert forced.values.shape == (2, 1)


def test_block_without_times_has_nan() -> None:
    block = make_block(("a", "b"), [1], None, [[1, 2]])
    assert np.isnan(block.wall_times).all()


def test_block_counts_what_is_present() -> None:
    block = a_block({"a": [1, None, 3], "b": [4]})
    assert block.points == 3
    assert block.nbytes == 3 * 8 * 2 + 6 * 8 + 6
    assert a_block({"a": [1, 2]}).absent is None


def test_empty_block() -> None:
    block = make_block(("a",), [], None, [])
    assert block.points == 0
    assert block.values.shape == (0, 1)


@pytest.mark.parametrize(
    ("tags", "steps", "walls", "values", "absent"),
    [
        (("a",), [1, 2], None, [[1]], None),
        (("a",), [1, 2], [1.0], [[1], [2]], None),
        (("a",), [1, 2], None, [[1], [2]], np.zeros((1, 1), bool)),
        (("a", "a"), [1], None, [[1, 2]], None),
        (("a", "b"), [1, 2, 3], None, np.zeros((2, 3)), None),
    ],
)
def test_block_refuses_shapes_that_disagree(tags, steps, walls, values, absent) -> None:
    with pytest.raises(ValueError, match=r"block of|stands twice"):
        make_block(tags, steps, walls, values, absent)


def test_batch_gives_its_blocks() -> None:
    block = a_block({"a": [1]})
    assert a_batch(block).blocks == (block,)


def test_manual_clock() -> None:
    clock = ManualClock(100.0)
    clock.advance(2.5)
    assert (clock.now(), clock.monotonic()) == (102.5, 2.5)
    assert SystemClock().monotonic() <= SystemClock().monotonic()
    assert SystemClock().now() > 1.7e9


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
