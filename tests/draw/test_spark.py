"""Sparklines: cells, colours, and points that are gathered piece by piece.

Stacked areas: heights in eighths, colours, what lies above, letters in ascii.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from rltui.core.level import Level
from rltui.core.text import cell_width
from rltui.draw.chart.stack import LETTERS, Stack, bar_line, stack_cells
from rltui.draw.glyph import ASCII, BRAILLE, GlyphSet, glyph_set
from rltui.draw.line import STAGE_TOKENS, Line, Span, Token, line_width, plain
from rltui.draw.spark import Digest, Episode, columns_until, spark_of
from tests.bytecodes import bytecodes
from tests.draw.sparks import spark
from tests.tables import cases

NAN = float("nan")


def draw(
    steps: object, values: object, *, run: tuple[float, float] = (1, 10), width: int = 10,
    levels: tuple[Episode, ...] = (), known: bool = True, marker: str = "braille",
) -> list[Span]:  # fmt: skip
    return spark(
        np.asarray(steps),
        np.asarray(values),
        first_step=run[0],
        last_step=run[1],
        width=width,
        levels=levels,
        base_level_known=known,
        glyphs=glyph_set(marker),
    )


def tokens(line: list[Span]) -> list[Token]:
    return [look.fg for text, look in line for _ in text]


TEN = np.arange(1, 11)


@cases(__file__, "cells")
def test_cells(steps: object, values: object, text: str) -> None:
    assert plain(draw(steps, values)) == text


def test_ascii() -> None:
    assert plain(draw(TEN, TEN, marker="ascii")) == "_..-==+**#"
    assert plain(draw([1, 3, 6], [1, NAN, 1.0], marker="ascii")) == "==N--====="


def test_a_spike_cannot_vanish_and_the_last_cell_is_the_newest_value() -> None:
    values = np.ones(100_000)
    values[54_321] = 50
    values[99_990] = 50
    text = plain(draw(np.arange(100_000), values, run=(0, 99_999)))
    assert text == "▁▁▁▁▁▇▁▁▁▁"


def test_a_young_run_has_one_cell_per_step_at_the_left() -> None:
    digest = Digest(*columns_until(1, 4, 8, 12, narrowest=1.0))
    digest.extend(np.arange(1, 5), np.array([0.0, 3.0, 6.0, 3.0]), 4)
    assert plain(spark_of(digest, 4, (), True, BRAILLE)) == "▁▄▇▄        "
    digest = Digest(*columns_until(0, 399, 399, 4, narrowest=1.0))
    assert digest.unit == 100


def test_colour_is_the_level_at_that_step_not_the_height() -> None:
    levels = ((4, 6, Level.WATCH), (6, 6, Level.BAD), (9, None, Level.BAD))
    found = tokens(draw(TEN, TEN, levels=levels))
    assert found == [
        *[Token.SPARK] * 3, Token.WATCHFILL, Token.WATCHFILL, Token.BADFILL,
        Token.SPARK, Token.SPARK, Token.BADFILL, Token.BADFILL,
    ]  # fmt: skip


def test_an_episode_of_one_step_keeps_its_cell() -> None:
    levels = ((5000, 5000, Level.WATCH),)
    steps = np.arange(0, 10_000, 100)
    found = tokens(draw(steps, steps, run=(0, 9999), levels=levels))
    assert found.count(Token.WATCHFILL) == 1
    assert found[5] is Token.WATCHFILL


def test_unjudged_is_grey_constant_is_muted_and_nan_is_bad() -> None:
    assert set(tokens(draw(TEN, TEN, known=False))) == {Token.UNJUDGED}
    assert set(tokens(draw(TEN, np.ones(10)))) == {Token.MUTED}
    assert set(tokens(draw(TEN, np.ones(10), levels=((1, None, Level.BAD),)))) == {Token.BADFILL}
    _, first, rest = draw([1, 3], [1, NAN])
    assert first[0] == "N"
    assert first[1].fg is Token.BAD
    assert first[1].bold
    assert not rest[1].bold


VALUES = st.one_of(
    npst.arrays(np.float64, st.integers(0, 60), elements=st.floats()),
    npst.arrays(np.float32, st.integers(0, 60), elements=st.floats(width=32)),
)


@given(st.data(), VALUES, st.integers(0, 80), st.sampled_from(["braille", "block", "ascii"]))
def test_any_data_fills_exactly_its_cells(
    data: st.DataObject, values: np.ndarray, width: int, marker: str
) -> None:
    any_step = st.integers(-(2**62), 2**62) | st.integers(-20, 80)
    steps = np.array(
        data.draw(st.lists(any_step, min_size=len(values), max_size=len(values))), dtype=np.int64
    )
    first, last = data.draw(any_step), data.draw(any_step)
    levels = ((data.draw(any_step), None, Level.BAD), (0, data.draw(any_step), Level.WATCH))
    line = spark(
        steps, values, first_step=first, last_step=last, width=width, levels=levels,
        glyphs=glyph_set(marker),
    )  # fmt: skip
    text = plain(line)
    assert cell_width(text) == width
    assert text.isprintable()
    assert marker != "ascii" or text.isascii()


def test_a_spark_of_many_points_is_no_more_work_than_one_of_few() -> None:
    """But for NumPy's passes over the points: about 0.6 ms for 50,000 of them."""

    def work(count: int) -> int:
        values = np.random.default_rng(1).normal(size=count).astype(np.float32)
        steps = np.arange(count)
        return bytecodes(lambda: draw(steps, values, run=(0, count - 1), width=23))

    assert work(50_000) < 1.2 * work(1_000)


values = st.one_of(
    st.floats(-1e6, 1e6), st.sampled_from([float("nan"), float("inf"), float("-inf"), 0.0])
)


def state(digest: Digest) -> list[object]:
    arrays = (digest.high, digest.low, digest.newest, digest.count, digest.good)
    return [*(a.tolist() for a in arrays), digest.middle]


@given(
    y=st.lists(values, min_size=1, max_size=60),
    gaps=st.lists(st.integers(0, 5), min_size=60, max_size=60),
    cuts=st.lists(st.integers(0, 60), max_size=4),
    width=st.integers(1, 12),
)
def test_piece_by_piece_is_as_all_at_once(
    y: list[float], gaps: list[int], cuts: list[int], width: int
) -> None:
    x = np.cumsum(gaps[: len(y)])
    last = int(x[-1])
    whole = Digest(*columns_until(0, last, last, width))
    whole.extend(x, np.array(y), last)
    parts = Digest(*columns_until(0, last, last, width))
    for cut in sorted(cuts):
        parts.extend(x[:cut], np.array(y)[:cut], last)
    parts.extend(x, np.array(y), last)
    np.testing.assert_equal(state(parts), state(whole))


def drawn(
    parts: list[list[float]], rows: int, top: float, usual: float | None = None
) -> list[Line]:
    stack = Stack(np.array(parts), range(len(parts)), top, usual)
    return stack_cells(stack, rows, BRAILLE)


def test_heights_are_eighths_of_a_cell() -> None:
    lines = drawn([[0.125, 0.5, 1.0, 1.5]], 2, 2.0)
    assert [plain(x) for x in lines] == ["   ▄", "▁▄██"]


def test_two_parts_share_a_cell() -> None:
    (line,) = drawn([[0.5], [0.5]], 1, 1.0)
    ((char, look),) = line
    assert (char, look.fg, look.bg) == ("▄", Token.STAGE_1, Token.STAGE_2)


def test_a_part_that_is_hardly_there_shows() -> None:
    (line,) = drawn([[0.001, 0.0, float("nan")]], 1, 1.0)
    assert plain(line) == "▁  "


def test_what_is_higher_than_the_plot_is_marked() -> None:
    lines = drawn([[3.0, 2.0]], 2, 2.0)
    assert [plain(x) for x in lines] == ["^█", "██"]


def test_the_usual_level_is_dotted_where_a_cell_is_of_one_kind() -> None:
    (line,) = drawn([[1.0, 0.5, 0.0]], 1, 1.0, usual=0.5)
    assert plain(line) == "┈▄┈"
    assert line[0][1].bg is Token.STAGE_1


def test_ascii_draws_letters_without_grounds() -> None:
    stack = Stack(np.array([[1.0, 2.0], [1.0, 0.0]]), (0, 1), 2.0)
    lines = stack_cells(stack, 2, ASCII)
    assert [plain(x) for x in lines] == ["=#", "##"]
    assert all(look.bg is None for x in lines for _, look in x)


@pytest.mark.parametrize("width", [1, 7, 40, 113])
@pytest.mark.parametrize("glyphs", [BRAILLE, ASCII])
def test_a_bar_fills_its_width(width: int, glyphs: object) -> None:
    parts = [("generate 61 %", 0.61, 0), ("update 30 %", 0.3, 1), ("other 9 %", 0.09, 5)]
    line = bar_line(parts, width, glyphs)  # type: ignore[arg-type]
    assert line_width(line) == width
    if width == 113:
        assert "generate 61 %" in plain(line)


def test_every_colour_has_a_letter() -> None:
    assert len(LETTERS) == len(STAGE_TOKENS) == len(set(LETTERS))
    assert not set(LETTERS) & {ASCII.limit, ASCII.rule, *map(ASCII.badge, Level)}


looks = st.tuples(
    st.sampled_from([(), ((2, None, Level.WATCH),), ((0, 3, Level.BAD),)]),
    st.booleans(),
    st.sampled_from([BRAILLE, ASCII]),
)


@given(
    y=st.lists(st.one_of(values, st.integers(0, 2).map(float)), min_size=1, max_size=40),
    gaps=st.lists(st.integers(0, 3), min_size=40, max_size=40),
    look=st.lists(looks, min_size=40, max_size=40),
    width=st.integers(1, 8),
)
def test_a_spark_that_grows_is_that_of_all_its_points(
    y: list[float],
    gaps: list[int],
    look: list[tuple[tuple[Episode, ...], bool, GlyphSet]],
    width: int,
) -> None:
    """After each step, whatever else changes with it: levels, rules that judge it, glyphs."""
    steps = np.cumsum(np.sort(gaps[: len(y)]))
    columns = columns_until(0, 60, 60, width)
    growing = Digest(*columns)
    for count, (levels, known, glyphs) in enumerate(look[: len(y)], 1):
        x, shown, last = steps[:count], np.array(y[:count]), float(steps[count - 1])
        fresh = Digest(*columns)
        for digest in (growing, fresh):
            digest.extend(x, shown, last)
        for later in (0, 0, 9):  # nothing is new, then other tags have gone on
            found = spark_of(growing, last + later, levels, known, glyphs)
            assert found == spark_of(fresh, last + later, levels, known, glyphs)
            assert spark_of(growing, last + later, levels, known, glyphs) == found
