"""Tokens of a theme to Rich styles, our themes to those of Textual and back.

Truecolour, 256 colours, the 16 ANSI names and no colour at all are four palettes of the same
theme; which one is used is decided once, from the terminal.
"""

from __future__ import annotations

from rich.color import Color
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.theme import Theme as TextualTheme

from rltui.draw.line import STAGE_TOKENS, Line, Style, Token
from rltui.draw.theme import DEFAULT, Theme, completed, is_colour

#: Words of an ANSI colour of a theme that name no colour.
_NO_COLOURS = ("bold", "dim", "reverse", DEFAULT, "none")
#: Textual's colours, each with the token that it stands for.
_COLOURS = """
background bg
surface raised
foreground text
primary accent
success ok
warning watch
error bad
secondary series
"""
_TOKENS = {name: Token(token) for name, token in map(str.split, _COLOURS.strip().splitlines())}


class Palette:
    """One theme at one colour depth: ``truecolor``, ``256``, ``16`` or ``none``."""

    def __init__(self, theme: Theme, depth: str) -> None:
        self.theme = theme
        self.depth = "16" if theme.ansi and depth != "none" else depth
        self._cache: dict[Style, RichStyle] = {}

    def rich(self, look: Style) -> RichStyle:
        """The Rich style of a span."""
        held = self._cache.get(look)
        if held is None:
            make = self._plain if self.depth in ("none", "16") else self._coloured
            held = make(look)
            held = self._cache[look] = held.update_link(look.link) if look.link else held
        return held

    def segments(self, line: Line) -> list[Segment]:
        """A line as Rich renders it."""
        return [Segment(text, self.rich(look)) for text, look in line]

    def _coloured(self, look: Style) -> RichStyle:
        fg = look.fg
        bg = look.bg or Token.BG
        swapped = False
        if fg is Token.BG and self.theme.colours[fg] == DEFAULT:  # as a text it would be the ink
            fg, bg, swapped = bg, fg, True
        front = self._colour(fg)
        back = self._colour(bg)
        return RichStyle(
            color=front,
            bgcolor=back,
            reverse=swapped or None,
            bold=look.bold,
            underline=look.underline,
        )

    def _colour(self, token: Token) -> Color:
        if self.depth == "256":
            index = self.theme.colours256[token]
            return Color.default() if index < 0 else Color.from_ansi(index)
        hexed = self.theme.colours[token]
        return Color.default() if hexed == DEFAULT else Color.parse(hexed)

    def _plain(self, look: Style) -> RichStyle:
        """The style in 16 colours or none: fills are reversed, and of the cursor row the title.
        Only stages of a step keep a background."""
        fill = look.fg is Token.BG and look.bg is not None
        words = self.theme.ansi16[(look.bg if fill else None) or look.fg].split()
        chosen = look.bg is Token.SEL and look.fg is Token.STRONG and look.bold
        name = "_".join(w for w in words if w not in _NO_COLOURS)
        ground = self.theme.ansi16[look.bg].replace(" ", "_") if look.bg in STAGE_TOKENS else ""
        colour, back = (
            Color.parse(x) if x and self.depth == "16" else Color.default() for x in (name, ground)
        )
        return RichStyle(
            color=colour,
            bgcolor=back,
            bold=look.bold or "bold" in words,
            dim="dim" in words and not look.bold,
            reverse=fill or chosen or look.reverse,
            underline=look.underline,
        )


def depth_of(color_system: str | None, no_color: bool) -> str:
    """The palette depth for what Rich found out about the terminal."""
    if no_color or color_system is None:
        return "none"
    return {"truecolor": "truecolor", "256": "256"}.get(color_system, "16")


def textual_theme(theme: Theme) -> TextualTheme:
    """Our theme as one of Textual's, for its palette, inputs and scroll bars."""
    ground, ink = ("#000000", "#ffffff") if theme.dark else ("#ffffff", "#000000")
    known = {t: c for t, c in theme.colours.items() if c != DEFAULT}
    grounds = dict.fromkeys((Token.BG, Token.RAISED, Token.SEL), ground)
    colours = {**dict.fromkeys(Token, ink), **grounds, **known}

    return TextualTheme(
        name=theme.name,
        accent=colours[Token.ACCENT],
        panel=colours[Token.RAISED],
        dark=theme.dark,
        variables={
            "input-cursor-background": colours[Token.ACCENT],
            "input-cursor-foreground": colours[Token.BG],
            "input-selection-background": colours[Token.LINE],
        },
        **{name: colours[token] for name, token in _TOKENS.items()},  # type: ignore[arg-type]
    )


def tokens_of(theme: TextualTheme) -> Theme:
    """A theme of Textual as one of ours; colours that it lacks are mixed from those it has."""
    named = theme.to_color_system().generate()
    found = {}
    for name, token in _TOKENS.items():
        # what Textual writes in a colour is readable on its background
        colours = (named.get(key, "")[:7] for key in (f"text-{name}", name))
        if colour := next(filter(is_colour, colours), ""):
            found[token] = colour.lower()
    if Token.BG not in found:  # the terminal's own colours
        found = {}
    return completed(theme.name, theme.dark, found, terminal=Token.BG not in found)


def css_variables(theme: Theme) -> dict[str, str]:
    """Our tokens as variables of style sheets."""
    names = {"ground": Token.BG, "text-token": Token.TEXT}
    names |= {t.value: t for t in (Token.RAISED, Token.SEL, Token.LINE, Token.MUTED)}
    colours = {name: theme.colours[token] for name, token in names.items()}
    return {name: "ansi_default" if c == DEFAULT else c for name, c in colours.items()}
