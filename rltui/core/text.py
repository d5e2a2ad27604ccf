"""Text from logs is untrusted: this is the one place where it is made harmless.

Tags, run names and text summaries come from other people's programs. Whatever could
move the cursor, change colours, reorder a line (bidirectional controls) or hide in it is
replaced by a visible escape such as ``\\x1b``. Different inputs stay different. Markup
characters (``[red]``) are left alone: no renderer of rltui parses markup.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

#: Categories that never reach a terminal: controls, formats (bidi, zero width), surrogates,
#: private use, unassigned, line and paragraph separators.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


#: A backslash that would read like one of our escapes is escaped itself, so that the text
#: ``\\x1b`` and the character of that number stay different.
_LOOKS_ESCAPED = re.compile(r"\\(?=x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")


def _escape(char: str) -> str:
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def clean(text: str) -> str:
    """``text`` with every unsafe character replaced by a visible escape.

    Clean once, on the way in: the result of another call would escape the escapes.
    """
    if "\\" in text:
        text = _LOOKS_ESCAPED.sub(r"\\x5c", text)
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(c) if unicodedata.category(c) in _UNSAFE else c for c in text)


def clean_bytes(raw: bytes) -> str:
    """Decode UTF-8 leniently (broken bytes become ``\\xNN``) and clean."""
    try:
        return clean(raw.decode("utf-8"))
    except UnicodeDecodeError:
        parts = _BROKEN.split(raw.decode("utf-8", errors="surrogateescape"))
    return "".join(
        f"\\x{ord(part) - 0xDC00:02x}" if index % 2 else clean(part)
        for index, part in enumerate(parts)
    )


#: What ``surrogateescape`` makes of a broken byte; valid UTF-8 holds no surrogates.
_BROKEN = re.compile("([\udc80-\udcff])")


#: What rltui itself draws with (and Latin): one cell each. Lines are measured all the time.
_ONE_CELL = re.compile(
    "[ -~\u00a1-\u00ac\u00ae-\u00ff\u2010-\u2027\u2030-\u205e\u2190-\u22ff\u2500-\u25fc"
    "\u2714\u2716\u2718\u2800-\u28ff]*"
)


def cell_width(text: str) -> int:
    """Number of terminal cells that ``text`` takes (0, 1 or 2 per character)."""
    if text.isascii() or _ONE_CELL.fullmatch(text):
        return len(text)
    return sum(_char_width(c) for c in text)


def narrow(text: str) -> bool:
    """Whether every character of ``text`` takes exactly one cell."""
    if text.isascii() or _ONE_CELL.fullmatch(text):
        return True
    return all(_char_width(c) == 1 for c in text)


@lru_cache(maxsize=8192)
def _char_width(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def fit(text: str, width: int, *, ellipsis: str = "…") -> str:
    """``text`` cut to at most ``width`` cells, ending in ``ellipsis`` when something is lost."""
    if cell_width(text) <= width:
        return text
    if width <= 0:
        return ""
    room = width - cell_width(ellipsis)
    if room < 0:
        return ellipsis[:width]
    used, out = 0, []
    for char in text:
        used += _char_width(char)
        if used > room:
            break
        out.append(char)
    return "".join(out) + ellipsis


def fit_middle(text: str, width: int, *, ellipsis: str = "…") -> str:
    """``text`` cut in the middle to at most ``width`` cells: the end of a path says most."""
    if cell_width(text) <= width:
        return text
    if width < 8:
        return fit(text, width, ellipsis=ellipsis)
    head = (width - cell_width(ellipsis)) // 3
    tail = width - cell_width(ellipsis) - head
    end = len(text)
    while end > 0 and cell_width(text[end - 1 :]) <= tail:
        end -= 1
    return fit(text, head, ellipsis="") + ellipsis + text[end:]


def pad(text: str, width: int, *, right: bool = False, ellipsis: str = "…") -> str:
    """``text`` cut or padded with blanks to exactly ``width`` cells."""
    text = fit(text, width, ellipsis=ellipsis)
    blank = " " * max(0, width - cell_width(text))
    return blank + text if right else text + blank
