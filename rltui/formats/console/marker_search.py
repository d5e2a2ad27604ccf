"""Finds the lines with markers of dialects in a piece of a log.

Most pieces are text without any row, so this is what reading them costs. A marker that contains
another one, or a byte that is rare in text, is only sought in the lines that have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from rltui.formats.console.console_dialect import Dialect

#: Bytes that are rare in most text; memchr finds them many times as fast as a word.
_RARE = (b"\xe2", b"{", b"%", b"|", b"+")
#: Lines are few enough to be searched one by one when there is at most one in this many bytes (a
#: power of two), and a byte is rare.
_FEW, _FEW_RARE = 8, 10

Line = tuple[int, int]
"""Where a line begins and ends, without the end of the line."""
Place = tuple[int, int, int]
"""A line with a marker: begin, number of the dialect, end."""


class _Search(NamedTuple):
    needle: bytes
    any_case: bool
    numbers: tuple[int, ...]
    """Of the dialects with this marker; none for a byte that others contain."""
    root: int | None
    """Position of the search in whose lines this one is done."""


def places(text: bytes, dialects: Sequence[Dialect]) -> list[Place]:
    """The lines with markers, in order, each once for a dialect; ``text`` ends with the end of a
    line."""
    searches = _plan(tuple((dialect.markers, dialect.words) for dialect in dialects))
    lower = text.lower() if any(search.any_case for search in searches) else b""
    few = len(text) >> _FEW
    lines: list[list[Line] | None] = []
    """Of each search; None: it was given up because there are too many."""
    ends: dict[int, dict[int, int]] = {}
    """Number of a dialect -> begin of a line -> its end."""
    for needle, any_case, numbers, root in searches:
        within = lines[root] if root is not None else None
        if within is not None and (not within or len(within) <= few):
            found: list[Line] | None = _among(text, needle, within) if within else []
        else:
            most = len(text) >> _FEW_RARE if not numbers else len(text)
            found = _lines(lower if any_case else text, needle, most)
        lines.append(found)
        if found:
            for number in numbers:
                ends.setdefault(number, {}).update(found)
    return sorted((begin, n, end) for n, known in ends.items() for begin, end in known.items())


def _lines(text: bytes, needle: bytes, most: int) -> list[Line] | None:
    """The lines with ``needle``; None when there are more than ``most``."""
    find, rfind = text.find, text.rfind
    lines: list[Line] = []
    pos = find(needle)
    while pos >= 0:
        end = find(b"\n", pos)
        lines.append((rfind(b"\n", 0, pos) + 1, end))
        if len(lines) > most:
            return None
        pos = find(needle, end + 1)
    return lines


def _among(text: bytes, needle: bytes, lines: list[Line]) -> list[Line]:
    find = text.find
    return [line for line in lines if find(needle, line[0], line[1] + 1) >= 0]


@lru_cache(maxsize=256)
def _plan(markers: tuple[tuple[tuple[bytes, ...], tuple[bytes, ...]], ...]) -> list[_Search]:
    """The searches for the markers and words of the dialects, roots first."""
    owners: dict[tuple[bytes, bool], list[int]] = {}
    for number, (exact, words) in enumerate(markers):
        for marker in exact:
            owners.setdefault((marker, False), []).append(number)
        for word in words:
            owners.setdefault((word, True), []).append(number)
    for byte in _RARE:
        if len(owners) > len(_RARE) and any(byte in marker for marker, _ in owners):
            owners.setdefault((byte, False), [])
    searches: list[_Search] = []
    for needle, any_case in sorted(owners, key=lambda owner: (len(owner[0]), not owner[1])):
        root = _root(needle, any_case, searches)
        searches.append(_Search(needle, any_case, tuple(owners[needle, any_case]), root))
    return searches


def _root(needle: bytes, any_case: bool, searches: list[_Search]) -> int | None:
    """The search whose lines are likely the fewest of those that ``needle`` can be in."""
    if any_case:
        return None
    roots = [
        (search.needle not in _RARE, -len(search.needle), at)
        for at, search in enumerate(searches)
        if search.needle in (needle.lower() if search.any_case else needle)
    ]
    return min(roots)[2] if roots else None
