"""Errors and warnings in console logs: distinct messages, how often, when, which ranks. Pure.

What complains, and who printed a line, is in ``data/complaints.yaml``. Bytes in which none of its
needles is found are not looked at line by line, so that gigabytes pass at the speed of a search.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from rltui.core.text import clean_bytes
from rltui.core.yaml_record import shipped_record
from rltui.formats.console.console_line import ANSI
from rltui.health.crash import without_prefixes

#: Distinct messages, characters of each and names of who printed it that are kept.
MOST_MESSAGES, _MOST_TEXT, _MOST_RANKS = 2000, 300, 1024
#: Lines that differ in more than digits of which the message is remembered.
_MOST_SHAPES = 20_000
_DIGITS = bytes.maketrans(b"0123456789", b"##########")
#: Bytes of a line that are looked at, and of its begin that may name a rank.
_LOOKED_AT, _HEAD = 600, 160
#: Numbers, addresses and hashes, by which the same message differs.
_MASKED = re.compile(
    r"0x[0-9a-fA-F]+|(?<![\w.])(?=[a-f]*\d)[0-9a-f]{8,}(?![\w.])"
    r"|\d{1,30}(?:[.:]\d{1,30}){0,8}(?:e[-+]?\d{1,4})?"
)
_REPEATED = re.compile(rb" ?\[repeated (\d{1,9})x across cluster\].*")
#: What a step stands behind, in what is before that and after it: the words, and the bar of tqdm
#: without a name.
_STEP = re.compile(rb"[Ss]tep['\"]?\s{0,2}[:=# ]\s{0,2}(\d{1,12})(?![\d.\w])")
_BAR = re.compile(rb"%\|[^|\r\n]{0,400}\| *(\d{1,12})/\d{1,12} \[")
_BEFORE_STEP = re.compile(rb"(?:global_|train_|training_|(?:^|[^\w/]))\Z")
_BEFORE_BAR = re.compile(rb"(?:^|[\r\n]) *\d{1,3}\Z")
_STEPS = (
    (b"step", _BEFORE_STEP, _STEP),
    (b"Step", _BEFORE_STEP, _STEP),
    (b"%|", _BEFORE_BAR, _BAR),
)
#: Places before a line at which its step is looked for.
_TRIES = 8


class _Sign(NamedTuple):
    pattern: re.Pattern[str]
    source: str
    level: str = ""


class _Document(NamedTuple):
    """``data/complaints.yaml``; see there for the meaning of each field."""

    needles: tuple[str, ...]
    levels: tuple[_Sign, ...]
    skipped: tuple[re.Pattern[str], ...]
    ranks: tuple[_Sign, ...]
    files: tuple[_Sign, ...]


#: The step that was printed before a line, None where none was; and the line.
Line = tuple[int | None, bytes]


class Message:
    """One message of all files: what it says, its first and last line, how often, and by whom."""

    __slots__ = ("first", "is_error", "last", "ranks", "text", "times")

    def __init__(self, text: str, line: Line, *, is_error: bool) -> None:
        self.text, self.is_error = text, is_error
        self.first = self.last = line
        self.times = 0
        self.ranks: set[str] = set()

    def add(self, line: Line, times: int) -> None:
        """Count a line, of any file: files are read one after the other."""
        self.times += times
        step, first, last = line[0], self.first[0], self.last[0]
        if step is not None and (first is None or step < first):
            self.first = line
        if last is None or (step is not None and step >= last):
            self.last = line


@lru_cache(maxsize=1)
def _known() -> _Document:
    return shipped_record(_Document, "health", "data", "complaints.yaml")


def rank_of_file(path: str) -> str | None:
    """The rank or worker whose log a path is, "" where it names none; None for another file."""
    found = next(filter(None, (f.pattern.search(path) for f in _known().files)), None)
    return None if found is None else next(filter(None, found.groups()), "")


class ComplaintScan:
    """Collects the messages of the logs of one run; the bytes of a file come in order."""

    def __init__(self) -> None:
        self.messages: dict[str, Message] = {}
        self.lost = Message("", (None, b""), is_error=False)
        """All messages after :data:`MOST_MESSAGES`."""
        self._needles = [n.encode() for n in _known().needles]
        self._who = [re.compile(w.pattern.pattern.encode()) for w in _known().ranks]
        self._seen: dict[bytes, Message | None] = {}
        """Line without its digits -> its message."""

    def scan(self, lines: bytes, rank: str, step: int | None) -> int | None:
        """Read whole lines of the file of a ``rank`` ("" for none) behind the ``step``; returns the
        step at their end."""
        if b"\r" in lines:
            lines = lines.replace(b"\r", b"\n")
        begins = set[int]()
        for needle in self._needles:
            place = lines.find(needle)
            while place >= 0:
                begins.add(lines.rfind(b"\n", 0, place) + 1)
                place = lines.find(needle, lines.find(b"\n", place) + 1 or len(lines))
        at = 0
        for begin in sorted(begins):
            step = step_in(lines, at, begin, step)
            at = begin
            self._take(lines[begin : begin + _LOOKED_AT].partition(b"\n")[0], rank, step)
        return step_in(lines, at, len(lines), step)

    def _take(self, raw: bytes, rank: str, step: int | None) -> None:
        """Count a line. Most differ in digits alone from one that was seen."""
        shape = raw.translate(_DIGITS)
        if shape not in self._seen:
            if len(self._seen) >= _MOST_SHAPES:
                self._seen.clear()
            self._seen[shape] = self._message_in(raw, step)
        message = self._seen[shape]
        if message is None:
            return
        several = _REPEATED.search(raw) if b"across cluster]" in raw else None
        message.add((step, raw), int(several[1]) if several else 1)
        who = next(filter(None, (w.search(raw, 0, _HEAD) for w in self._who)), None)
        rank = next(g for g in who.groups() if g).decode(errors="replace") if who else rank
        if rank and len(message.ranks) < _MOST_RANKS:
            message.ranks.add(rank)

    def _message_in(self, raw: bytes, step: int | None) -> Message | None:
        """The message in a line, new or known; None for a line without one."""
        line = without_prefixes(clean_bytes(_REPEATED.sub(b"", ANSI.sub(b"", raw)).rstrip()))
        for sign in _known().levels:
            if found := sign.pattern.search(line):
                text = _MASKED.sub("#", found["text"].rstrip())[:_MOST_TEXT]
                if any(s.search(text) for s in _known().skipped):
                    return None
                if text not in self.messages and len(self.messages) >= MOST_MESSAGES:
                    return self.lost
                new = Message(text, (step, raw), is_error=sign.level == "error")
                return self.messages.setdefault(text, new)
        return None


def step_in(lines: bytes, begin: int, end: int, step: int | None) -> int | None:
    """The last step that is printed between two places; ``step`` where none is."""
    for needle, before, pattern in _STEPS:
        place = end
        for _ in range(_TRIES):
            place = lines.rfind(needle, begin, place)
            if place < 0:
                break
            found = pattern.match(lines, place)
            if found and before.search(lines, max(0, place - 12), place):
                begin, step = place + 1, int(found[1])
                break
    return step
