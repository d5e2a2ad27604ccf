"""Dots into cells: rasters of braille, half blocks or ascii."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rltui.core.block import BoolArray, FloatArray

CodeArray = NDArray[np.uint32]

#: Marker -> dots per cell, across and down.
RESOLUTION = {"braille": (2, 4), "block": (1, 2), "ascii": (1, 1)}
BLANK = 0x20
_EMPTY_BRAILLE = 0x2800
#: (256,) code point of a braille cell by the bits of its dots.
_BRAILLE = np.arange(_EMPTY_BRAILLE, _EMPTY_BRAILLE + 256, dtype=np.uint32)
_BRAILLE[0] = BLANK
_HALVES = np.array([BLANK, ord("▀"), ord("▄"), ord("█")], dtype=np.uint32)


def fill(low: FloatArray, high: FloatArray, height: int) -> BoolArray:
    """(height, w) raster, top row first, with the dots ``low`` to ``high`` (w,) of each column set.

    Dots count from 0 at the bottom; a column whose bounds are NaN stays empty.
    """
    row = np.arange(height - 1, -1, -1, dtype=np.float64)[:, None]
    raster: BoolArray = (row >= low) & (row <= high)
    return raster


def checkerboard(raster: BoolArray) -> BoolArray:
    """The raster with every other dot removed: a tone instead of a filled area."""
    height, width = raster.shape
    toned: BoolArray = raster & ((np.arange(height)[:, None] + np.arange(width)) % 2 == 0)
    return toned


def sparse(raster: BoolArray) -> BoolArray:
    """The raster with three of four dots removed: a fainter tone than :func:`checkerboard`."""
    height, width = raster.shape
    places = np.arange(height)[:, None] + 2 * np.arange(width)
    toned: BoolArray = raster & (places % 4 == 0)
    return toned


def by_cell(raster: BoolArray, marker: str) -> BoolArray:
    """The (H * down, W * across) raster as (H, W, down, across)."""
    across, down = RESOLUTION[marker]
    height, width = raster.shape
    cells: BoolArray = raster.reshape(height // down, down, width // across, across).swapaxes(1, 2)
    return cells


def encode(raster: BoolArray, marker: str, *, char: str = "*") -> CodeArray:
    """(H, W) code points of the cells of a raster; blank where no dot is set.

    ``char`` is what a set cell becomes with the ascii marker.
    """
    if marker == "ascii":
        plain: CodeArray = np.where(raster, ord(char), BLANK).astype(np.uint32)
        return plain
    if marker == "block":
        halves: CodeArray = _HALVES[raster[0::2] + 2 * raster[1::2].astype(np.intp)]
        return halves
    dots = raster.view(np.uint8)
    left, right = dots[:, 0::2], dots[:, 1::2]
    both = left | right << 3
    bits = both[0::4] | both[1::4] << 1 | both[2::4] << 2 | left[3::4] << 6 | right[3::4] << 7
    braille: CodeArray = _BRAILLE[bits]
    return braille
