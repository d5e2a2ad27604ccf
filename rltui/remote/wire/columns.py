"""The columns of a block as bytes that compress well, without loss.

Steps and times are stored as differences; values column by column, as float32 where that loses
nothing, as whole numbers where they are decimals of few digits; and of each array first all lowest
bytes, then all second ones, and so on.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rltui.core.block import Block
from rltui.remote.wire.record import (
    Record,
    WireError,
    whole_of,
)

_MOST_ROWS = 1 << 28
#: Digits behind the point that are tried; few, so that they are the same in block after block.
_DIGITS = (0, 3, 6, 9, 12)
#: Whole numbers below it are exact as float64.
_EXACT = 2.0**53
#: Rows that tell most columns of other numbers.
_GLANCE = 8
_Array = NDArray[Any]
_SIZE = struct.Struct("<I")
_INT64 = 1 << 63


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


def unpack_columns(about: Record, tags: tuple[str, ...], data: memoryview) -> tuple[Block, int]:
    """The block, and the bytes of it. Raises WireError."""
    rows, count = about.whole("rows", high=_MOST_ROWS), len(tags)
    source = _Source(data)
    steps = _sums(source.take("<i8", rows, 1)[0])
    times = _sums(source.take("<i8", rows, 1)[0]).view("<f8")
    absent = None
    if about.flag("absent"):
        absent = source.bits(rows * count).reshape(count, rows).T.copy()
    if "narrow" in about:
        narrow = _narrow_columns(about.get("narrow"), count)
        wide = int((~narrow).sum())
        digits = np.array(about.items("digits", _digits_of, wide) if "digits" in about else (), int)
        values = _mixed(source, rows, narrow, digits)
    else:
        values = source.take("<f4", rows, count).T.copy()
    return Block(tags, steps, times, values, absent), source.taken


def _narrow_columns(value: object, count: int) -> NDArray[np.bool_]:
    if value is True:
        return np.ones(count, bool)
    narrow = np.zeros(count, bool)
    if not isinstance(value, list) or len(value) > count:
        raise WireError("a list of columns was expected")
    for column in value:
        narrow[whole_of(column, 0, count - 1)] = True
    return narrow


def _digits_of(value: object) -> int:
    return whole_of(value, -1, _DIGITS[-1])


def _mixed(source: _Source, rows: int, narrow: NDArray[np.bool_], digits: _Array) -> _Array:
    """``digits``: of each column that is not narrow; empty where all are float64."""
    wide = np.flatnonzero(~narrow)
    if not len(digits):
        digits = np.full(len(wide), -1)
    elif len(digits) != len(wide):
        raise WireError("the number of columns is wrong")
    decimal = digits >= 0
    values = np.empty((rows, len(narrow)))
    values[:, narrow] = source.take("<f4", rows, int(narrow.sum())).T
    whole = source.take("<i8", rows, int(decimal.sum()))
    whole = (whole >> 1 & np.int64(2**63 - 1)) ^ -(whole & 1)
    values[:, wide[decimal]] = whole.T / 10.0 ** digits[decimal]
    values[:, wide[~decimal]] = source.take("<f8", rows, int((~decimal).sum())).T
    return values


class _Source:
    """Arrays, one after the other."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self.taken = 0

    def take(self, kind: str, rows: int, columns: int) -> _Array:
        """(columns, rows) of a shuffled array."""
        size = np.dtype(kind).itemsize
        raw = self._bytes(rows * columns * size).reshape(size, rows * columns)
        return np.ascontiguousarray(raw.T).view(kind).reshape(columns, rows)

    def bits(self, count: int) -> NDArray[np.bool_]:
        """(count,) truth values."""
        return np.unpackbits(self._bytes((count + 7) // 8), count=count).view(bool)

    def _bytes(self, size: int) -> NDArray[np.uint8]:
        piece = self._data[self.taken : self.taken + size]
        if len(piece) < size:
            raise WireError("a column is cut off")
        self.taken += size
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
