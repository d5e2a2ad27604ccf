"""Tokens of a theme to Rich styles, and our themes to those of Textual and back.

Truecolour, 256 colours, the 16 ANSI names and no colour at all are four palettes of the same
theme; which one is used is decided once, from the terminal.
"""

from __future__ import annotations

from rich.color import Color
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.theme import Theme as TextualTheme

from rltui.draw.line import STAGE_TOKENS, TEXT, Line, Style, Token
from rltui.draw.theme import DEFAULT, Theme, completed, is_colour

_ATTRIBUTES = frozenset({"bold", "dim", "reverse"})


class Palette:
    """One theme at one colour depth: ``truecolor``, ``256``, ``16`` or ``none``."""

    def __init__(self, theme: Theme, depth: str) -> None:
        self.theme = theme
        self.depth = "16" if theme.ansi and depth != "none" else depth
        self._cache: dict[Style, RichStyle] = {}
        self.ground = self.rich(TEXT)

    def rich(self, look: Style) -> RichStyle:
        """The Rich style of a span."""
        held = self._cache.get(look)
        if held is None:
            held = self._cache[look] = self._make(look)
        return held

    def segments(self, line: Line) -> list[Segment]:
        """A line as Rich renders it."""
        return [Segment(text, self.rich(look)) for text, look in line]

    def _make(self, look: Style) -> RichStyle:
        if self.depth in ("none", "16"):
            return self._plain(look)
        fg, bg, swapped = look.fg, look.bg or Token.BG, False
        if fg is Token.BG and self.theme.colours[fg] == DEFAULT:  # as a text it would be the ink
            fg, bg, swapped = bg, fg, True
        return RichStyle(
            color=self._colour(fg),
            bgcolor=self._colour(bg),
            reverse=swapped or None,
            bold=look.bold,
            underline=look.underline,
        )

    def _colour(self, token: Token) -> Color | None:
        if self.depth == "256":
            index = self.theme.colours256[token]
            return Color.default() if index < 0 else Color.from_ansi(index)
        hexed = self.theme.colours[token]
        return Color.default() if hexed == DEFAULT else Color.parse(hexed)

    def _fill(self, ground: Token | None) -> Color:
        """The ground of a span in 16 colours: only stages of a step need one."""
        if self.depth != "16" or ground not in STAGE_TOKENS:
            return Color.default()
        return Color.parse(self.theme.ansi16[ground].replace(" ", "_"))

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
            bgcolor=self._fill(look.bg),
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


#: Token -> names of Textual's colours that stand for it, the best first.
_NAMES: dict[Token, tuple[str, ...]] = {
    Token.BG: ("background",),
    Token.RAISED: ("surface",),
    Token.TEXT: ("foreground",),
    Token.ACCENT: ("text-primary", "primary"),
    Token.OK: ("text-success", "success"),
    Token.WATCH: ("text-warning", "warning"),
    Token.BAD: ("text-error", "error"),
    Token.SERIES: ("text-secondary", "secondary"),
}


def textual_theme(theme: Theme) -> TextualTheme:
    """Our theme as one of Textual's, for its palette, inputs and scroll bars."""
    ground = "#000000" if theme.dark else "#ffffff"
    ink = "#ffffff" if theme.dark else "#000000"
    grounds = (Token.BG, Token.RAISED, Token.SEL)

    def colour(token: Token) -> str:
        found = theme.colours[token]
        return found if found != DEFAULT else ground if token in grounds else ink

    return TextualTheme(
        name=theme.name,
        primary=colour(Token.ACCENT),
        secondary=colour(Token.SERIES),
        accent=colour(Token.ACCENT),
        warning=colour(Token.WATCH),
        error=colour(Token.BAD),
        success=colour(Token.OK),
        foreground=colour(Token.TEXT),
        background=colour(Token.BG),
        surface=colour(Token.RAISED),
        panel=colour(Token.RAISED),
        dark=theme.dark,
        variables={
            "input-cursor-background": colour(Token.ACCENT),
            "input-cursor-foreground": colour(Token.BG),
            "input-selection-background": colour(Token.LINE),
        },
    )


def tokens_of(theme: TextualTheme) -> Theme:
    """A theme of Textual as one of ours; what it does not say is mixed from what it does."""
    named = theme.to_color_system().generate()
    found = {}
    for token, names in _NAMES.items():
        colours = [c for n in names if is_colour(c := named.get(n, "")[:7])]
        if colours:
            found[token] = colours[0].lower()
    if Token.BG not in found:  # the terminal's own colours
        found = {}
    return completed(theme.name, theme.dark, found, terminal=Token.BG not in found)


def css_variables(theme: Theme) -> dict[str, str]:
    """Our tokens as variables of style sheets."""

    def colour(token: Token) -> str:
        return "ansi_default" if theme.colours[token] == DEFAULT else theme.colours[token]

    return {
        "ground": colour(Token.BG),
        "raised": colour(Token.RAISED),
        "sel": colour(Token.SEL),
        "line": colour(Token.LINE),
        "muted": colour(Token.MUTED),
        "text-token": colour(Token.TEXT),
    }
