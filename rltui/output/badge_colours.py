"""Colours of text reports: the badge of a line, in the terminal's own colours of 16."""

from __future__ import annotations

import re
from collections.abc import Callable

from rltui.core.level import Level
from rltui.draw.glyph import glyph_set

_COLOURS = {Level.OK: 32, Level.WATCH: 33, Level.BAD: 31}
_CODES = {glyph_set("braille").badge(level): code for level, code in _COLOURS.items()}
#: A badge after the indent, or after the time of an event.
_BADGE = re.compile(rf"^( *(?:\d\d:\d\d:\d\d )?)([{''.join(_CODES)}])(?= )", re.MULTILINE)


def painter(colour: bool) -> Callable[[str], str]:
    """What gives the badges of a report their colours; without ``colour`` it changes nothing."""
    return _painted if colour else str


def _painted(text: str) -> str:
    return _BADGE.sub(lambda m: f"{m[1]}\x1b[{_CODES[m[2]]}m{m[2]}\x1b[0m", text)
