"""Patches: a terminal that gets one shows the new lines, and is told little."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.core.text import cell_width
from rltui.present.kit.line import MUTED, STRONG, TEXT, TITLE, Line, Style, Token, fit_line, style
from rltui.present.kit.theme import load_theme
from rltui.tui.patch import Patcher
from rltui.tui.theming import Palette

Cell = tuple[str, tuple[str, ...], tuple[str, ...], frozenset[str]]
_SEQUENCE = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])")
_OFF = {"22": {"1", "2"}, "24": {"4"}, "27": {"7"}}


class Terminal:
    """Cells with colours; understands what a patch is made of, and nothing else."""

    def __init__(self, height: int, width: int) -> None:
        blank: Cell = (" ", ("39",), ("49",), frozenset())
        self.cells = [[blank] * width for _ in range(height)]
        self.y = self.x = 0
        self.reset()

    def reset(self) -> None:
        self.fg, self.bg, self.flags = ("39",), ("49",), set[str]()

    def feed(self, text: str) -> None:
        at = 0
        for found in _SEQUENCE.finditer(text):
            self.write(text[at : found.start()])
            self.control(found[1], found[2])
            at = found.end()
        self.write(text[at:])

    def control(self, numbers: str, final: str) -> None:
        if final == "H":
            self.y, self.x = (int(n) - 1 for n in numbers.split(";"))
        elif final == "C":
            self.x += int(numbers or 1)
        else:
            assert final == "m"
            self.look(numbers.split(";"))

    def look(self, codes: list[str]) -> None:
        while codes:
            code = codes.pop(0)
            if code == "0":
                self.reset()
            elif code in _OFF:
                self.flags -= _OFF[code]
            elif code in ("38", "48"):
                many = 4 if codes[0] == "2" else 2
                colour = (code, *codes[:many])
                del codes[:many]
                if code == "38":
                    self.fg = colour
                else:
                    self.bg = colour
            elif code in ("1", "2", "4", "7"):
                self.flags.add(code)
            elif code.startswith(("3", "9")):
                self.fg = (code,)
            else:
                self.bg = (code,)

    def write(self, text: str) -> None:
        for char in text:
            width = cell_width(char)
            look = self.fg, self.bg, frozenset(self.flags)
            if char == " " and not self.flags & {"4", "7"}:
                look = ("39",), self.bg, frozenset()
            row = self.cells[self.y]
            assert self.x + width <= len(row), "written beyond the line"
            for i in range(width):
                row[self.x + i] = (char if i == 0 else "", *look)
            self.x += width


def showing(lines: list[Line], palette: Palette) -> Terminal:
    """A terminal that was painted anew, span by span, as Textual does it."""
    terminal = Terminal(len(lines), sum(cell_width(t) for t, _ in lines[0]))
    for y, line in enumerate(lines):
        terminal.y, terminal.x = y, 0
        for text, look in line:
            rich = palette.rich(look)
            terminal.feed(rich.render(text, color_system=rich_system(palette)))
    return terminal


def rich_system(palette: Palette) -> object:
    from rich.color import ColorSystem

    systems = {"truecolor": "TRUECOLOR", "256": "EIGHT_BIT", "16": "STANDARD", "none": "STANDARD"}
    return getattr(ColorSystem, systems[palette.depth])


LOOKS = [
    TEXT, MUTED, STRONG, TITLE, style(Token.BAD, bold=True),
    style(Token.BG, bg=Token.BAD, bold=True), style(Token.TEXT, bg=Token.SEL),
    style(Token.STRONG, bold=True, underline=True),
    style(Token.ACCENT, reverse=True), style(Token.OK, bg=Token.TINT),
]  # fmt: skip
WIDTH = 12
texts = st.text(st.sampled_from("0123 .▁▇⣿│漢é"), max_size=6)
spans = st.lists(st.tuples(texts, st.sampled_from(LOOKS)), max_size=5)
screens = st.lists(spans.map(lambda line: fit_line(line, WIDTH)), min_size=3, max_size=3)


@pytest.mark.parametrize("depth", ["truecolor", "256", "16", "none"])
@given(before=screens, after=screens)
def test_a_patched_terminal_shows_the_new_lines(
    depth: str, before: list[Line], after: list[Line]
) -> None:
    palette = Palette(load_theme("dark", ()), depth)
    terminal = showing(before, palette)
    terminal.feed(Patcher(palette).patch(before, after))
    assert terminal.cells == showing(after, palette).cells
    assert (terminal.fg, terminal.bg, terminal.flags) == (("39",), ("49",), set())


def patch(before: list[Line], after: list[Line]) -> str:
    return Patcher(Palette(load_theme("dark", ()), "truecolor")).patch(before, after)


def test_equal_lines_need_nothing() -> None:
    lines: list[Line] = [[("loss ", TEXT), ("0.5", STRONG)]]
    assert patch(lines, [list(lines[0])]) == ""


def test_only_the_digits_that_differ_are_written() -> None:
    written = patch([[("0.158 nats", STRONG)]], [[("0.144 nats", STRONG)]])
    assert re.sub(_SEQUENCE, "", written) == "44"


def test_cells_of_one_style_share_one_change_of_colour() -> None:
    before: list[Line] = [[("a1", MUTED), (" ", TEXT), ("b1", STRONG)] for _ in range(20)]
    after: list[Line] = [[("a2", MUTED), (" ", TEXT), ("b2", STRONG)] for _ in range(20)]
    colours = [c for c, final in _SEQUENCE.findall(patch(before, after)) if final == "m"]
    assert len(colours) == 3  # one for each style, and back


def test_blanks_of_another_colour_look_the_same() -> None:
    assert patch([[("  ", MUTED), ("x", TEXT)]], [[("  ", STRONG), ("x", TEXT)]]) == ""


def test_a_style_alone_is_a_difference() -> None:
    before: list[Line] = [[("ok", TEXT)]]
    after: list[Line] = [[("ok", Style(Token.BAD, bold=True))]]
    assert re.sub(_SEQUENCE, "", patch(before, after)) == "ok"
