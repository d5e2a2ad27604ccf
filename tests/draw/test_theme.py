"""Themes: complete, readable, told apart by colour-blind eyes, and good errors.

Glyph sets: one cell each, ascii means ascii.
"""

from __future__ import annotations

from dataclasses import fields
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.core.errors import DocumentError, UsageError
from rltui.core.level import Level, RunState
from rltui.core.text import cell_width
from rltui.draw.glyph import MARKERS, GlyphSet, ascii_text, glyph_set
from rltui.draw.line import RUN_TOKENS, Token
from rltui.draw.theme import Theme, list_themes, load_theme, rgb
from tests.draw.colours import contrast
from tests.places import ROOT
from tests.tables import cases

SHIPPED = tuple(sorted(path.stem for path in (ROOT / "themes").glob("*.yaml")))
#: The others leave the colours to the terminal.
MEASURED = tuple(name for name in SHIPPED if name not in ("ansi-16", "terminal"))
TEXTS = (
    Token.MUTED, Token.TEXT, Token.STRONG, Token.ACCENT, Token.OK, Token.WATCH, Token.BAD,
)  # fmt: skip
GROUNDS = (Token.BG, Token.RAISED, Token.SEL)
LEVELS = (Token.OK, Token.WATCH, Token.BAD)

# Machado, Oliveira, Fernandes 2009: severity 1.0, on linear RGB.
BLINDNESS = {
    "none": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
         [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
         [-0.011820, 0.042940, 0.968881]]
    ),
}  # fmt: skip


def _lab(colour: str, blindness: str) -> np.ndarray:
    """CIE L*a*b* (D65) of a colour as eyes with ``blindness`` see it."""
    channel = np.array(rgb(colour)) / 255
    linear = np.where(channel <= 0.04045, channel / 12.92, ((channel + 0.055) / 1.055) ** 2.4)
    linear = np.clip(BLINDNESS[blindness] @ linear, 0, 1)
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    xyz = to_xyz @ linear / np.array([0.95047, 1.0, 1.08883])
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_all_shipped_themes_load_and_are_complete() -> None:
    loaded = list_themes()
    assert tuple(t.name for t in loaded) == SHIPPED
    for theme in loaded:
        for mapping in (theme.colours, theme.colours256, theme.ansi16):
            assert set(mapping) == set(Token)


def test_terminal_has_no_ground_and_ansi_names_no_truecolour() -> None:
    terminal = load_theme("terminal")
    assert terminal.colours[Token.BG] == "default"
    assert terminal.colours256[Token.BG] == -1
    assert terminal.colours[Token.TEXT] == load_theme("dark").colours[Token.TEXT]
    assert load_theme("ansi-16").ansi


@pytest.mark.parametrize("name", MEASURED)
def test_text_is_readable(name: str) -> None:
    colours = load_theme(name).colours
    for text, ground in product(TEXTS, GROUNDS):
        assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)


@pytest.mark.parametrize("name", MEASURED)
def test_compared_runs_can_be_read_and_told_apart(name: str) -> None:
    theme = load_theme(name)
    for token in RUN_TOKENS:
        assert contrast(theme.colours[token], theme.colours[Token.BG]) >= 4.5
    for colours in (theme.colours, theme.colours256, theme.ansi16):
        assert len({colours[t] for t in RUN_TOKENS}) == len(RUN_TOKENS)
    for first, second in combinations(RUN_TOKENS, 2):
        pair = (_lab(theme.colours[t], "none") for t in (first, second))
        assert float(np.linalg.norm(next(pair) - next(pair))) >= 16


@pytest.mark.parametrize("name", SHIPPED)
def test_what_is_not_judged_stands_out_less_than_what_is(name: str) -> None:
    theme = load_theme(name)
    grey, spark = (theme.ansi16[t] for t in (Token.UNJUDGED, Token.SPARK))
    black, white = "#000000", "#ffffff"
    ground = black if theme.dark else white
    usual = {"bright black": "#666666", "white": "#e5e5e5", "cyan": "#11a8cd"}
    assert contrast(usual[grey], ground) < contrast(usual[spark], ground)
    ground = ground if theme.colours[Token.BG] == "default" else theme.colours[Token.BG]
    colours = theme.colours
    assert contrast(colours[Token.UNJUDGED], ground) < contrast(colours[Token.SPARK], ground)


def test_high_contrast_has_seven_to_one() -> None:
    colours = load_theme("high-contrast").colours
    assert min(contrast(colours[text], colours[Token.BG]) for text in TEXTS) >= 7


@pytest.mark.parametrize("name", MEASURED)
def test_levels_stay_apart(name: str) -> None:
    theme = load_theme(name)
    for blindness, pair in product(BLINDNESS, combinations(LEVELS, 2)):
        first, second = (_lab(theme.colours[t], blindness) for t in pair)
        assert float(np.linalg.norm(first - second)) >= 16, (blindness, pair)


def _theme(tmp_path: Path, text: str, name: str = "mine") -> Theme:
    path = tmp_path / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return load_theme(path)


def test_missing_tokens_are_derived_or_lent(tmp_path: Path) -> None:
    theme = _theme(tmp_path, 'dark: false\ncolours:\n  bad: "#aa0000"\n')
    light = load_theme("light")
    assert theme.name == "mine"
    assert theme.colours[Token.TEXT] == light.colours[Token.TEXT]
    assert theme.colours[Token.BADFILL] not in (
        light.colours[Token.BADFILL],
        theme.colours[Token.BAD],
    )
    assert theme.ansi16[Token.BAD] == "red"


@cases(__file__, "a_wrong_theme_says_where")
def test_a_wrong_theme_says_where(
    tmp_path: Path, text: str, line: int, column: int, hint: str | None, part: str
) -> None:
    with pytest.raises(DocumentError) as caught:
        _theme(tmp_path, text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert caught.value.hint == hint
    assert part in str(caught.value)


def test_the_users_theme_wins_and_a_broken_one_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "dark.yaml").write_text('colours: {text: "#ffffff"}\n', encoding="utf-8")
    (tmp_path / "broken.yaml").write_text("colours: {nope: 1}\n", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("not a theme", encoding="utf-8")
    assert load_theme("dark", [tmp_path]).colours[Token.TEXT] == "#ffffff"
    loaded = list_themes([tmp_path, tmp_path / "absent"])
    assert [t.name for t in loaded] == list(SHIPPED)


def test_an_unknown_name_has_a_hint() -> None:
    with pytest.raises(UsageError, match="did you mean 'dark'"):
        load_theme("drak")


@pytest.mark.parametrize("marker", MARKERS)
def test_every_glyph_is_one_cell(marker: str) -> None:
    glyphs = glyph_set(marker)
    for item in fields(GlyphSet):
        if item.name not in ("marker", "colours", "ramp"):
            assert cell_width(getattr(glyphs, item.name)) == 1, item.name
    assert len(glyphs.ramp) == 7


def test_ascii_is_ascii() -> None:
    glyphs = glyph_set("ascii")
    assert glyphs.ascii
    assert all(getattr(glyphs, f.name).isascii() for f in fields(GlyphSet) if f.name != "colours")


def test_badges_and_states() -> None:
    glyphs, plain = glyph_set("braille"), glyph_set("ascii")
    assert "".join(glyphs.badge(level) for level in Level) == "·✔△▲✖"
    assert "".join(plain.badge(level) for level in Level) == "?+~!X"
    assert "".join(glyphs.state(s) for s in RunState) == "●○■□✖·"
    assert "".join(plain.state(s) for s in RunState) == "*o#-X?"


def test_areas_are_lettered_in_ascii_and_without_colours() -> None:
    assert [glyph_set(m).lettered for m in MARKERS] == [m == "ascii" for m in MARKERS]
    assert all(glyph_set(m, colours=False).lettered for m in MARKERS)


def test_an_unknown_marker_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown marker 'dots'; one of braille"):
        glyph_set("dots")


@cases(__file__, "ascii_text")
def test_ascii_text(text: str, plain: str) -> None:
    assert ascii_text(text) == plain
    assert glyph_set("ascii").text(text) == plain
    assert glyph_set("block").text(text) == text


@given(st.text())
def test_ascii_text_of_anything_is_ascii(text: str) -> None:
    assert ascii_text(text).isascii()


def test_every_glyph_has_an_ascii_reading() -> None:
    for item in fields(GlyphSet):
        if item.name not in ("marker", "colours"):
            assert "?" not in ascii_text(getattr(glyph_set("braille"), item.name)), item.name
