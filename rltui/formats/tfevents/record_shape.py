"""Records of one length, as the rows of a matrix of bytes: which of them have the same fields."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rltui.core.block import BoolArray, IntArray
from rltui.formats.tfevents.framing import HEADER_BYTES
from rltui.formats.tfevents.scalar_span import WIDTH, ScalarSpan

ByteArray = NDArray[np.uint8]

#: Longer records are not compared.
MAX_LENGTH = 1 << 12
#: Odd multipliers for the hash of a row, by Weyl's sequence of the golden ratio.
_WEIGHTS = np.arange(1, MAX_LENGTH // 8 + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
_WEIGHTS |= np.uint64(1)


class Shape(NamedTuple):
    """Two records of one length and shape have their fields at the same offsets."""

    step_width: int
    numbers: tuple[tuple[str, int], ...]
    """Kind of each scalar, and its place in the payload."""


def shape_of(span: ScalarSpan) -> Shape:
    """Where the fields of a record are."""
    payload = span.start + HEADER_BYTES
    return Shape(span.step_width, tuple((s.kind, s.pos - payload) for s in span.scalars))


def by_width(matrix: ByteArray) -> list[IntArray]:
    """Rows grouped by the width of their step and by whether they end in a simple value."""
    if matrix.shape[1] < 20:
        return [np.arange(len(matrix))]
    width = (matrix[:, 9] == 0x10).astype(np.int64)
    going = width.astype(bool)
    for byte in range(10, 19):
        going &= matrix[:, byte] >= 0x80
        if not going.any():
            break
        width += going
    kind = 2 * width + (matrix[:, -5] == 0x15)
    return [np.flatnonzero(kind == k) for k in np.unique(kind).tolist()]


def shaped_alike(part: ByteArray, shape: Shape) -> BoolArray:
    """(n,) whether the bytes around the numbers are those of row 0: a guess that the rows have
    their numbers at the same places, as records of one number usually have."""
    if len(shape.numbers) == 1:
        return np.ones(len(part), bool)
    around = {place - 1 for _, place in shape.numbers}
    around |= {place + WIDTH[kind] for kind, place in shape.numbers}
    columns = sorted(around & set(range(part.shape[1])))
    alike: BoolArray = np.logical_and.reduce([part[:, c] == part[0, c] for c in columns])
    return alike


def by_layout(part: ByteArray, shape: Shape) -> tuple[IntArray, IntArray]:
    """The first row of each layout (tag, or tags), and the number of each row's layout, by a hash
    of the bytes behind the step without the values.

    Only a guess: every row is compared afterwards with the first one of its layout.
    """
    begin = 9 + (1 + shape.step_width if shape.step_width else 0)
    words = -(-(part.shape[1] - begin) // 8)
    padded = np.zeros((len(part), 8 * words), np.uint8)
    padded[:, : part.shape[1] - begin] = part[:, begin:]
    for kind, place in shape.numbers:
        padded[:, place - begin : place - begin + WIDTH[kind]] = 0
    keys = padded.view(np.uint64) @ _WEIGHTS[:words]
    _, first, layout = np.unique(keys, return_index=True, return_inverse=True)
    return first, layout


def equal_rows(part: ByteArray, like: IntArray, shape: Shape) -> BoolArray:
    """(n,) whether each row equals row ``like`` in all but time, step and value."""
    mask = np.full(part.shape[1], 0xFF, np.uint8)
    mask[1:9] = 0
    mask[10 : 10 + shape.step_width] = 0x80
    for kind, place in shape.numbers:
        mask[place : place + WIDTH[kind]] = 0
    differs = part[like]
    differs ^= part
    differs &= mask
    same: BoolArray = np.logical_not(differs.any(axis=1))
    return same
