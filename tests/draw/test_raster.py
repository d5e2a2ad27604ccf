"""Rasters: every dot at its place."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.draw.chart.canvas import RESOLUTION, checkerboard, encode, fill


def rows(raster: np.ndarray, marker: str) -> list[str]:
    return ["".join(map(chr, line)) for line in encode(raster, marker).tolist()]


def test_each_braille_dot() -> None:
    found = []
    for row in range(4):
        for column in range(2):
            raster = np.zeros((4, 2), dtype=np.bool_)
            raster[row, column] = True
            found += rows(raster, "braille")
    assert "".join(found) == "⠁⠈⠂⠐⠄⠠⡀⢀"
    assert rows(np.ones((4, 2), dtype=np.bool_), "braille") == ["⣿"]
    assert rows(np.zeros((8, 4), dtype=np.bool_), "braille") == ["  ", "  "]


def test_blocks_and_ascii() -> None:
    raster = np.array([[1, 0, 1, 0], [0, 1, 1, 0]], dtype=np.bool_)
    assert rows(raster, "block") == ["▀▄█ "]
    assert rows(raster, "ascii") == ["* * ", " ** "]
    assert chr(encode(raster, "ascii", char=":")[0, 0]) == ":"


def test_fill_counts_from_the_bottom_and_leaves_gaps() -> None:
    low, high = np.array([0.0, 1.0, np.nan]), np.array([0.0, 3.0, np.nan])
    raster = fill(low, high, 4)
    assert raster.astype(int).tolist() == [[0, 1, 0], [0, 1, 0], [0, 1, 0], [1, 0, 0]]


@pytest.mark.parametrize("marker", list(RESOLUTION))
def test_checkerboard_is_half(marker: str) -> None:
    across, down = RESOLUTION[marker]
    raster = np.ones((4 * down, 6 * across), dtype=np.bool_)
    assert checkerboard(raster).sum() == raster.size / 2
    assert encode(checkerboard(raster), marker).shape == (4, 6)
