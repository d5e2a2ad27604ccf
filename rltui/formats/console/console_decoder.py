"""Finds the rows in a growing console log.

A dialect only gets lines that contain one of its markers, which are searched in the whole piece
at once, so other output costs little. A carriage return ends a line, too. After some rows only
the dialects that found any remain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rltui.core.block import Block
from rltui.core.level import Level
from rltui.formats.base import Decoded, NoteBook
from rltui.formats.console.boxed_table import BoxedTable
from rltui.formats.console.column_table import ColumnTable
from rltui.formats.console.config_dump import ConfigDump
from rltui.formats.console.console_dialect import MAX_LINE, ConsoleRows, Dialect, Rank
from rltui.formats.console.described_dialect import DescribedDialect, descriptions
from rltui.formats.console.generic import Generic
from rltui.formats.console.line_prefix import LinePrefix
from rltui.formats.console.logger_record import LoggerRecord
from rltui.formats.console.marker_search import places
from rltui.formats.console.progress_bar import RICH, ProgressBar, planned_by_bar
from rltui.formats.console.terminal_tail import TerminalTail
from rltui.formats.console.transformers import Transformers
from rltui.formats.console.verl import Verl
from rltui.formats.figure_lines import NO_ROWS, figure_lines
from rltui.formats.last_line import LastLine

#: The byte order mark that some Windows shells write first.
_MARK = b"\xef\xbb\xbf"
#: Bytes without any row after which weak dialects are dropped.
_GUESSED = 1 << 25
#: Rows after which a rank other than 0 is the log, and ranks that are read.
_ENOUGH, _MOST_RANKS = 3, 64
#: Rows after which the dialects without any are dropped.
_SETTLED = 20
#: Bytes of the end of a log in which lines that became no rows are looked for, and how many of
#: such lines are worth a word: a log prints some results on its way.
_LEAST_LOOK, _MOST_LOOK, _LEAST_LOST = 1 << 10, 1 << 14, 20


def dialects() -> list[Dialect]:
    """Fresh ones, in the order in which they see a line; guesses last."""
    return [
        Verl(),
        Transformers(),
        LoggerRecord(),
        BoxedTable(),
        *map(DescribedDialect, descriptions()),
        ProgressBar(),
        ColumnTable(),
        Generic(),
    ]


class ConsoleDecoder(LastLine):
    """Decodes one console log. Not thread-safe."""

    holds_row = False
    _may_hold_rows = True

    def __init__(self, *, prefixed: bool = True) -> None:
        """``prefixed``: whether lines may have something in front of them."""
        self._prefix = LinePrefix() if prefixed else None
        self._stamps: dict[int, bytes] = {}
        """Begin of a line that is being read -> what stood in front of it."""
        self._ranks = _Ranks()
        self._dialects = dialects()
        self._found: set[Dialect] = set()
        self._best: int = len(Rank)
        """The surest rank of these."""
        self._hits = 0
        self._rows = ConsoleRows()
        self._screen = TerminalTail()
        self._dump = ConfigDump()
        self._notes = NoteBook()
        self._parts: list[bytes] = []
        self._have = 0
        self._offset = 0
        """Of the unfinished line, in the file."""
        self._skipping = False
        self._stale = False
        """Whether the tail has changed since it was returned."""
        self._total: int | None = None
        self._row_end: int | None = None
        self._tags: set[str] = set()
        """With rows, as long as lines that became none are looked for."""
        self._looked = False

    @property
    def found(self) -> bool:
        """Whether any dialect has found a row, even one that still waits for its step."""
        return bool(self._found) or self._ranks.found

    def _feed(self, data: bytes, *, more: bool) -> Decoded:
        if not data:
            stale, self._stale = self._stale, self._stale and more
            return Decoded(tail=self._screen.tail()) if stale and not more else Decoded()
        self._stale = more
        before = self._rows.taken
        self._row_end = None
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if end:
            self._lines(data, end)
        else:
            self._wait(data)
        self._screen.feed(data, self._row_end)
        decoded = self._decoded(before, more=more)
        return decoded if self._looked else self._look(data, decoded, more=more)

    def _look(self, data: bytes, decoded: Decoded, *, more: bool) -> Decoded:
        """Once, at the end of what was written when it was first read: say whether most lines
        with figures became no rows."""
        for item in decoded.items:
            if isinstance(item, Block):
                self._tags.update(item.tags)
        if more or len(data) < _LEAST_LOOK or not self._tags:
            return decoded
        self._looked = True
        lost = figure_lines(data[-_MOST_LOOK:], self._tags)
        self._tags = set()
        if lost is None or lost.lines < _LEAST_LOST * max(decoded.records / 2, 1):
            return decoded
        offset = self._offset + self._have - len(data[-_MOST_LOOK:]) + lost.offset
        self._notes.add(offset, lost.lost(NO_ROWS, where=False))
        return replace(decoded, notes=decoded.notes + self._notes.take())

    def _close(self) -> Decoded:
        before = self._rows.taken
        for dialect in tuple(self._dialects):
            if self._wanted(dialect):
                taken = self._rows.taken
                dialect.close(self._rows)
                if self._rows.taken > taken:
                    self._find(dialect)
        self._ranks.close()
        return self._decoded(before, more=True)

    def _decoded(self, before: int, *, more: bool) -> Decoded:
        """What was found since there were ``before`` rows."""
        hparams = self._dump.take() if self._found else {}
        if self._rows.total is not None and self._rows.total != self._total and self._found:
            self._total = self._rows.total
            hparams["total_steps"] = self._total
        own = Decoded(
            self._rows.take(),
            hparams=hparams,
            notes=self._notes.take(),
            records=self._rows.taken - before,
            tail=None if more else self._screen.tail(),
            steps_are_row_numbers=self._rows.steps_are_row_numbers,
            guessed=self._rows.guessed,
        )
        return self._ranks.take().then(own) if self._ranks.found else own

    def _wait(self, data: bytes) -> None:
        """Keep a piece of an unfinished line; drop the line when it is too long."""
        self._have += len(data)
        if self._skipping:
            return
        self._parts.append(data)
        if self._have > MAX_LINE:
            self._notes.add(self._offset, "line is too long", level=Level.OK)
            self._parts, self._skipping = [], True

    def _lines(self, data: bytes, end: int) -> None:
        """Read the lines that end in ``data``."""
        text = data[:end]
        if self._skipping:
            first = min(i for i in (data.find(b"\n"), data.find(b"\r")) if i >= 0)
            text, kept = text[first + 1 :], -(first + 1)
            self._skipping = False
        else:
            kept = sum(map(len, self._parts))
            text = b"".join((*self._parts, text))
        self._offset += self._have + end
        if b"\r" in text:
            text = text.replace(b"\r", b"\n")
        if self._offset == len(text) and text.startswith(_MARK):
            text = b"\n" * len(_MARK) + text[len(_MARK) :]
        raw = text
        if self._prefix is not None and not self._prefix.is_absent:
            text = self._unprefixed(self._prefix, text)
        self._dump.feed(text)
        left = _GUESSED - (self._offset - len(text))
        if left >= len(text) or self._found:
            last = self._read(text)
        else:
            last = self._read_to_limit(text, text.find(b"\n", left) + 1 if left >= 0 else 0)
        if last is not None:
            self._row_end = last - kept
        if len(raw) != len(text) and (last is not None or self._ranks.fed):
            self._row_end = _same_line(raw, text, last) - kept
        if RICH in text and self._rows.newest is not None:
            self._rows.total = planned_by_bar(text, self._rows.newest) or self._rows.total
        rest = data[end:]
        self._parts, self._have = [], 0
        if rest:
            self._wait(rest)

    def _unprefixed(self, prefix: LinePrefix, text: bytes) -> bytes:
        """The lines without what collectors put in front; those of ranks go to their decoders."""
        lines: list[bytes] = []
        ranked: dict[bytes, list[bytes]] = {}
        at, self._stamps = 0, {}
        for rank, before, line in prefix.lines(text):
            if rank:
                ranked.setdefault(rank, []).append(line)
                continue
            if before:
                self._stamps[at] = before
            lines.append(line)
            at += len(line)
        self._ranks.feed(ranked)
        return b"".join(lines) if self._stamps or ranked else text

    def _read_to_limit(self, text: bytes, limit: int) -> int | None:
        """Read a piece in which the guesses end unless there is a row by then."""
        first = self._read(text[:limit])
        if not self._found:
            self._dialects = [d for d in self._dialects if not _is_guess(d)]
        last = self._read(text[limit:])
        return first if last is None else limit + last

    def _read(self, text: bytes) -> int | None:
        """Pass the lines to the dialects; returns where the last line that completed a row ends."""
        known = tuple(self._dialects)
        done = {number: 0 for number, dialect in enumerate(known) if dialect.open}
        """Number of an open dialect -> position of the next line for it."""
        claimed, last = 0, -1
        for start, number, end in places(text, known):
            if done:
                last = max(last, self._follow(known, done, text, start))
            dialect = known[number]
            if start < claimed or end - start > dialect.longest:
                continue
            if number in done and not _is_guess(dialect):
                continue
            if self._found and not self._wanted(dialect):
                continue
            taken = self._rows.taken
            self._rows.stamp = self._stamps.get(start, b"")
            if dialect.take(text[start:end], self._rows):
                self._find(dialect)
                claimed = end + 1
                done.update({n: max(claimed, p) for n, p in done.items() if _is_guess(known[n])})
            elif self._rows.taken > taken:
                self._find(dialect)
            if self._rows.taken > taken:
                last = max(last, end)
            if dialect.open and self._wanted(dialect):
                done[number] = end + 1
            else:
                done.pop(number, None)
        if done:
            last = max(last, self._follow(known, done, text, len(text)))
        return last if last >= 0 else None

    def _follow(
        self, known: tuple[Dialect, ...], done: dict[int, int], text: bytes, until: int
    ) -> int:
        """Pass the lines up to ``until`` to the open dialects, line by line, so that it does not
        matter where a piece ends; returns where the last line that completed a row ends, or -1.
        One that guesses waits whether a surer one takes a line."""
        find, size, last = text.find, len(text), -1
        while done:
            pos = min(done.values())
            if pos > until or pos >= size:
                break
            ready = [n for n in done if done[n] == pos < until + (not _is_guess(known[n]))]
            if not ready:
                break
            alone = len(done) == 1
            for number in sorted(ready):
                dialect, at = known[number], pos
                while dialect.open and self._wanted(dialect):
                    end = find(b"\n", at)
                    if self._pass(dialect, text, at, end):
                        last = end
                    done[number] = at = end + 1
                    if not alone or at >= min(size, until + (not _is_guess(dialect))):
                        break
                if not dialect.open or not self._wanted(dialect):
                    del done[number]
        return last

    def _pass(self, dialect: Dialect, text: bytes, begin: int, end: int) -> bool:
        """Pass a line to an open dialect; returns whether it completed a row."""
        taken = self._rows.taken
        self._rows.stamp = self._stamps.get(begin, b"")
        if end - begin <= dialect.longest:
            dialect.follow(text[begin:end], self._rows)
        if self._rows.taken == taken:
            return False
        self._find(dialect)
        return True

    def _wanted(self, dialect: Dialect) -> bool:
        """Whether a dialect still gets lines: only while no surer one has found a row."""
        if dialect in self._found:
            return dialect.rank <= self._best
        if dialect.rank is Rank.SURE:
            return self._hits < _SETTLED
        return dialect.rank < self._best

    def _find(self, dialect: Dialect) -> None:
        """Remember that a dialect has found a row."""
        self._found.add(dialect)
        self._best = min(self._best, dialect.rank)
        self._hits += 1
        if self._hits <= _SETTLED:
            self._dialects = [d for d in self._dialects if self._wanted(d)]


def _is_guess(dialect: Dialect) -> bool:
    return dialect.rank is Rank.GUESS


def _same_line(raw: bytes, text: bytes, end: int | None) -> int:
    """The end of a line of ``text`` in ``raw``, which has the same lines behind prefixes; without
    one, of the last line."""
    at, count = -1, text.count(b"\n", 0, end) if end is not None else raw.count(b"\n") - 1
    for _ in range(count + 1):
        at = raw.find(b"\n", at + 1)
    return at


class _Ranks:
    """The output of several ranks in one log, each with its number before every line.

    One of them is the log: rank 0 once it has a row, or another one that has a few rows before
    that. The rows of all others are repetitions.
    """

    def __init__(self) -> None:
        self._decoders: dict[bytes, ConsoleDecoder] = {}
        self._waiting: dict[bytes, Decoded] = {}
        self._chosen: bytes | None = None
        self.fed = False
        """Whether the newest lines are of ranks."""

    @property
    def found(self) -> bool:
        """Whether any has a row."""
        return any(decoder.found for decoder in self._decoders.values())

    def feed(self, lines: Mapping[bytes, Sequence[bytes]]) -> None:
        """Read the lines of each rank."""
        self.fed = bool(lines)
        for rank, own in lines.items():
            decoder = self._decoder(rank)
            if decoder is not None:
                for line in own if self._chosen is None else (b"".join(own),):
                    self._keep(rank, decoder.feed(line, more=True))

    def close(self) -> None:
        """Take the rows that wait for a further line."""
        for rank, decoder in self._decoders.items():
            self._keep(rank, decoder._close())
        if self._chosen is None and self._waiting:
            self._chosen = min(self._waiting, key=int)

    def take(self) -> Decoded:
        """What the chosen rank has given since the last call."""
        if self._chosen is None:
            return Decoded()
        found = self._waiting.pop(self._chosen, Decoded())
        self._waiting.clear()
        return found

    def _decoder(self, rank: bytes) -> ConsoleDecoder | None:
        if self._chosen is not None:
            return self._decoders[rank] if rank == self._chosen else None
        if len(self._decoders) < _MOST_RANKS:
            return self._decoders.setdefault(rank, ConsoleDecoder(prefixed=False))
        return self._decoders.get(rank)

    def _keep(self, rank: bytes, decoded: Decoded) -> None:
        if not (decoded.items or decoded.hparams):
            return
        whole = self._waiting[rank] = self._waiting.get(rank, Decoded()).then(decoded)
        if self._chosen is None and (not int(rank) or whole.records >= _ENOUGH):
            self._chosen = rank
