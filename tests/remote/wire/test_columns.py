"""Columns lose nothing, and those of few digits are small."""

from __future__ import annotations

import zlib
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from rltui.core.block import Block
from rltui.remote.wire.batches import pack_columns, unpack_columns
from rltui.remote.wire.codec import WireError

#: What logs hold: printed numbers, whole ones, what a float32 gives, and the odd ones.
VALUES = (
    st.builds(lambda n, digits: n / 10**digits, st.integers(-(10**9), 10**9), st.integers(0, 13))
    | st.floats()
    | st.floats(width=32)
    | st.sampled_from([0.0, -0.0, 2.0**53, -(2.0**53), 2.0**53 - 1, 1e300, 5e-324])
)
COLUMNS = st.integers(0, 20).flatmap(
    lambda rows: st.lists(
        st.lists(VALUES, min_size=rows, max_size=rows), min_size=1, max_size=5
    ).map(lambda columns: np.array(columns, float).reshape(len(columns), rows).T.copy())
)


def block_of(values: NDArray[np.float64]) -> Block:
    rows, tags = values.shape
    return Block(tuple(map(str, range(tags))), np.arange(rows), np.arange(rows) * 1.0, values)


def sent(values: NDArray[np.float64]) -> NDArray[np.float64]:
    block = block_of(values)
    about, data = pack_columns(block)
    found, used = unpack_columns(block.tags, memoryview(data), *shape(about))
    assert used == len(data)
    return found.values


def shape(about: dict[str, Any]) -> tuple[int, bool, object, Any]:
    """What a description says, as arguments."""
    return about["rows"], "absent" in about, about.get("narrow"), about.get("digits")


@given(COLUMNS)
def test_every_bit_arrives(values: NDArray[np.float64]) -> None:
    assert sent(values).tobytes() == values.tobytes()


@pytest.mark.parametrize(("digits", "least"), [(3, 1.9), (6, 3.2)])
def test_printed_numbers_cost_little_more_than_their_digits(digits: int, least: float) -> None:
    values = np.random.default_rng(0).random((2000, 10)).round(digits)
    _, data = pack_columns(block_of(values))
    assert len(zlib.compress(data, 1)) < least * values.size


@pytest.mark.parametrize("digits", [[6], [6, 6, 6], [99, 0]])
def test_digits_that_do_not_fit_are_an_error(digits: object) -> None:
    block = block_of(np.random.default_rng(0).random((3, 2)).round(6))
    about, data = pack_columns(block)
    with pytest.raises(WireError):
        unpack_columns(block.tags, memoryview(data), *shape(about | {"digits": digits}))
