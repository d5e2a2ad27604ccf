"""What a Rich style means to a terminal: the codes that switch it on, and from one to another."""

from __future__ import annotations

import re

from rich.color import ColorSystem
from rich.style import Style

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

    def pair(self, style: Style | None) -> tuple[Ink, Ink]:
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
