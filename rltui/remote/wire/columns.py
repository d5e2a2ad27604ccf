"""The columns of a block as bytes that compress well, without loss.

Steps and times are stored as differences; values column by column, as float32 where that loses
nothing, as whole numbers where they are decimals of few digits; and of each array first all lowest
bytes, then all second ones, and so on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rltui.core.block import Block
from rltui.remote.wire.codec import WireError

#: Digits behind the point that are tried; few, so that they are the same in block after block.
_DIGITS = (0, 3, 6, 9, 12)
#: Whole numbers below it are exact as float64.
_EXACT = 2.0**53
#: Rows that tell most columns of other numbers.
_GLANCE = 8
_Array = NDArray[Any]


def pack_columns(block: Block) -> tuple[dict[str, object], bytes]:
    """The description of a block, without its tags, and its columns."""
    parts = [_shuffled(_differences(block.steps.astype("<i8", copy=False)))]
    parts.append(_shuffled(_differences(_bits(block.wall_times.astype("<f8", copy=False)))))
    about: dict[str, object] = {"rows": len(block.steps)}
    values = block.values.astype(f"<f{block.values.dtype.itemsize}", copy=False)
    if block.absent is not None:
        about["absent"] = True
        parts.append(np.packbits(block.absent.T).tobytes())
        values = np.where(block.absent, values.dtype.type(0), values)
    if values.dtype.itemsize == 8:
        narrow = _narrow(values)
        about["narrow"] = np.flatnonzero(narrow).tolist() if not narrow.all() else True
        parts.append(_shuffled(values[:, narrow].astype("<f4").T))
        values = values[:, ~narrow]
        digits = _digits(values)
        if (digits >= 0).any():
            about["digits"] = digits.tolist()
            parts.append(_shuffled(_scaled(values, digits).T))
            values = values[:, digits < 0]
    parts.append(_shuffled(values.T))
    return about, b"".join(parts)


def unpack_columns(
    tags: tuple[str, ...],
    data: memoryview,
    rows: int,
    has_absent: bool,
    narrow: object,
    digits: tuple[int, ...] | None,
) -> tuple[Block, int]:
    """The block that a description is of, and the bytes of it. Raises WireError."""
    count = len(tags)
    source = _Source(data)
    steps = _sums(source.array("<i8", rows, 1)[0])
    times = _sums(source.array("<i8", rows, 1)[0]).view("<f8")
    absent = None
    if has_absent:
        absent = source.bits(rows * count).reshape(count, rows).T.copy()
    if narrow is None:
        values = source.array("<f4", rows, count).T.copy()
        return Block(tags, steps, times, values, absent), source.used

    is_narrow = np.full(count, narrow is True)
    if narrow is not True:
        if not isinstance(narrow, list) or len(narrow) > count:
            raise WireError("a list of columns was expected")
        if not all(type(column) is int and 0 <= column < count for column in narrow):
            raise WireError("no such column")
        is_narrow[narrow] = True
    wide = np.flatnonzero(~is_narrow)
    places = np.full(len(wide), -1) if digits is None else np.array(digits, int)
    if len(places) != len(wide) or not ((places >= -1) & (places <= _DIGITS[-1])).all():
        raise WireError("the number of columns or digits is wrong")

    decimal = places >= 0
    values = np.empty((rows, count))
    values[:, is_narrow] = source.array("<f4", rows, int(is_narrow.sum())).T
    whole = source.array("<i8", rows, int(decimal.sum()))
    whole = (whole >> 1 & np.int64(2**63 - 1)) ^ -(whole & 1)
    values[:, wide[decimal]] = whole.T / 10.0 ** places[decimal]
    values[:, wide[~decimal]] = source.array("<f8", rows, int((~decimal).sum())).T
    return Block(tags, steps, times, values, absent), source.used


class _Source:
    """Arrays, one after the other."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self.used = 0

    def array(self, kind: str, rows: int, columns: int) -> _Array:
        """(columns, rows) of a shuffled array."""
        size = np.dtype(kind).itemsize
        raw = self._bytes(rows * columns * size).reshape(size, rows * columns)
        return np.ascontiguousarray(raw.T).view(kind).reshape(columns, rows)

    def bits(self, count: int) -> NDArray[np.bool_]:
        """(count,) truth values."""
        return np.unpackbits(self._bytes((count + 7) // 8), count=count).view(bool)

    def _bytes(self, size: int) -> NDArray[np.uint8]:
        piece = self._data[self.used : self.used + size]
        if len(piece) < size:
            raise WireError("a column is cut off")
        self.used += size
        return np.frombuffer(piece, np.uint8)


def _narrow(values: _Array) -> NDArray[np.bool_]:
    """(m,) whether a column loses nothing as float32."""
    with np.errstate(over="ignore", invalid="ignore"):
        back = values.astype("<f4").astype("<f8")
    same: NDArray[np.bool_] = (_bits(back) == _bits(values)).all(axis=0)
    return same


def _digits(values: _Array) -> _Array:
    """(m,) how many digits behind the point make a column whole, exactly; -1 where none do."""
    digits = np.full(values.shape[1], -1)
    for count in _DIGITS:
        left = np.flatnonzero(digits < 0)
        left = left[_is_decimal(values[:_GLANCE, left], count)]
        digits[left[_is_decimal(values[:, left], count)]] = count
    return digits


def _is_decimal(values: _Array, digits: int) -> NDArray[np.bool_]:
    """(m,) whether a column can be had again from whole numbers."""
    power = 10.0**digits
    with np.errstate(over="ignore", invalid="ignore"):
        whole = np.rint(values * power) + 0.0  # a negative zero is no whole number
        small = np.abs(whole) < _EXACT  # false for what is not finite
        same: NDArray[np.bool_] = (small & (_bits(whole / power) == _bits(values))).all(axis=0)
    return same


def _scaled(values: _Array, digits: _Array) -> _Array:
    """The columns of decimals as whole numbers: twice their amount, less 1 if negative."""
    decimal = digits >= 0
    whole = np.rint(values[:, decimal] * 10.0 ** digits[decimal]).astype("<i8")
    folded: _Array = (whole << 1) ^ (whole >> 63)
    return folded


def _bits(values: _Array) -> _Array:
    return np.ascontiguousarray(values).view("<i8")


def _differences(values: _Array) -> _Array:
    """Each entry less the one before it, twice, modulo 2**64: what grows evenly becomes zeros."""
    return np.diff(np.diff(values, prepend=values.dtype.type(0)), prepend=values.dtype.type(0))


def _sums(values: _Array) -> _Array:
    summed: _Array = np.cumsum(np.cumsum(values, dtype="<i8"), dtype="<i8")
    return summed


def _shuffled(values: _Array) -> bytes:
    """All lowest bytes, then all second ones ..."""
    flat = np.ascontiguousarray(values)
    shuffled: bytes = flat.view(np.uint8).reshape(-1, flat.itemsize).T.tobytes()
    return shuffled
