"""Tokens of a theme to Rich styles.

Truecolour, 256 colours, the 16 ANSI names and no colour at all are four palettes of the same
theme; which one is used is decided once, from the terminal.
"""

from __future__ import annotations

from rich.color import Color
from rich.style import Style as RichStyle

from rltui.present.kit.line import Style, Token
from rltui.present.kit.theme import DEFAULT, Theme

_ATTRIBUTES = frozenset({"bold", "dim", "reverse"})


class Palette:
    """One theme at one colour depth: ``truecolor``, ``256``, ``16`` or ``none``."""

    def __init__(self, theme: Theme, depth: str) -> None:
        self.theme = theme
        self.depth = "16" if theme.ansi and depth != "none" else depth
        self._cache: dict[Style, RichStyle] = {}
        self.ground = self.rich(Style())

    def rich(self, look: Style) -> RichStyle:
        """The Rich style of a span."""
        held = self._cache.get(look)
        if held is None:
            held = self._cache[look] = self._make(look)
        return held

    def _make(self, look: Style) -> RichStyle:
        if self.depth in ("none", "16"):
            return self._plain(look)
        return RichStyle(
            color=self._colour(look.fg),
            bgcolor=self._colour(look.bg or Token.BG),
            bold=look.bold,
            underline=look.underline,
        )

    def _colour(self, token: Token) -> Color | None:
        if self.depth == "256":
            index = self.theme.colours256[token]
            return Color.default() if index < 0 else Color.from_ansi(index)
        hexed = self.theme.colours[token]
        return Color.default() if hexed == DEFAULT else Color.parse(hexed)

    def _plain(self, look: Style) -> RichStyle:
        """16 colours or none: fills become reverse, the cursor row a reversed title."""
        fill = look.fg is Token.BG and look.bg is not None
        source = look.bg if fill and look.bg is not None else look.fg
        words = self.theme.ansi16[source].split()
        flags = {w for w in words if w in _ATTRIBUTES}
        name = "_".join(w for w in words if w not in _ATTRIBUTES and w not in (DEFAULT, "none"))
        chosen = look.bg is Token.SEL and look.fg is Token.STRONG and look.bold
        colour = Color.parse(name) if name and self.depth == "16" else Color.default()
        return RichStyle(
            color=colour,
            bgcolor=Color.default(),
            bold=look.bold or "bold" in flags,
            dim="dim" in flags and not look.bold,
            reverse=fill or chosen or look.reverse,
            underline=look.underline,
        )


def depth_of(color_system: str | None, no_color: bool) -> str:
    """The palette depth for what Rich found out about the terminal."""
    if no_color or color_system is None:
        return "none"
    return {"truecolor": "truecolor", "256": "256"}.get(color_system, "16")
