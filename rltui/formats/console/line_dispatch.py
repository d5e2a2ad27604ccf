"""Which dialect reads which line of a piece of a log.

A dialect only gets lines that contain one of its markers, which are searched in the whole piece
at once: most pieces are text without any row, so this is what reading them costs. A marker that
contains another one, or a byte that is rare in text, is only sought in the lines that have it.
After some rows only the dialects that found any remain. Where most of a log is lines with one of
the markers of its rows, that one leads: the others are sought in the lines between.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Container, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

from rltui.formats.console.console_dialect import ConsoleRows, Dialect, Rank
from rltui.formats.console.described_dialect import DescribedDialect, descriptions
from rltui.formats.console.generic import Generic
from rltui.formats.console.logger_record import LoggerRecord, Verl
from rltui.formats.console.progress_bar import ProgressBar
from rltui.formats.console.tables import BoxedTable, ColumnTable
from rltui.formats.console.transformers import Transformers

#: Bytes without any row after which weak dialects are dropped.
_GUESSED = 1 << 25
#: Rows after which the dialects without any are dropped.
_SETTLED = 20
#: What is rare in most text, and in several markers: a byte is found many times as fast as a word.
_RARE = (b"\xe2", b"\x1b", b"{", b"%", b"|", b"+", b"#", b"*", b"=", b"---")
#: Markers that are few enough to be sought one by one.
_SEVERAL = 5
#: Lines are few enough to be searched one by one when there is at most one in this many bytes (a
#: power of two), and a byte is rare.
_FEW = 8
_FEW_RARE = 10
_GUESS = Rank.GUESS
_is_open = attrgetter("open")
#: How often a marker may turn out not to lead.
_MOST_LEADERS = 3

Line = tuple[int, int]
"""Where a line begins and ends, without the end of the line."""
Marked = tuple[int, tuple[int, ...]]
"""Where a line begins, and the numbers of the dialects that have a marker in it."""
Markers = tuple[tuple[tuple[bytes, ...], tuple[bytes, ...]], ...]
"""The markers of several dialects, as they are and in any case."""


class LineDispatch:
    """Passes the lines of one log to its dialects."""

    def __init__(self, rows: ConsoleRows, beside: ConsoleRows) -> None:
        """``beside``: takes the rows that are none of the training."""
        self._rows = rows
        # in the order in which they see a line; guesses last
        self._dialects: list[Dialect] = [
            Verl(rows),
            Transformers(rows),
            LoggerRecord(rows),
            BoxedTable(rows),
            *(DescribedDialect(rows, description, beside) for description in descriptions()),
            ProgressBar(rows),
            ColumnTable(rows),
            Generic(rows),
        ]
        self.found: set[Dialect] = set()
        """The dialects with rows, even one that still waits for its step."""
        self._best: int = len(Rank)
        """The surest rank of these."""
        self._hits = 0
        self._known: Sequence[Dialect] = ()
        """Dialects that the piece began with."""
        self._newest: Dialect | None = None
        """The one that found the newest row."""
        self._leader: tuple[Dialect, bytes] | None = None
        """A dialect, and the marker of its rows that leads."""
        self._leaders = 0
        """Markers that were tried."""

    def read(self, text: bytes, prefixes: Mapping[int, bytes], offset: int) -> int | None:
        """Read whole lines that begin at ``offset`` in the file; ``prefixes``: begin of a line ->
        what stood in front of it. Returns where the last line that completed a row ends."""
        rows = self._rows
        size = len(text)
        left = _GUESSED - offset
        ends: list[int] = []
        clock = rows.clock
        clock.piece(text, prefixes)
        if left < 0:
            self._drop_guesses()
        known = self._known = tuple(self._dialects)
        if self._leader is not None and self._leader[0] not in known:
            self._leader = None
        marks, led = self._marks(text, known)
        marked = [*_in_order(marks), (size, ())]
        opened = [dialect for dialect in known if dialect.open]
        chosen: dict[tuple[int, ...], list[Dialect]] = {}

        # line by line where a dialect is open, else only the lines with markers
        at = nth = 0
        while at < size and (opened or nth + 1 < len(marked)):
            begin, numbers = marked[nth]
            if opened and at < begin:
                numbers = ()
            else:
                at = begin
                nth += 1
            if at > left:
                self._drop_guesses()

            end = text.find(b"\n", at)
            count = rows.count
            clock.line = (at, end)
            if numbers not in chosen:
                chosen[numbers] = [known[number] for number in numbers]
            opens = self._line(text[at:end], opened, chosen[numbers], at in led)
            if rows.count > count:
                ends.append(end)
                opens = True
            if opens or (opened and not all(map(_is_open, opened))):
                opened = [dialect for dialect in self._dialects if dialect.open]
            at = end + 1
        rows.end_piece(ends)
        self._lead(text, ends[-1:])

        return next(reversed(ends), None)

    def _lead(self, text: bytes, ends: list[int]) -> None:
        """Let a marker of the newest row lead; ``ends``: where its line ends, if it is here."""
        dialect = self._newest
        tried = self._leaders >= _MOST_LEADERS
        if not ends or dialect is None or self._leader or self._hits <= _SETTLED or tried:
            return
        line = text[text.rfind(b"\n", 0, ends[0]) + 1 : ends[0] + 1]
        self._leaders += 1
        lower = line.lower()
        found = [marker for marker in dialect.markers if marker in line]
        found += [word for word in dialect.words if word in lower]
        self._leader = (dialect, found[0]) if found else None

    def _marks(
        self, text: bytes, known: Sequence[Dialect]
    ) -> tuple[Mapping[int, int], Container[int]]:
        """Where the lines with markers begin, each with a bit for each dialect that has one in it;
        and where those begin in which dialects behind that of the leader were not sought."""
        markers = _markers(known)
        lines: list[Line] = []
        gaps: list[Line] = []
        if self._leader is not None:
            dialect, marker = self._leader
            source = text if marker in dialect.markers else text.lower()
            at = 0
            first = source.find(marker)
            lines = (_lines(source, marker, first, len(text)) if first >= 0 else None) or []
            for begin, end in [*lines, (len(text), 0)]:
                if begin > at:
                    gaps.append((at, begin))
                at = end + 1
        if self._leader is None or 2 * sum(end - begin for begin, end in gaps) > len(text):
            self._leader = None
            return _marks(text, markers), ()
        number = known.index(self._leader[0])
        led = dict.fromkeys([begin for begin, _ in lines], 1 << number)
        marks = led.copy()
        for begin, owners in _marks(text, markers[:number]).items():
            marks[begin] = marks.get(begin, 0) | owners
        starts = [0]
        for begin, end in gaps:
            starts.append(starts[-1] + end - begin)
        between = b"".join([text[begin:end] for begin, end in gaps])
        for at, owners in _marks(between, markers[number:]).items():
            gap = bisect_right(starts, at) - 1
            begin = gaps[gap][0] + at - starts[gap]
            marks[begin] = marks.get(begin, 0) | owners << number

        return marks, led

    def _behind(self, line: bytes) -> list[Dialect]:
        """The dialects behind that of the leader that have a marker in a line."""
        if self._leader is None:
            return []
        later = self._known[self._known.index(self._leader[0]) + 1 :]
        owners = _marks(line + b"\n", _markers(later)) if later else {}
        return [later[number] for number in _numbers(owners.get(0, 0))]

    def _drop_guesses(self) -> None:
        """Drop the weak dialects where there is no row after so many bytes."""
        if not self.found:
            self._dialects = [d for d in self._dialects if d.rank is not Rank.GUESS]

    def close(self) -> None:
        """Add the rows that wait for a line, now that no more come."""
        for dialect in tuple(self._dialects):
            if dialect in self._dialects:
                count = self._rows.count
                dialect.close()
                if self._rows.count > count:
                    self._find(dialect)

    def _line(self, line: bytes, opened: list[Dialect], marked: list[Dialect], led: bool) -> bool:
        """Pass a line to the open dialects, and to those with a marker in it until one takes it;
        an open one that guesses waits whether a surer one does. ``led``: ``marked`` ends with the
        dialect of the leader. Returns whether one of those with a marker wants the next lines."""
        guesses = None
        for dialect in opened:
            if dialect.rank is _GUESS:
                guesses = dialect
            else:
                self._pass(dialect, dialect.follow, line)

        opens = False
        while marked:
            for dialect in marked:
                if dialect is guesses:
                    guesses = None
                elif opened and dialect in opened and dialect.open:
                    continue
                taken = self._pass(dialect, dialect.read, line)
                opens = opens or dialect.open
                if taken:
                    return opens
            marked = self._behind(line) if led else []
            led = False

        if guesses is not None:
            self._pass(guesses, guesses.follow, line)
        return opens

    def _pass(self, dialect: Dialect, read: Callable[[bytes], bool | None], line: bytes) -> bool:
        """Pass a line to a dialect; returns whether it takes it for itself."""
        if len(line) > dialect.longest or dialect not in self._dialects:
            return False
        count = self._rows.count
        taken = bool(read(line))
        if (taken or self._rows.count > count) and not dialect.aside:
            self._find(dialect)
        return taken

    def _find(self, dialect: Dialect) -> None:
        """Remember that a dialect has found a row, and drop those that get no lines any more: a
        dialect is wanted only while no surer one has found a row."""
        self._hits += 1
        self._newest = dialect
        if self._hits > _SETTLED and dialect in self.found:
            return
        self.found.add(dialect)
        self._best = min(self._best, dialect.rank)
        wanted = []
        for other in self._dialects:
            if other.aside:
                keep = True
            elif other in self.found:
                keep = other.rank <= self._best
            elif other.rank is Rank.SURE:
                keep = self._hits < _SETTLED
            else:
                keep = other.rank < self._best
            if keep:
                wanted.append(other)
        self._dialects = wanted


def marked_lines(text: bytes, markers: Markers) -> list[Marked]:
    """Where the lines with markers begin, in order, each with the numbers of those that have one
    in it; ``text`` ends with the end of a line."""
    return _in_order(_marks(text, markers))


def _in_order(marks: Mapping[int, int]) -> list[Marked]:
    return [(begin, _numbers(owners)) for begin, owners in sorted(marks.items())]


def _markers(dialects: Sequence[Dialect]) -> Markers:
    return tuple([(one.markers, one.words) for one in dialects])


def _marks(text: bytes, markers: Markers) -> dict[int, int]:
    """Where the lines with markers begin, each with a bit for each that has one in it."""
    searches, any_case = _plan(markers)
    lower = text.lower() if any_case else b""
    few = len(text) >> _FEW
    lines: list[Sequence[Line] | None] = []
    """The lines of each search; None: given up, because there are too many."""
    marked: dict[int, int] = {}
    for needle, in_lower, owners, root in searches:
        within = lines[root] if root is not None else None
        found = None
        if within is not None and len(within) <= few:
            find = text.find
            found = within and [line for line in within if find(needle, line[0], line[1] + 1) >= 0]
        else:
            source = lower if in_lower else text
            first = source.find(needle)
            most = len(text) if owners else len(text) >> _FEW_RARE
            found = _lines(source, needle, first, most) if first >= 0 else ()
        lines.append(found)
        for begin, _ in (found or ()) if owners else ():
            marked[begin] = marked.get(begin, 0) | owners

    return marked


@lru_cache(maxsize=1024)
def _numbers(owners: int) -> tuple[int, ...]:
    """The bits that are set."""
    return tuple(number for number in range(owners.bit_length()) if owners >> number & 1)


def _lines(text: bytes, needle: bytes, pos: int, most: int) -> list[Line] | None:
    """The lines with ``needle``, which is first at ``pos``; None when there are more than
    ``most``."""
    find = text.find
    rfind = text.rfind
    lines = []
    while pos >= 0:
        end = find(b"\n", pos)
        lines.append((rfind(b"\n", 0, pos) + 1, end))
        if len(lines) > most:
            return None
        pos = find(needle, end + 1)
    return lines


class _Search(NamedTuple):
    needle: bytes
    any_case: bool
    owners: int
    """A bit for each dialect with this marker; 0 for a byte that others contain."""
    root: int | None
    """Position of the search in whose lines this one is done."""


_Plan = tuple[list[_Search], bool]
"""Searches, and whether any is in any case."""


@lru_cache(maxsize=256)
def _plan(markers: Markers) -> _Plan:
    """The searches for the markers and words of the dialects, roots first."""
    owners: dict[tuple[bytes, bool], int] = {}
    for number, needles in enumerate(markers):
        for any_case in (False, True):
            for needle in needles[any_case]:
                owners[needle, any_case] = owners.get((needle, any_case), 0) | 1 << number
    for rare in _RARE:
        if len(owners) > _SEVERAL and any(rare in marker for marker, _ in owners):
            owners.setdefault((rare, False), 0)

    searches: list[_Search] = []
    for needle, any_case in sorted(owners, key=lambda owner: (len(owner[0]), not owner[1])):
        # of the searches in whose lines it can be, the one that likely has the fewest
        roots = [
            (search.needle not in _RARE, -len(search.needle), at)
            for at, search in enumerate(searches)
            if search.needle in (needle.lower() if search.any_case else needle)
        ]
        root = min(roots)[2] if roots and not any_case else None
        searches.append(_Search(needle, any_case, owners[needle, any_case], root))
    return searches, any(search.any_case for search in searches)
