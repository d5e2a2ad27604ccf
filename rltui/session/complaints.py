"""Errors and warnings in console logs: distinct messages, how often, when, which ranks. Pure.

What complains, and who printed a line, is in ``data/log_signs/complaints.yaml``. Bytes in which
none of its needles is found are not looked at line by line, so that gigabytes pass at the speed of
a search.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from rltui.core.batch import LogTail
from rltui.core.text import Names, clean_bytes
from rltui.formats.console.console_line import ANSI
from rltui.formats.console.line_dispatch import Markers, marked_lines
from rltui.formats.log_sign import (
    LOOKED_AT,
    AnyOf,
    Patterns,
    Sign,
    first_match,
    line_forms,
    signs,
    without_prefixes,
)
from rltui.health.crash import GOES_ON_EARLY, advice_about

#: Distinct messages, characters of each and names of who printed it that are kept.
MOST_MESSAGES = 2000
_MOST_TEXT = 300
_MOST_RANKS = 1024
#: Lines of different shapes of which the message is remembered.
_MOST_SHAPES = 20_000
_DIGITS = bytes.maketrans(b"0123456789", b"##########")
#: Bytes of the begin of a line that may name a rank, and a text in each line for several.
_HEAD = 160
_SEVERAL = b"across cluster]"
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


class _Document(NamedTuple):
    """``data/log_signs/complaints.yaml``; see there for the meaning of each field."""

    needles: Names
    levels: tuple[Sign, ...]
    skipped: Patterns
    announcements: Patterns
    before_words: re.Pattern[str]
    ranks: AnyOf
    files: AnyOf


#: The step that was printed before a line, None where none was; and the line.
Line = tuple[int | None, bytes]


class Message:
    """One message of all files: what it says, its first and last line, how often, and by whom."""

    __slots__ = ("first", "is_error", "last", "ranks", "text", "times")

    def __init__(self, text: str, line: Line, *, is_error: bool) -> None:
        self.text = text
        self.is_error = is_error
        self.first = self.last = line
        self.times = 0
        self.ranks: set[str] = set()

    def add(self, line: Line, times: int) -> None:
        """Count a line, of any file: files are read one after the other."""
        self.times += times
        step = line[0]
        first = self.first[0]
        last = self.last[0]
        if step is not None and (first is None or step < first):
            self.first = line
        if last is None or (step is not None and step >= last):
            self.last = line


def _known() -> _Document:
    return signs(_Document, "complaints")


def rank_of_file(path: str) -> str | None:
    """The rank or worker whose log a path is, "" where it names none; None for another file."""
    found = first_match(_known().files, path)
    return None if found is None else next(filter(None, found.groups()), "")


@cache
def _markers() -> Markers:
    return ((tuple(needle.encode() for needle in _known().needles), ()),)


class Complaint(NamedTuple):
    """A message that a log repeats while the training goes on."""

    text: str
    """Without the numbers that differ."""
    times: int
    advice: str
    """Its remedy where one is known, else ""."""


@lru_cache(maxsize=16)
def complaints(tail: LogTail) -> tuple[Complaint, ...]:
    """Warnings and errors that the last lines of a log repeat, the most frequent first. That
    something will change one day is no trouble now."""
    scan = ComplaintScan()
    scan.scan("\n".join(tail.lines).encode(), "", None)
    often = [m for m in scan.messages.values() if m.times > GOES_ON_EARLY]
    often = [m for m in often if first_match(_known().announcements, m.text) is None]
    often.sort(key=lambda m: -m.times)
    said = ((_known().before_words.sub("", m.text), m.times) for m in often)
    return tuple(Complaint(text, times, advice_about(text)) for text, times in said)


class ComplaintScan:
    """Collects the messages of the logs of one run; the bytes of a file come in order."""

    def __init__(self) -> None:
        self.messages: dict[str, Message] = {}
        self.lost = Message("", (None, b""), is_error=False)
        """All messages after :data:`MOST_MESSAGES`."""
        self._ranks = _known().ranks
        self._seen: dict[bytes, Message | None] = {}
        """Line without its digits -> its message."""

    def scan(self, lines: bytes, rank: str, step: int | None) -> int | None:
        """Read whole lines of the file of a ``rank`` ("" for none) behind the ``step``; returns the
        step at their end."""
        if b"\r" in lines:
            lines = lines.replace(b"\r", b"\n")
        at = 0
        for begin, _ in marked_lines(lines + b"\n", _markers()):
            step = step_in(lines, at, begin, step)
            at = begin
            self._take(lines[begin : begin + LOOKED_AT].partition(b"\n")[0], rank, step)
        return step_in(lines, at, len(lines), step)

    def _take(self, raw: bytes, rank: str, step: int | None) -> None:
        """Count a line. Most differ in digits alone from one that was seen."""
        shape = raw.translate(_DIGITS)
        if shape not in self._seen:
            if len(self._seen) >= _MOST_SHAPES:
                self._seen.clear()
            self._seen[shape] = self._message_in(raw)
        message = self._seen[shape]
        if message is None:
            return
        may_repeat = _SEVERAL in raw
        several = line_forms().repeated.search(raw.decode(errors="replace")) if may_repeat else None
        message.add((step, raw), int(several[1]) if several else 1)
        who = first_match(self._ranks, raw[:_HEAD].decode(errors="replace"))
        rank = next(filter(None, who.groups())) if who else rank
        if rank and len(message.ranks) < _MOST_RANKS:
            message.ranks.add(rank)

    def _message_in(self, raw: bytes) -> Message | None:
        """The message in a line, new or known; None for a line without one."""
        said, is_error = text_in(raw)
        text = line_forms().varying.sub("#", said)[:_MOST_TEXT]
        if not text or first_match(_known().skipped, text):
            return None
        if text not in self.messages and len(self.messages) >= MOST_MESSAGES:
            return self.lost
        return self.messages.setdefault(text, Message(text, (None, raw), is_error=is_error))


def text_in(raw: bytes) -> tuple[str, bool]:
    """(text, whether it is an error) of the message in a line; "" for a line without one."""
    line = clean_bytes(ANSI.sub(b"", raw).rstrip())
    line = without_prefixes(line_forms().repeated.sub("", line).rstrip())
    for sign in _known().levels:
        if found := sign.pattern.search(line):
            return found["text"].rstrip(), sign.level == "error"
    return "", False


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
                begin = place + 1
                step = int(found[1])
                break
    return step
