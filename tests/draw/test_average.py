"""The averaged line through points that are denser than columns."""

import numpy as np
import pytest

from rltui.draw.chart.chart_model import Chart, Curve
from rltui.draw.chart.render import render
from rltui.draw.chart.trace import CurvePoints, DotColumns, averaged, decimate
from rltui.draw.glyph import BRAILLE, glyph_set
from rltui.draw.line import Line, Token

WIDTH = 120
N = 5000
X = np.arange(N, dtype=np.float64)
WINDOW = (0.0, N - 1.0)
NOISE = np.random.default_rng(4).standard_normal(N)


def line_of(y: np.ndarray, restarts: tuple[float, ...] = ()) -> DotColumns:
    data = CurvePoints(X, y)
    return averaged(data, decimate(data, *WINDOW, WIDTH), WINDOW, WIDTH, restarts)


def dots(lines: list[Line], token: Token) -> int:
    """Braille dots in a colour."""
    found = 0
    for line in lines:
        for text, look in line:
            if look.fg is token:
                found += sum(
                    (ord(c) - 0x2800).bit_count() for c in text if 0x2800 < ord(c) < 0x2900
                )
    return found


def test_nothing_is_averaged_across_a_restart() -> None:
    y = np.where(X < N / 2, 0.0, 10.0)
    line = line_of(y, restarts=(N / 2,))
    assert set(line.first.tolist()) == {0.0, 10.0}
    assert len(set(line_of(y).first.tolist())) > 2


@pytest.mark.parametrize("value", [0.0, -3.3, 5e-324, 1e308])
def test_a_constant_stays_what_it_is(value: float) -> None:
    assert set(line_of(np.full(N, value)).first.tolist()) == {value}


@pytest.mark.parametrize("marker", ["braille", "block", "ascii"])
def test_the_chart_is_never_a_solid_block(marker: str) -> None:
    lines = render(Chart(Curve(X, NOISE)), 80, 24, glyph_set(marker))
    if marker == "braille":
        line, band = dots(lines, Token.SERIES), dots(lines, Token.BAND)
        assert 100 < line < 800
        assert 500 < band < 0.5 * 80 * 24 * 8
    else:
        cells = sum(len(t.replace(" ", "")) for r in lines for t, k in r if k.fg is Token.SERIES)
        assert cells < 300


def test_a_spike_stays_solid_in_the_band() -> None:
    y = 0.2 * NOISE
    y[3000] = 7.0
    lines = render(Chart(Curve(X, y)), 80, 20, BRAILLE)
    solid = sum(t.count("⡇") + t.count("⢸") for r in lines for t, k in r if k.fg is Token.BAND)
    assert dots(lines, Token.BAND) > 200
    assert solid >= 8


def test_the_line_of_an_outline_is_that_of_its_means() -> None:
    skewed = np.where(np.arange(N) % 10 == 0, 10.0, 0.0)
    extremes = np.sort(np.r_[np.arange(0, N, 50), np.arange(1, N, 50)])
    means = skewed.reshape(-1, 50).mean(axis=1)
    curve = Curve(X[extremes], skewed[extremes], mean=(X[25::50], means))
    lines = render(Chart(curve), 80, 21, BRAILLE)
    rows = {n for n, r in enumerate(lines) for t, k in r if k.fg is Token.SERIES and t.strip()}
    assert all(n > 12 for n in rows)
