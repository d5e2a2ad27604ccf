"""Glyph sets: one cell each, ascii means ascii."""

from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.core.level import Level, RunState
from rltui.core.text import cell_width
from rltui.draw.glyph import MARKERS, GlyphSet, ascii_text, glyph_set


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
    assert "".join(glyphs.badge(level) for level in Level) == "·✔▲✖"
    assert "".join(plain.badge(level) for level in Level) == "?+!X"
    assert "".join(glyphs.state(s) for s in RunState) == "●○■□✖·"
    assert "".join(plain.state(s) for s in RunState) == "*o#-X?"


def test_areas_are_lettered_in_ascii_and_without_colours() -> None:
    assert [glyph_set(m).lettered for m in MARKERS] == [m == "ascii" for m in MARKERS]
    assert all(glyph_set(m, colours=False).lettered for m in MARKERS)


def test_an_unknown_marker_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown marker 'dots'; one of braille"):
        glyph_set("dots")


@pytest.mark.parametrize(
    ("text", "plain"),
    [("2.46 → 0.176", "2.46 to 0.176"), ("← →", "<- ->"), ("× 200", "x 200"), ("≤ 0.15", "<= 0.15"),
     ("≥ 2.5 × best", ">= 2.5 x best"), ("± 0.1", "+- 0.1"), ("chi², token", "chi2, token"),
     ("clip frac., low…", "clip frac., low~"), ("–", "-"), ("naïve", "naive"),
     ("实验", "????"), ("⠤ ", "* "), ("µ", "u"), ("▁▇█", "_##"), ("verl · GRPO", "verl . GRPO")],
)  # fmt: skip
def test_ascii_text(text: str, plain: str) -> None:
    assert ascii_text(text) == plain
    assert glyph_set("ascii").text(text) == plain
    assert glyph_set("block").text(text) == text


@given(st.text())
def test_ascii_text_of_anything_is_ascii(text: str) -> None:
    assert ascii_text(text).isascii()


@pytest.mark.parametrize(
    "field", [f.name for f in fields(GlyphSet) if f.name not in ("marker", "colours")]
)
def test_every_glyph_has_an_ascii_reading(field: str) -> None:
    assert "?" not in ascii_text(getattr(glyph_set("braille"), field))
