"""Lines of other runs in a chart: colours, range, bands, the envelope of the reference, legend."""

import numpy as np
import pytest

from rltui.draw.chart.chart_model import Chart, Curve
from rltui.draw.chart.render import render
from rltui.draw.glyph import ASCII, BRAILLE
from rltui.draw.line import RUN_TOKENS, Line, Token, line_width, plain

X = np.arange(100)
OWN = Curve(X, np.full(100, 1.0))


def cells_of(lines: list[Line], token: Token) -> set[tuple[int, int]]:
    """Row and column of every non-blank cell in a colour."""
    found = set()
    for row, line in enumerate(lines):
        column = 0
        for part, look in line:
            for char in part:
                if look.fg is token and char != " ":
                    found.add((row, column))
                column += 1
    return found


def draw(chart: Chart, width: int = 60, height: int = 16, glyphs=BRAILLE) -> list[Line]:
    lines = render(chart, width, height, glyphs)
    assert [line_width(line) for line in lines] == [width] * height
    return lines


def test_each_run_has_its_colour_and_the_range_holds_it() -> None:
    above = Curve(X, np.full(100, 8.0), Token.RUN_1)
    below = Curve(X, np.full(100, -8.0), Token.RUN_2)
    lines = draw(Chart(OWN, overlays=[above, below]))
    rows = {t: {r for r, _ in cells_of(lines, t)} for t in (Token.RUN_1, Token.RUN_2)}
    own = {r for r, c in cells_of(lines, Token.SERIES) if c < 50}
    assert max(rows[Token.RUN_1]) < min(own) <= max(own) < min(rows[Token.RUN_2])


def test_the_own_curve_and_the_first_overlay_lie_on_top() -> None:
    same = [Curve(X, OWN.y, Token.RUN_1), Curve(X, OWN.y, Token.RUN_2)]
    assert not cells_of(draw(Chart(OWN, overlays=same)), Token.RUN_1)
    moved = [Curve(X, OWN.y + 5, Token.RUN_1), Curve(X, OWN.y + 5, Token.RUN_2)]
    lines = draw(Chart(OWN, overlays=moved))
    assert cells_of(lines, Token.RUN_1)
    assert not cells_of(lines, Token.RUN_2)


@pytest.mark.parametrize("glyphs", [BRAILLE, ASCII], ids=["braille", "ascii"])
def test_a_group_has_a_band_fainter_than_the_envelope(glyphs) -> None:
    low, high = (X, np.full(100, -4.0)), (X, np.full(100, 4.0))
    group = Curve(X, np.zeros(100), Token.RUN_3, low=low, high=high)
    lines = draw(Chart(OWN, overlays=[group], envelope=(low, high)), glyphs=glyphs)
    assert len({r for r, _ in cells_of(lines, Token.RUN_3_BAND)}) > 5
    assert len({r for r, _ in cells_of(lines, Token.RUN_3)}) == 1, "the line alone"
    alone = draw(Chart(OWN, envelope=(low, high)), glyphs=glyphs)
    assert len({r for r, _ in cells_of(alone, Token.BAND)}) > 5

    def dots(cells: list[Line]) -> int:
        return sum((ord(c) - 0x2800).bit_count() for r in cells for c in plain(r) if c > "⠀")

    if glyphs is BRAILLE:
        banded = draw(Chart(OWN, overlays=[group]))
        assert dots(banded) < 0.7 * dots(alone)


def test_the_legend_stands_above_the_plot_and_counts_what_has_no_room() -> None:
    others = [Curve(X, OWN.y + n, t, f"seed {n}") for n, t in enumerate(RUN_TOKENS)]
    lines = draw(Chart(OWN, label="mine", overlays=others), width=120)
    names = plain(lines[0]).replace("━", "").split()
    assert names == ["mine", *" ".join(o.label for o in others).split()]
    narrow = plain(draw(Chart(OWN, label="mine", overlays=others), width=40, height=12)[0])
    shown = narrow.count("━")
    assert narrow.split()[-1] == f"+{6 - shown}"
    assert shown >= 2


def test_names_are_cut_in_a_legend_before_any_is_left_out() -> None:
    names = [f"exp_grpo_qwen_7b_learning_rate_1e-6_s{n}" for n in range(6)]
    others = [
        Curve(X, OWN.y + n, t, name, sign=str(n))
        for n, (t, name) in enumerate(zip(RUN_TOKENS, names[1:], strict=True), 2)
    ]
    nothing = np.zeros(0)
    rest = Curve(nothing, nothing, Token.MUTED, "3 more as a band", is_band=True)
    chart = Chart(Curve(X, OWN.y, sign="1"), label=names[0], overlays=[*others, rest])
    for width, height in ((110, 12), (120, 20), (70, 20)):
        lines = draw(chart, width=width, height=height)
        legend = " ".join(plain(x) for x in lines[: 1 + (height >= 16)])
        assert all(f"{n + 1} …" in legend and f"s{n}" in legend for n in range(6)), legend
        assert "3 more as a band" in legend
    wide = " ".join(plain(x) for x in draw(chart, width=200, height=20)[:2])
    assert all(name in wide for name in names)


def test_what_makes_names_differ_is_whole_in_a_legend_and_the_others_are_counted() -> None:
    names = [f"qwen2.5-7b-grpo-lr{lr}-seed{n}-2026" for lr in ("1e-05", "3e-05") for n in (1, 10)]
    others = [
        Curve(X, OWN.y + n, t, name, sign=str(n))
        for n, (t, name) in enumerate(zip(RUN_TOKENS, names[1:], strict=False), 2)
    ]
    chart = Chart(Curve(X, OWN.y, sign="1"), label=names[0], overlays=others)
    legend = plain(draw(chart, width=78, height=10)[0])
    assert "1 …lr1e-05-seed1…" in legend
    assert "2 …lr1e-05-seed10…" in legend
    assert legend.split()[-1] == "+1"


@pytest.mark.parametrize("glyphs", [BRAILLE, ASCII], ids=["braille", "ascii"])
def test_lines_bear_their_signs(glyphs) -> None:
    others = [Curve(X, OWN.y + n, t, f"{n}", sign=str(n)) for n, t in enumerate(RUN_TOKENS, 1)]
    chart = Chart(Curve(X, OWN.y, sign="9"), overlays=others)
    for row in (plain(x).split("◂")[0].split("<")[0] for x in draw(chart, glyphs=glyphs)[1:-2]):
        found = [c for c in row[8:] if c.isdigit()]
        assert len(set(found)) <= 1, "one line in each row"
        assert len(found) <= 2 or glyphs is ASCII
    text = "".join(plain(x)[8:50] for x in draw(chart, glyphs=glyphs)[1:-2])
    assert set("123459") <= set(text)
    assert "*" not in text


def test_the_legend_is_clean_and_absent_where_nothing_is_named_or_there_is_no_room() -> None:
    odd = Curve(X, OWN.y, Token.RUN_1, "a\x1b[31mb\n")
    assert "\x1b" not in plain(draw(Chart(OWN, overlays=[odd]))[0])
    unnamed = Curve(X, OWN.y, Token.RUN_1)
    assert "━" not in plain(draw(Chart(OWN, overlays=[unnamed]))[0])
    assert "━" not in plain(draw(Chart(OWN, overlays=[odd]), height=7)[0])
