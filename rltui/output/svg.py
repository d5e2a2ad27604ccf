"""Lines of styled cells as a picture: SVG that names no font to load and no address.

Each span of text is placed by its column and stretched to its cells, so that columns meet whatever
monospace font a viewer has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

from rltui.core.text import cell_width
from rltui.draw.line import Line, Token
from rltui.draw.theme import DEFAULT, Theme

#: Size of a cell and of the margin, in pixels.
_CELL_W = 8.4
_CELL_H = 18
_MARGIN = 12
_FONT = 14
_FAMILY = "DejaVu Sans Mono, Menlo, Consolas, Liberation Mono, monospace"
#: Colours of a theme that leaves the terminal its own.
_FG, _BG = {True: "#d0d0d0", False: "#202020"}, {True: "#101010", False: "#ffffff"}
#: Characters that XML does not allow.
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


class Cells(NamedTuple):
    """Some text in one look; colours are ``#rrggbb``."""

    text: str
    fg: str
    bg: str
    bold: bool = False
    underline: bool = False


def ground_of(theme: Theme) -> tuple[str, str]:
    """The colours of plain text and of the background."""
    return _hex(theme, Token.TEXT), _hex(theme, Token.BG)


def coloured(line: Line, theme: Theme) -> list[Cells]:
    """A line in the colours of a theme."""
    found = []
    for text, look in line:
        fg = _hex(theme, look.fg)
        bg = _hex(theme, look.bg or Token.BG)
        fg, bg = (bg, fg) if look.reverse else (fg, bg)
        found.append(Cells(text, fg, bg, look.bold, look.underline))
    return found


def _hex(theme: Theme, token: Token) -> str:
    colour = theme.colours[token]
    if colour != DEFAULT:
        return colour
    return _BG[theme.dark] if token is Token.BG else _FG[theme.dark]


def svg(rows: Sequence[Iterable[Cells]], columns: int, ground: str, title: str = "") -> str:
    """The picture of some rows, ``columns`` cells wide, on ``ground``."""
    width = columns * _CELL_W + 2 * _MARGIN
    height = len(rows) * _CELL_H + 2 * _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" font-family="{_FAMILY}" font-size="{_FONT}">',
        f"<title>{escaped(title)}</title>" if title else "",
        f'<rect width="100%" height="100%" fill="{ground}"/>',
    ]
    for number, row in enumerate(rows):
        texts = list[str]()
        x = float(_MARGIN)
        y = _MARGIN + number * _CELL_H
        for cells in row:
            length = cell_width(cells.text) * _CELL_W
            if cells.bg != ground and length:
                # a little wider: no seam between two cells of one colour
                parts.append(
                    f'<rect x="{x:g}" y="{y:g}" width="{length + 0.4:g}" height="{_CELL_H}" '
                    f'fill="{cells.bg}"/>'
                )
            if cells.text.strip():
                look = ' font-weight="bold"' if cells.bold else ""
                look += ' text-decoration="underline"' if cells.underline else ""
                texts.append(
                    f'<text x="{x:g}" y="{y + 0.75 * _CELL_H:g}" fill="{cells.fg}"{look} '
                    f'textLength="{length:g}" lengthAdjust="spacingAndGlyphs" xml:space="preserve">'
                    f"{escaped(cells.text)}</text>"
                )
            x += length
        parts += texts
    return "\n".join(p for p in parts if p) + "\n</svg>\n"


def escaped(text: str) -> str:
    """``text`` as the content of an element, or as the value of an attribute in double quotes."""
    return escape(_NO_XML.sub("\ufffd", text), {'"': "&quot;"})
