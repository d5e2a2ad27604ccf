"""Charts: the rules of the design, goldens read by a person, and any data at any size."""

from __future__ import annotations

import math
import tracemalloc
import unicodedata
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from rltui.core.level import Level
from rltui.core.text import cell_width
from rltui.draw.chart.chart_model import Bar, Chart, ChartMark, Curve, Limit
from rltui.draw.chart.render import render
from rltui.draw.chart.trace import smooth
from rltui.draw.chart.y_range import LOG_REFUSED
from rltui.draw.glyph import ASCII, BRAILLE, glyph_set
from rltui.draw.line import Line, Style, Token, line_width, plain
from tests.bytecodes import bytecodes
from tests.tables import cases, table

NAN = float("nan")
BAD, WATCH = Level.BAD, Level.WATCH
GOLDEN = table(__file__)["golden"]

X = np.arange(1, 73)
ENTROPY = np.r_[np.linspace(3.82, 2.46, 30), 0.176, np.full(41, 0.0013)]


def entropy(**more: object) -> Chart:
    return Chart(Curve(X, ENTROPY, levels=[(31, None, BAD)]), **more)  # type: ignore[arg-type]


def text(lines: list[Line]) -> str:
    return "\n".join(plain(line).rstrip() for line in lines)


def looks(line: Line) -> list[Style]:
    """One style per cell."""
    return [look for part, look in line for _ in part]


def find(lines: list[Line], char: str) -> list[tuple[int, int]]:
    """Row and column of every cell that shows ``char``."""
    return [(r, c) for r, line in enumerate(lines) for c, x in enumerate(plain(line)) if x == char]


def test_golden_findings_pane() -> None:
    bars = [
        Bar("no learning signal", BAD, 34),
        Bar("KL blow-up", BAD, 30, 31, over=True),
        Bar("entropy collapse", BAD, 31),
    ]
    chart = entropy(bars=bars, limits=[Limit(1.15, "30 % of start")], healthy=(1.15, None))
    lines = render(chart, 60, 15, BRAILLE)
    assert text(lines) == GOLDEN["findings"]


def test_golden_ascii() -> None:
    marks = [ChartMark(x, "v") for x in (20, 40)]
    chart = entropy(bars=[Bar("entropy collapse", BAD, 31)], marks=marks)
    lines = render(chart, 60, 12, ASCII)
    assert text(lines) == GOLDEN["ascii"]


def test_golden_nan_restart_and_old_branch() -> None:
    y = np.where((X > 40) & (X < 50), NAN, ENTROPY)
    curve = Curve(X, y, old=(np.arange(31, 45), np.linspace(2.4, 1.9, 14)))
    chart = Chart(curve, restarts=[31], marks=[ChartMark(20, "v")], marks_title="validation")
    assert text(render(chart, 60, 12, BRAILLE)) == GOLDEN["nan"]


def test_golden_grid_cell() -> None:
    chart = entropy(ends=True, x_axis=False, newest=False, label_width=8)
    assert text(render(chart, 38, 6, BRAILLE)) == GOLDEN["cell"]


def test_level_colours_from_since_on_and_the_newest_value_in_the_margin() -> None:
    lines = render(entropy(), 60, 12, BRAILLE)
    ((row, column),) = find(lines, "◂")
    assert plain(lines[row])[column + 1 :] == "0.0013"
    assert looks(lines[row])[column + 1].fg is Token.BAD
    assert looks(lines[row])[column + 1].bold
    floor = looks(lines[row])
    assert floor[column - 1].fg is Token.BAD
    assert looks(lines[0])[7].fg is Token.SERIES or looks(lines[1])[7].fg is Token.SERIES
    used = {look.fg for line in lines[:9] for look in looks(line)}
    assert {Token.SERIES, Token.BAD} <= used


def test_an_unjudged_line_is_grey() -> None:
    lines = render(Chart(Curve(X, ENTROPY, known=False), newest=False), 40, 8, BRAILLE)
    used = {look.fg for line in lines for part, look in line if part.strip()}
    assert used == {Token.MUTED, Token.LINE}


def test_a_limit_text_moves_away_from_the_line() -> None:
    y = np.r_[np.full(36, 1.0), np.full(36, 9.0)]
    lines = render(Chart(Curve(X, y), limits=[Limit(9.0, "limit 9")]), 60, 12, BRAILLE)
    row = next(line for line in lines if "limit 9" in plain(line))
    assert plain(row).index("limit 9") < 34
    assert "◂9.00" in plain(row)


@cases(__file__, "zero_on_the_axis")
def test_zero_on_the_axis(y: list[float], bottom: str) -> None:
    lines = render(Chart(Curve(np.arange(2), np.array(y)), x_axis=False), 40, 9, BRAILLE)
    labels = [plain(line)[:5].strip(" ┤│") for line in lines]
    assert [label for label in labels if label][-1] == bottom


def test_a_limit_far_outside_is_marked_at_the_edge_and_does_not_squeeze_the_curve() -> None:
    alone = Chart(Curve(X, ENTROPY))
    near = render(Chart(alone.curve, limits=[Limit(6.0, "near")]), 60, 12, BRAILLE)
    assert "near" in text(near)
    assert "^ near" not in text(near)
    for limit, row, mark in ((60.0, 0, "^ far"), (-60.0, 9, "v far")):
        lines = render(Chart(alone.curve, limits=[Limit(limit, "far")]), 60, 12, BRAILLE)
        assert mark in plain(lines[row])
        ticks = [plain(line)[:5] for line in lines]
        assert ticks == [plain(line)[:5] for line in render(alone, 60, 12, BRAILLE)]
    positive = Chart(alone.curve, log=True, limits=[Limit(0.0, "none"), Limit(1e9, "far")])
    assert "^ far" in text(render(positive, 60, 12, BRAILLE))
    assert "none" not in text(render(positive, 60, 12, BRAILLE))


@pytest.mark.parametrize("values", [[0.02, 33.0], [7.0, 7.0]], ids=["varying", "constant"])
@pytest.mark.parametrize("rows", [6, 10, 24])
def test_a_limit_below_zero_does_not_join_where_no_value_is(values: list[float], rows: int) -> None:
    chart = Chart(Curve(np.arange(2), np.array(values)), limits=[Limit(-5.0, "low")])
    assert not any(
        plain(line).lstrip().startswith("-") for line in render(chart, 60, rows, BRAILLE)
    )


def test_log_refuses_what_is_not_positive_and_says_so() -> None:
    refused = render(Chart(Curve(X, ENTROPY - 1), log=True), 60, 12, BRAILLE)
    assert LOG_REFUSED in text(refused)
    assert len(LOG_REFUSED) < 20
    accepted = render(Chart(Curve(X, ENTROPY), log=True), 60, 12, BRAILLE)
    assert LOG_REFUSED not in text(accepted)
    assert "0.01┤" in text(accepted)


def test_clipping_marks_what_is_outside() -> None:
    y = np.sin(np.arange(1000) / 50)
    y[500], y[700] = 1e6, -1e6
    x = np.arange(1000)
    lines = render(Chart(Curve(x, y), clip=True), 60, 12, BRAILLE)
    assert len(find(lines[:1], "^")) == 1
    assert len(find(lines[9:10], "v")) == 1
    whole = render(Chart(Curve(x, y)), 60, 12, BRAILLE)
    assert not find(whole, "^")
    assert "1M" in text(whole)


def test_one_spike_among_a_million_points_stays() -> None:
    y = np.zeros(1_000_000, dtype=np.float32)
    y[654_321] = 7
    lines = render(Chart(Curve(np.arange(1_000_000), y)), 60, 10, BRAILLE)
    columns = {c for r, c in find(lines, "⡇") + find(lines, "⢸") if r < 5}
    assert len(columns) == 1


def test_crosshair_marks_its_step_and_flips_its_box() -> None:
    left = render(entropy(crosshair=20), 100, 20, BRAILLE)
    right = render(entropy(crosshair=60), 100, 20, BRAILLE)
    for lines, before in ((left, False), (right, True)):
        ((_, column),) = find(lines[18:19], "┴")
        label = next(p for p in lines[19] if p[1].reverse)
        assert label[1].fg is Token.ACCENT
        assert label[0].strip() in ("20", "60")
        box = plain(next(line for line in lines if "value" in plain(line))).index("value")
        assert (box < column) is before
        assert any(look.bg is Token.SEL for line in lines for part, look in line if "value" in part)
    assert "was" in text(left)


def test_the_crosshair_leaves_the_text_of_a_limit_whole() -> None:
    limits = [Limit(1.15, "watch below 30 %")]
    for x in range(50, 73):
        lines = render(entropy(limits=limits, crosshair=x), 60, 20, BRAILLE)
        assert "watch below 30 %" in text(lines), x


def test_no_row_of_a_low_chart_is_tinted_that_is_not_healthy() -> None:
    chart = entropy(healthy=(1.15, None), x_axis=False, ends=True, newest=False)
    lines = render(chart, 60, 6, BRAILLE)
    tinted = [any(look.bg is Token.TINT for look in looks(line)) for line in lines]
    assert tinted == [True, True, True, True, False, False]
    sick = [any(look.fg is Token.BAD for text, look in x if "✖" not in text) for x in lines]
    assert sick == [False, False, False, False, True, True]
    assert [(row, look.fg) for row, x in enumerate(lines) for t, look in x if t == "✖"] == [
        (0, Token.BAD)
    ], "and a badge where it began, off the curve"


def test_the_readout_names_the_newest_point_at_or_before_the_crosshair() -> None:
    curve = Curve(X, ENTROPY, low=(X, ENTROPY - 1), high=(X, ENTROPY + 1))
    shown = text(render(Chart(curve, smooth=0.6, crosshair=31.5), 80, 20, BRAILLE))
    assert "value    0.176  was 2.46" in shown
    assert "min, max -0.824 to 1.18" in shown
    smoothed = float(shown.split("smoothed")[1].split()[0])
    assert 0.176 < smoothed < 2.46
    before = text(render(Chart(curve, first=0, crosshair=0), 80, 20, BRAILLE))
    assert "step 0" in before
    assert "value" not in before


def test_the_zoom_window_is_all_that_is_seen() -> None:
    lines = render(entropy(window=(40, 60)), 60, 12, BRAILLE)
    assert "◂" not in text(lines)  # the newest value is not in it
    assert next(w for w in plain(lines[-1]).split() if w != "step") == "40"


def test_bars_have_priorities_and_stand_in_order_of_time() -> None:
    bars = [
        Bar("watch", WATCH, 1), Bar("resolved", BAD, 5, 9, over=True), Bar("firing", BAD, 30),
    ]  # fmt: skip
    chart = entropy(bars=bars, marks=[ChartMark(3, "v")], marks_title="marks")
    names = ["watch", "resolved", "firing", "marks"]

    def shown(rows: int) -> list[str]:
        height = 2 + max(4, 3 * rows)  # a third of what the axis leaves is for bars
        lines = render(chart, 60, height, BRAILLE)
        words = text(lines[-rows:] if rows else [])
        return [n for n in names if n in words]

    assert shown(1) == ["firing"]
    assert shown(2) == ["resolved", "firing"]
    assert shown(3) == ["watch", "resolved", "firing"]
    lines = render(Chart(chart.curve, bars=bars), 60, 11, BRAILLE)
    order = [plain(line).strip("━▲✖ \n").split()[0] for line in lines[-3:]]
    assert order == ["watch", "resolved", "firing"]


@pytest.mark.parametrize(
    ("last", "newest", "shown"),
    [(100, True, "0 50 100 step"), (90, True, "0 50 step"), (100, False, "step 0 50 100")],
)
def test_the_unit_hides_no_label(last: int, newest: bool, shown: str) -> None:
    chart = Chart(Curve([0, last], [0.0, 1.0]), x_unit="step", newest=newest)
    label = plain(render(chart, 44, 9, BRAILLE)[-1])
    assert label.split() == shown.split()


def test_smoothing_shows_the_raw_line_below_and_the_raw_value_at_the_end() -> None:
    y = np.r_[np.ones(71), 5.0]
    lines = render(Chart(Curve(X, y), smooth=0.9), 60, 12, BRAILLE)
    used = {look.fg for line in lines for part, look in line if part.strip()}
    assert {Token.SERIES, Token.BAND} <= used
    assert "◂5.00" in text(lines)
    family = Chart(Curve(X, y, low=(X, y - 1), high=(X, y + 1)), smooth=0.9)
    used = {look.fg for line in render(family, 60, 12, BRAILLE) for _, look in line}
    assert {Token.SERIES, Token.SPARK, Token.BAND} <= used


@pytest.mark.parametrize("marker", ["braille", "block", "ascii"])
@pytest.mark.parametrize("ends", [True, False])
def test_the_ends_of_a_family_neither_fill_nor_flatten_its_chart(marker: str, ends: bool) -> None:
    x = np.arange(400)
    y = np.linspace(0.40, 0.45, 400)
    wild = np.where(x % 2, 0.0, 0.42)  # the lowest of a group: nothing, or as good as the rest
    glyphs = glyph_set(marker)
    alone = render(Chart(Curve(x, y), ends=ends), 80, 20, glyphs)
    family = Curve(x, y, low=(x, wild), high=(x, np.ones(400)))
    lines = render(Chart(family, ends=ends), 80, 20, glyphs)

    def labels(chart: list[Line]) -> list[str]:
        return [plain(line)[:5] for line in chart]

    assert labels(lines) == labels(alone)
    cells = sum(look.fg is Token.BAND for line in lines for look in looks(line))
    assert cells == 0 if ends else cells <= 2 * 80


def test_no_points() -> None:
    for curve in (Curve(np.zeros(0), np.zeros(0)), Curve(X, np.full(72, NAN))):
        lines = render(Chart(curve, first=1, last=72), 50, 10, BRAILLE)
        assert [line_width(line) for line in lines] == [50] * 10
        assert ("no points" in text(lines)) is (not len(curve.x))


# --- smoothing and decimation -----------------------------------------------------------


def reference_ema(values: np.ndarray, weight: float) -> np.ndarray:
    """TensorBoard's debiased average, one point after the other."""
    last, count, out = 0.0, 0, []
    for value in values:
        if not math.isfinite(value):
            out.append(value)
            continue
        last = last * weight + (1 - weight) * value
        count += 1
        out.append(last / (1 - weight**count))
    return np.array(out, dtype=np.float64)


@given(
    npst.arrays(
        np.float64, st.integers(0, 300),
        elements=st.floats(-1e9, 1e9) | st.sampled_from([NAN, math.inf]),
    ),
    st.floats(0.01, 0.99),
)  # fmt: skip
def test_smoothing_is_the_average_of_tensorboard(values: np.ndarray, weight: float) -> None:
    scale = float(np.abs(values[np.isfinite(values)]).max(initial=1e-9))
    expected = reference_ema(values, weight)
    np.testing.assert_allclose(smooth(values, weight), expected, rtol=1e-6, atol=1e-9 * scale)


def test_smoothing_of_extremes_stays_finite() -> None:
    values = np.array([1.7e308, -1.7e308, 5e-324, 0.0] * 500)
    assert np.isfinite(smooth(values, 0.99)).all()
    assert smooth(values, 0) is values


# --- any data at any size ---------------------------------------------------------------

ANY = st.floats() | st.sampled_from([1e308, -1e308, 5e-324, 0.0, NAN, math.inf])
SERIES = st.one_of(
    npst.arrays(np.float64, st.integers(0, 40), elements=ANY),
    npst.arrays(np.float32, st.integers(0, 40), elements=st.floats(width=32)),
)
PLACE = st.integers(-5, 60).map(float) | st.integers(-(2**60), 2**60).map(float)


@st.composite
def curves(draw: st.DrawFn) -> Curve:
    y = draw(SERIES)
    x = draw(
        npst.arrays(np.int64, len(y), elements=st.integers(0, 50))
        | npst.arrays(np.int64, len(y), elements=st.integers(-(2**62), 2**62))
        | npst.arrays(np.float64, len(y), elements=ANY)
    )
    other = draw(st.none() | st.just((x, y)) | st.just((x[::-1], y)))
    episode = st.tuples(PLACE, st.none() | PLACE, st.sampled_from(Level))
    return Curve(
        x, y, low=other, high=draw(st.sampled_from([other, None])), old=other,
        levels=draw(st.lists(episode, max_size=2)), known=draw(st.booleans()),
    )  # fmt: skip


@st.composite
def charts(draw: st.DrawFn) -> Chart:
    words = st.text(max_size=12)
    bar = st.builds(Bar, words, st.sampled_from(Level), PLACE, st.none() | PLACE, st.booleans())
    return Chart(
        draw(curves()),
        first=draw(st.none() | PLACE),
        last=draw(st.none() | PLACE),
        window=draw(st.none() | st.tuples(PLACE, PLACE)),
        x_kind=draw(st.sampled_from(["step", "time", "clock", "number"])),
        x_unit=draw(words),
        smooth=draw(st.sampled_from([0.0, 0.01, 0.6, 0.99])),
        log=draw(st.booleans()),
        clip=draw(st.booleans()),
        healthy=draw(st.none() | st.tuples(st.none() | ANY, st.none() | ANY)),
        limits=draw(st.lists(st.builds(Limit, ANY, words), max_size=2)),
        restarts=draw(st.lists(PLACE, max_size=2)),
        bars=draw(st.lists(bar, max_size=4)),
        marks=draw(st.lists(st.builds(ChartMark, PLACE, words), max_size=4)),
        marks_title=draw(words),
        crosshair=draw(st.none() | PLACE),
        ends=draw(st.booleans()),
        x_axis=draw(st.booleans()),
        newest=draw(st.booleans()),
        label_width=draw(st.none() | st.integers(0, 12)),
        margin_width=draw(st.none() | st.integers(0, 12)),
    )


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    charts(),
    st.integers(1, 30) | st.integers(1, 400),
    st.integers(1, 20) | st.integers(1, 120),
    st.sampled_from(["braille", "block", "ascii"]),
)
def test_anything_fills_exactly_its_cells(
    chart: Chart, width: int, height: int, marker: str
) -> None:
    lines = render(chart, width, height, glyph_set(marker))
    assert len(lines) == height
    for line in lines:
        words = glyph_set(marker).text(plain(line))
        assert line_width(line) == cell_width(words) == width
        assert not any(unicodedata.category(c).startswith("C") for c in words)
        assert marker != "ascii" or words.isascii()


def test_a_chart_of_many_points_is_no_more_work_than_one_of_few() -> None:
    """But for NumPy's passes over the points: about 0.6 ms for 50,000 of them."""

    def work(count: int) -> int:
        values = np.random.default_rng(0).normal(size=count).cumsum()
        chart = Chart(Curve(np.arange(count), values), ends=True, x_axis=False, newest=False)
        return bytecodes(lambda: render(chart, 38, 6, BRAILLE))

    work(1_000)  # what is kept between charts is made once
    assert work(50_000) < 1.2 * work(1_000)


def test_lines_that_would_fill_the_chart_leave_the_points() -> None:
    """A path that leaps across the chart a hundred thousand times: joined, it would need memory
    for each dot of each leap."""
    x = np.tile([0.0, 1.0], 50_000)
    chart = Chart(Curve(x, x, is_path=True), first=0.0, last=1.0, smooth=0.01)
    tracemalloc.start()
    lines = [plain(line) for line in render(chart, 60, 16, glyph_set("ascii"))]
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 30e6
    assert sum("*" in line for line in lines) < 6
    few = replace(chart, curve=Curve(x[:8], x[:8], is_path=True))
    assert sum("*" in plain(line) for line in render(few, 60, 16, glyph_set("ascii"))) > 6
