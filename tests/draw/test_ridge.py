"""Ridges and bands of histograms."""

import numpy as np
import pytest

from rltui.core.media import Histogram, histogram
from rltui.draw.glyph import glyph_set
from rltui.draw.line import line_width, plain
from rltui.draw.ridge import band_lines, curve_lines, quantile_line, ridge_lines

MARKERS = pytest.mark.parametrize("marker", ["braille", "block", "ascii"])


def spread(middle: float, width: float = 1.0) -> Histogram:
    edges = np.linspace(middle - 3 * width, middle + 3 * width, 31)
    centres = (edges[1:] + edges[:-1]) / 2
    found = histogram(edges, np.round(1e4 * np.exp(-(((centres - middle) / width) ** 2))))
    assert found is not None
    return found


STEPS = list(range(0, 1000, 10))
FOUND = [spread(s / 100) for s in STEPS]


@MARKERS
@pytest.mark.parametrize("size", [(24, 4), (60, 16), (118, 31), (198, 46)])
@pytest.mark.parametrize("draw", [ridge_lines, band_lines])
def test_ridges_fill_their_place_and_no_more(
    draw: object, size: tuple[int, int], marker: str
) -> None:
    width, height = size
    lines = draw(STEPS, FOUND, 50, glyph_set(marker), width, height)  # type: ignore[operator]
    assert len(lines) == height
    assert all(line_width(x) <= width for x in lines)


def test_a_ridge_moves_as_the_values_do_and_names_the_chosen_step() -> None:
    lines = [plain(x) for x in ridge_lines(STEPS, FOUND, 99, glyph_set("braille"), 100, 30)]
    labelled = [x for x in lines if x[:8].strip()]
    assert labelled[-1].split()[0] == "990"
    assert labelled[0].split()[0] == "0"
    first, last = labelled[0][9:], labelled[-1][9:]
    assert len(first) - len(first.lstrip()) < 15
    assert len(last) - len(last.lstrip()) > 50


def test_in_bands_the_median_climbs() -> None:
    lines = [plain(x) for x in band_lines(STEPS, FOUND, 0, glyph_set("ascii"), 80, 20)]
    stars = [(x.index("*"), row) for row, x in enumerate(lines) if "*" in x]
    assert stars == sorted(stars, reverse=True) or stars[0][0] > stars[-1][0]
    assert stars[0][1] < 6
    assert stars[-1][1] > 12


@pytest.mark.parametrize("draw", [ridge_lines, band_lines])
def test_one_value_alone_and_one_step_alone_are_drawn(draw: object) -> None:
    alone = Histogram(np.array([2.0, 2.0]), np.array([7.0]))
    for found in ([alone], [alone, alone]):
        lines = draw(STEPS[: len(found)], found, 0, glyph_set("braille"), 80, 20)  # type: ignore[operator]
        assert any(ch > "\u2800" for x in lines for ch in plain(x) if ch < "\u2900")


def test_quantiles_in_a_narrow_line_leave_out_the_outer_ones() -> None:
    wide, narrow = plain(quantile_line(FOUND[0], 200)), plain(quantile_line(FOUND[0], 30))
    assert "25 to 75 %" in wide
    assert "median" in narrow
    assert "25 to 75 %" not in narrow


def test_a_curve_shows_the_best_precision_at_each_recall() -> None:
    precision, recall = np.array([0.5, np.nan, 0.9, 1.0]), np.array([1.0, 0.7, 0.5, 0.0])
    rows = [plain(x).split() for x in curve_lines(precision, recall, glyph_set("ascii"), 60)]
    table = {row[0]: row[1] for row in rows[1:]}
    assert table["0.0"] == "1.000"
    assert table["0.5"] == "0.900"
    assert table["1.0"] == "0.500"
