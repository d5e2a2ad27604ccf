"""Cells of a table to arrays of numbers.

A cell is a number (``nan``, ``inf`` and ``True`` included), a gap (blank, ``None``, ``N/A``, ...)
or a text. A column is a text column if its first cell that is not a gap is a text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import orjson

from rltui.core.block import BoolArray, FloatArray

_GAPS = frozenset(("", "none", "null", "na", "n/a", "-", "--"))
_TRUTHS = {"true": 1.0, "false": 0.0}
_COMMA, _NEWLINE = ord(","), ord("\n")


def is_gap(cell: str) -> bool:
    """Whether a cell means that there is no value."""
    return cell.strip().lower() in _GAPS


def number_of(cell: str) -> float | None:
    """The number in a cell, None for a gap or a text."""
    try:
        # float() accepts 1_000, which is rather a name
        return float(cell) if "_" not in cell else None
    except ValueError:
        return _TRUTHS.get(cell.strip().lower())


def numbers_of(cells: Sequence[str]) -> tuple[FloatArray, BoolArray]:
    """(n,) values and (n,) where there is none: gaps and texts."""
    try:
        if not any("_" in cell for cell in cells):
            return np.array(list(map(float, cells))), np.zeros(len(cells), bool)
    except ValueError:
        pass  # gaps or texts among them
    found = [number_of(cell) for cell in cells]
    absent = np.array([value is None for value in found])
    return np.array([math.nan if v is None else v for v in found]), absent


def plain_cells(rows: bytes, size: int) -> tuple[FloatArray, BoolArray | None] | None:
    """(n, size) values of whole lines of numbers, ``nan`` and blanks between commas.

    None when a line has another number of cells or any other cell: the slower reader then reads
    the lines, with the same result for lines like these. Takes about 10 ns per cell.
    """
    absent = _blanks(rows, size)
    if absent is None:
        return None
    text = rows.replace(b"\n", b",")
    if b"n" in text:
        text = text.replace(b"nan", b"null").replace(b"NaN", b"null")
        if text.count(b"null") != rows.count(b"nan") + rows.count(b"NaN"):
            return None  # words of the log
    some_absent = bool(absent.any())
    if some_absent:
        text = (b"," + text).replace(b",,", b",null,").replace(b",,", b",null,")[1:]
    try:
        values = np.array(orjson.loads(b"[" + text[:-1] + b"]"), np.float64)
        if values.ndim == 1:  # else every cell is a list
            return values.reshape(-1, size), absent if some_absent else None
    except (TypeError, ValueError, OverflowError):
        pass  # no JSON, or some cells are lists
    return None


def _blanks(rows: bytes, size: int) -> BoolArray | None:
    """(n, size) whether a cell is blank; None when a line has another number of cells."""
    codes = np.frombuffer(rows, np.uint8)
    ends = np.flatnonzero((codes == _COMMA) | (codes == _NEWLINE))
    if not len(ends) or len(ends) % size:
        return None
    is_newline = (codes[ends] == _NEWLINE).reshape(-1, size)
    if not is_newline[:, -1].all() or is_newline[:, :-1].any():
        return None
    blank: BoolArray = np.diff(ends, prepend=-1) == 1
    return blank.reshape(-1, size)
