"""Text from logs is untrusted; it is cleaned here, and measured in terminal cells.

Tags, run names and text summaries come from other people's programs. Whatever could
move the cursor, change colours, reorder a line (bidirectional controls) or hide in it is
replaced by a visible escape such as ``\\x1b``. Different inputs stay different. Markup
characters (``[red]``) are left alone: no renderer of rltui parses markup.
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

#: Texts in their order, mostly names: of tags, metrics, rules, columns.
Names = tuple[str, ...]
#: An object as JSON has it.
Json = dict[str, Any]
#: Categories that never reach a terminal: controls, formats (bidi, zero width), surrogates,
#: private use, unassigned, line and paragraph separators.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
#: A whole number; its group is without zeros before it.
_NUMBER = re.compile(r"0*(\d+)")
#: Marks that stand on the character before them, and how many may: more than any script has. A
#: terminal stacks them over the lines above.
_MARKS = frozenset({"Mn", "Me"})
_MOST_MARKS = 8


#: A backslash that would look like one of our escapes is escaped itself, so that the text
#: ``\\x1b`` and that character stay different.
_LOOKS_ESCAPED = re.compile(r"\\(?=x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")


def clean(text: str) -> str:
    """``text`` with every unsafe character replaced by a visible escape.

    Clean text once, where it comes in: a second call would escape the escapes.
    """
    if "\\" in text:
        text = _LOOKS_ESCAPED.sub(r"\\x5c", text)
    if text.isascii() and text.isprintable():
        return text
    marks = 0
    parts = []
    for char in text:
        category = unicodedata.category(char)
        marks = marks + 1 if category in _MARKS else 0
        code = ord(char)
        if category not in _UNSAFE and marks <= _MOST_MARKS:
            parts.append(char)
        elif code < 0x80:
            parts.append(f"\\x{code:02x}")
        else:
            parts.append(f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")

    return "".join(parts)


def hyperlink(text: str, url: str) -> str:
    """``text`` that opens a percent-encoded ``url`` in terminals with links; as it is for ""."""
    return f"\x1b]8;;{url}\x1b\\{text}\x1b]8;;\x1b\\" if url else text


def kept_clean(text: str) -> str:
    """A text that was cleaned before it was kept, as it is; cleaned if it was not."""
    bare = text.replace("\\", "/")
    return text if clean(bare) == bare else clean(text)


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


#: Latin, and what rltui itself draws with: one cell each. Lines are measured all the time.
_ONE_CELL = re.compile(
    "[ -~\u00a1-\u00ac\u00ae-\u00ff\u2010-\u2027\u2030-\u205e\u2190-\u22ff\u2500-\u25fc"
    "\u2714\u2716\u2718\u2800-\u28ff]*"
)


def cell_width(text: str) -> int:
    """Number of terminal cells that ``text`` takes."""
    return len(text) if text.isascii() or _ONE_CELL.fullmatch(text) else _wide_width(text)


def measure_for(text: str) -> Callable[[str], int]:
    """The :func:`cell_width` of parts of ``text``, which is ``len`` where each character takes one
    cell."""
    return len if text.isascii() or _ONE_CELL.fullmatch(text) else cell_width


@lru_cache(maxsize=4096)
def _wide_width(text: str) -> int:
    """The width of a text in which some character may not take one cell."""
    from wcwidth import wcswidth, wcwidth  # large tables, for other scripts than Latin

    width: int = wcswidth(text)
    return width if width >= 0 else sum(max(0, wcwidth(c)) for c in text)  # has controls


def fit(text: str, width: int, *, ellipsis: str = "…") -> str:
    """``text`` cut to at most ``width`` cells, ending in ``ellipsis`` when something is lost."""
    if cell_width(text) <= width:
        return text
    if width <= 0:
        return ""
    room = width - cell_width(ellipsis)
    if room < 0:
        return ellipsis[:width]
    # a combining character has no width of its own and stays with the one before it
    size = bisect_right(range(len(text)), room, key=lambda end: cell_width(text[: end + 1]))
    return text[:size] + ellipsis


def fit_middle(text: str, width: int, share: float = 2 / 3) -> str:
    """``text`` cut to at most ``width`` cells, of which the end gets ``share`` (0 to 1)."""
    if cell_width(text) <= width:
        return text
    if width < 8:
        return fit(text, width)
    room = width - 1
    tail = math.ceil(room * share - 1e-9)
    head = room - tail
    end = len(text)
    while end > 0 and cell_width(text[end - 1 :]) <= tail:
        end -= 1

    return fit(text, head, ellipsis="") + "…" + text[end:]


def pad(text: str, width: int, *, right: bool = False) -> str:
    """``text`` cut or padded with blanks to exactly ``width`` cells."""
    room = width - cell_width(text)
    if room < 0:
        text = fit(text, width)
        room = width - cell_width(text)
    blank = " " * room
    return blank + text if right else text + blank


def spaced(*parts: str, by: str = "  ") -> str:
    """The parts that say something, ``by`` between any two."""
    return by.join(filter(None, parts))


def counted(count: int, noun: str) -> str:
    """ "1 run", "2,000 runs"."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def first_of(names: Sequence[str], most: int = 5) -> str:
    """The first of some names, and ``...`` for the others."""
    return ", ".join([*names[:most], *(["..."] if len(names) > most else [])])


def natural(text: str) -> str:
    """Sort key by which "GPU 2" comes before "GPU 10"."""
    return _NUMBER.sub(lambda found: f"{len(found[1]):03}{found[1]}", text)


def words_match(hay: str, text: str) -> bool:
    """Whether ``hay`` holds every word of ``text`` and none that starts with ``!``."""
    hay = hay.lower()
    for word in text.lower().split():
        if word.startswith("!"):
            if len(word) > 1 and word[1:] in hay:
                return False
        elif word not in hay:
            return False
    return True


def shared_start(texts: Sequence[str]) -> str:
    """Beginning that all the texts share."""
    low = min(texts)
    high = max(texts)
    pairs = enumerate(zip(low, high, strict=False))
    return low[: next((at for at, (a, b) in pairs if a != b), len(low))]


def word_set(words: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(words.split())
