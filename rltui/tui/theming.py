"""Tokens of a theme to Rich styles, these to codes of a terminal, our themes to those of Textual.

Truecolour, 256 colours, the 16 ANSI names and no colour at all are four palettes of the same
theme; which one is used is decided once, from the terminal.
"""

from __future__ import annotations

import re

from rich.color import Color, ColorSystem
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.theme import Theme as TextualTheme

from rltui.draw.line import STAGE_TOKENS, TEXT, Line, Style, Token
from rltui.draw.theme import DEFAULT, Theme, completed, is_colour

_ATTRIBUTES = frozenset({"bold", "dim", "reverse"})
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
#: Attribute code -> the code that ends it. One code may end several.
_ENDED_BY = {
    "1": "22", "2": "22", "3": "23", "4": "24", "5": "25", "6": "25", "7": "27", "8": "28",
    "9": "29", "21": "24", "51": "54", "52": "54", "53": "55",
}  # fmt: skip
#: Attributes that a blank cell shows: lines, boxes, reverse.
_SEEN_ON_BLANKS = frozenset({"4", "7", "9", "21", "51", "52", "53"})
_DEFAULT_FG, _DEFAULT_BG = "39", "49"
#: Styles of animations and gradients come and go: more than this many are not kept.
_MOST_INKS = 4096
_SGR = re.compile(r"\x1b\[([\d;]*)mx")


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


class Ink:
    """One look of cells. Equal looks are one object, so that inks compare by identity.

    ``fg`` is None for blanks, which show no foreground.
    """

    __slots__ = ("attributes", "bg", "fg", "link", "order")

    def __init__(self, attributes: frozenset[str], fg: str | None, bg: str, link: str) -> None:
        self.attributes = attributes
        self.fg = fg
        self.bg = bg
        self.link = link
        self.order = (bg, sorted(attributes), fg or "", link)

    def shows(self, blank: Ink) -> bool:
        """Whether a blank of the ink ``blank`` looks the same when written in this one."""
        return self.bg == blank.bg and not (self.link or self.attributes & _SEEN_ON_BLANKS)

    def codes_to(self, wanted: Ink) -> tuple[str, Ink]:
        """Control sequences that change this ink to ``wanted``, and the ink then in use."""
        if wanted is self:
            return "", self
        ended = {_ENDED_BY[a] for a in self.attributes - wanted.attributes}
        kept = {a for a in self.attributes if _ENDED_BY[a] not in ended}
        codes = sorted(ended) + sorted(wanted.attributes - kept)
        fg = self.fg if wanted.fg is None else wanted.fg
        if fg is not None and fg != self.fg:
            codes.append(fg)
        if wanted.bg != self.bg:
            codes.append(wanted.bg)
        text = f"\x1b[{';'.join(codes)}m" if codes else ""
        if wanted is START and codes:
            text = "\x1b[0m"
        if wanted.link != self.link:
            text += f"\x1b]8;{wanted.link or ';'}\x1b\\"
        if wanted.fg is None:
            return text, Ink(wanted.attributes, fg, wanted.bg, wanted.link)
        return text, wanted


#: The look of a terminal that was set to nothing.
START = Ink(frozenset(), _DEFAULT_FG, _DEFAULT_BG, "")


class InkTable:
    """The inks of Rich styles, for one colour system."""

    def __init__(self, color_system: ColorSystem) -> None:
        self._color_system = color_system
        self._pairs: dict[str, tuple[Ink, Ink]] = {}
        self._inks: dict[tuple[frozenset[str], str | None, str, str], Ink] = {}

    def pair(self, style: RichStyle | None) -> tuple[Ink, Ink]:
        """The ink of a style, and that of its blanks. What a style means to an app (its meta
        data) does not matter."""
        if style is None:
            return self._pair("", "")
        # Rich keeps the codes of a style that was rendered once; there is no public way to them.
        codes: str | None = getattr(style, "_ansi", None)
        if codes is None:
            found = _SGR.search(style.render("x", color_system=self._color_system))
            codes = found[1] if found else ""
        if style.link:
            return self._pair(codes, f"id={style.link_id};{style.link}")
        return self._pairs.get(codes) or self._pair(codes, "")

    def _pair(self, codes: str, link: str) -> tuple[Ink, Ink]:
        key = f"{codes} {link.partition(';')[2]}" if link else codes
        pair = self._pairs.get(key)
        if pair is None:
            if len(self._pairs) >= _MOST_INKS:
                self._pairs.clear()
                self._inks.clear()
            attributes, fg, bg = _parsed(codes)
            ink = self._ink(attributes, fg, bg, link)
            plain = not (link or attributes & _SEEN_ON_BLANKS)
            blank = self._ink(frozenset(), None, bg, "") if plain else ink
            pair = self._pairs[key] = (ink, blank)
        return pair

    def _ink(self, attributes: frozenset[str], fg: str | None, bg: str, link: str) -> Ink:
        key = (attributes, fg, bg, link)
        ink = self._inks.get(key)
        if ink is None:
            ink = self._inks[key] = Ink(attributes, fg, bg, link)
        return ink


def _parsed(codes: str) -> tuple[frozenset[str], str, str]:
    """Attributes, foreground and background of SGR codes as Rich writes them."""
    attributes, fg, bg = set(), _DEFAULT_FG, _DEFAULT_BG
    rest = codes.split(";") if codes else []
    while rest:
        code = rest.pop(0)
        if code in ("38", "48"):
            count = 2 if rest[0] == "5" else 4
            code, rest = ";".join([code, *rest[:count]]), rest[count:]
        if code in _ENDED_BY:
            attributes.add(code)
        elif code.startswith(("3", "9")):
            fg = code
        else:
            bg = code
    return frozenset(attributes), fg, bg
