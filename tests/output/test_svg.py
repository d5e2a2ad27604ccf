"""Pictures: what they show, that they are XML, and that they load nothing."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from rltui.draw.line import Token, style
from rltui.draw.theme import list_themes, load_theme
from rltui.output.svg import Cells, coloured, ground_of, svg
from rltui.pages.picture import snapshot_svg
from tests.builders import a_batch, steps
from tests.fakes import a_session, grpo_batch, grpo_clock

SVG = "{http://www.w3.org/2000/svg}"


def texts(picture: str) -> list[str]:
    return [t.text or "" for t in ET.fromstring(picture).iter(f"{SVG}text")]


def test_text_stands_at_its_cells() -> None:
    row = [Cells("ab", "#111111", "#000000"), Cells("漢", "#222222", "#333333", bold=True)]
    root = ET.fromstring(svg([row], 4, "#000000"))
    first, second = root.iter(f"{SVG}text")
    cell = float(second.get("textLength", 0)) / 2
    assert float(first.get("textLength", 0)) == pytest.approx(2 * cell)
    assert float(second.get("x", 0)) == pytest.approx(float(first.get("x", 0)) + 2 * cell)
    (_, fill) = root.iter(f"{SVG}rect")
    assert fill.get("fill") == "#333333"


ODD = ["<script>&\"'", "a\x00b\x1b[31m", "\ud800\uffff", "]]>"]


@pytest.mark.parametrize("text", ODD, ids=["markup", "control", "surrogate", "cdata"])
def test_whatever_the_text_it_is_xml(text: str) -> None:
    picture = svg([[Cells(text, "#111111", "#000000")]], 20, "#000000", text)
    assert "\x1b" not in "".join(texts(picture))
    picture.encode()


@pytest.mark.parametrize("theme", [t.name for t in list_themes()])
def test_every_theme_has_colours_for_it(theme: str) -> None:
    known = load_theme(theme)
    line = [("x", style(Token.BG, bg=Token.BAD, bold=True)), ("y", style(reverse=True))]
    colours = {c for cells in coloured(line, known) for c in (cells.fg, cells.bg)}
    assert all(len(c) == 7 and c[0] == "#" for c in (*colours, *ground_of(known)))
    assert coloured(line, known)[1].bg == ground_of(known)[0]


def test_a_run_is_its_overview() -> None:
    session = a_session(grpo_batch(60), clock=grpo_clock())
    picture = snapshot_svg(session, load_theme("dark"))
    shown = " ".join(texts(picture))
    assert "Is it learning?" in shown
    assert "entropy collapse" in shown
    assert "http" not in picture.replace("http://www.w3.org/2000/svg", "")


def test_several_runs_are_a_list_and_the_bad_ones() -> None:
    runs = [grpo_batch(60, run="sick"), grpo_batch(60, run="well", collapse=None)]
    session = a_session(*runs, clock=grpo_clock())
    shown = texts(snapshot_svg(session, load_theme("light")))
    assert sum("Is it learning?" in t for t in shown) == 1
    assert any("well" in t for t in shown)
    assert any("2 runs" in t for t in shown)


def test_markup_of_a_log_is_text() -> None:
    session = a_session(a_batch(steps(1, {"<b>&loss</b>": [1.0, 2.0]})))
    shown = " ".join(texts(snapshot_svg(session, load_theme("dark"))))
    assert "&loss" in shown
