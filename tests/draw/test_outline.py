"""The points that a picture of a long series needs."""

import numpy as np
import pytest

from rltui.draw.chart.chart_model import Chart, Curve
from rltui.draw.chart.render import render
from rltui.draw.chart.trace import Outline
from rltui.draw.glyph import BRAILLE
from rltui.draw.line import plain

MANY = 300_000


def series(n: int = MANY) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    x = np.arange(n)
    y = np.sin(x / 40_000) + 0.1 * rng.standard_normal(n)
    y[n // 3] = 9.0
    y[n // 2] = -7.0
    return x, y.astype(np.float32)


def picture(x: np.ndarray, y: np.ndarray) -> list[str]:
    chart = Chart(Curve(x, y), first=0, last=MANY - 1)
    return [plain(line) for line in render(chart, 90, 20, BRAILLE)]


@pytest.mark.parametrize("pieces", [[MANY], [5, 20_000, 20_001, 77_777, MANY]])
def test_the_picture_is_that_of_all_points(pieces: list[int]) -> None:
    x, y = series()
    outline = Outline()
    for end in pieces:
        outline.extend(y[:end])
    index = outline.index
    assert len(index) < MANY / 8
    assert (np.diff(index) > 0).all()
    assert {0, MANY // 3, MANY // 2, MANY - 1} <= set(index.tolist())
    different = sum(a != b for a, b in zip(picture(x, y), picture(x[index], y[index]), strict=True))
    assert different <= 2  # a block may lie across two columns


def test_values_that_are_no_numbers_keep_their_places() -> None:
    x, y = series()
    y[100_000:100_010] = np.nan
    y[250_000] = np.inf
    outline = Outline()
    outline.extend(y)
    kept = y[outline.index]
    assert np.count_nonzero(~np.isfinite(kept)) == 11
    assert picture(x, y)[-3].count("N") == picture(x[outline.index], kept)[-3].count("N") > 0


@pytest.mark.parametrize("pieces", [[MANY], [5, 20_000, 20_001, 77_777, MANY]])
def test_means_are_those_of_equal_blocks_however_the_points_came(pieces: list[int]) -> None:
    _, y = series()
    y[1000:1005] = np.nan
    y[200_000] = np.inf
    outline = Outline()
    for end in pieces:
        outline.extend(y[:end])
    size = MANY // len(outline.means) + 1
    size = 1 << (size - 1).bit_length()
    for block in (0, 1000 // size, 200_000 // size, len(outline.means) - 1):
        values = y[block * size : (block + 1) * size].astype(np.float64)
        assert outline.means[block] == pytest.approx(values[np.isfinite(values)].mean())
        assert abs(outline.centres[block] - (block * size + len(values) / 2)) <= 1
