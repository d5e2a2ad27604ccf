"""Decodes a growing console log: cuts lines, and gathers rows, settings and the last lines.

A carriage return ends a line, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rltui.core.batch import NO_CLOCK, blocks_in
from rltui.core.level import Level
from rltui.formats.base import Decoded
from rltui.formats.console.console_dialect import MAX_LINE, ConsoleRows
from rltui.formats.console.console_line import LinePrefix, TerminalTail
from rltui.formats.console.line_dispatch import LineDispatch
from rltui.formats.console.logger_record import ConfigDump
from rltui.formats.console.phase import PhaseSearch
from rltui.formats.line_decoder import NO_ROWS, LastLine, figure_lines

#: The byte order mark that some Windows shells write first.
_MARK = b"\xef\xbb\xbf"
#: Rows after which a rank other than 0 is the log, and ranks that are read.
_ENOUGH = 3
_MOST_RANKS = 64
#: Bytes of the end of a log in which lines that became no rows are looked for, and how many of
#: such lines are worth a word: a log prints some results on its way.
_LEAST_LOOK = 1 << 10
_MOST_LOOK = 1 << 14
_LEAST_LOST = 20
#: A bar of rich, as stable-baselines3 shows one (common/callbacks.py, tqdm.rich), and its body.
_RICH_BAR = re.compile(
    rb"%[ \xe2\x94\x81\x95\xb8\xba]+ ([\d,]{1,20})/([\d,]{1,20}) +\[ *[\d:]+ < [\d:?-]+"
)
_RICH = b"\xe2\x94\x81"


class ConsoleDecoder(LastLine):
    """Decodes one console log. Not thread-safe."""

    _may_hold_rows = True

    def __init__(self, *, prefixed: bool = True) -> None:
        """``prefixed``: whether lines may have something in front of them."""
        super().__init__()
        self._prefix = LinePrefix() if prefixed else None
        self._ranks = _Ranks()
        self._rows = ConsoleRows()
        self._beside = ConsoleRows()
        """Rows of engines."""
        self._dispatch = LineDispatch(self._rows, self._beside)
        self._tail = TerminalTail()
        self._phases = PhaseSearch()
        self._dump = ConfigDump()
        self._stale = False
        """Whether the tail has changed since it was returned."""
        self._counted = 0
        """Rows that were returned."""
        self._total: int | None = None
        self._tags: set[str] | None = set()
        """With rows, as long as lines that became none are looked for."""

    @property
    def has_row(self) -> bool:
        """Whether any dialect has found a row, even one that still waits for its step."""
        return bool(self._dispatch.found) or self._beside.count > 0 or self._ranks.found

    def found(self, data: bytes) -> bool:
        """See :meth:`rltui.formats.base.Format.row_search`."""
        self.feed(data, more=True)  # the tail is not wanted
        return self.has_row

    def _feed(self, data: bytes, *, more: bool) -> Decoded:
        if not data:
            stale = self._stale
            self._stale = self._stale and more
            return (
                Decoded(tail=self._tail.tail(self._phases.phase, self._phases.lasted_s))
                if stale and not more
                else Decoded()
            )

        self._stale = more
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        row_end = self._lines(data[:end]) if end else None
        self._have += len(data) - end
        if data[end:] and not self._skipping:
            self._parts.append(data[end:])
            if self._have > MAX_LINE:
                self._notes.add(self._offset, "line is too long", level=Level.OK)
                self._parts = []
                self._skipping = True

        self._tail.feed(data, row_end)
        self._phases.feed(data, row_end, more=more)
        decoded = self._decoded(more=more)
        return decoded if self._tags is None else self._look(data, decoded, self._tags, more=more)

    def _look(self, data: bytes, decoded: Decoded, tags: set[str], *, more: bool) -> Decoded:
        """Once, at the end of what was written when it was first read: say whether most lines
        with figures became no rows."""
        tags.update(*(block.tags for block in blocks_in(decoded.items)))
        if more or len(data) < _LEAST_LOOK or not tags:
            return decoded
        self._tags = None
        lost = figure_lines(data[-_MOST_LOOK:], tags)
        if lost is None or lost.lines < _LEAST_LOST * max(decoded.records / 2, 1):
            return decoded
        offset = self._offset + self._have - len(data[-_MOST_LOOK:]) + lost.offset
        self._notes.add(offset, lost.lost(NO_ROWS, where=False))
        return replace(decoded, notes=decoded.notes + self._notes.take())

    def _close(self) -> Decoded:
        self._dispatch.close()
        self._ranks.close()
        return self._decoded(more=True)

    def _decoded(self, *, more: bool) -> Decoded:
        """Collect the findings since the last call."""
        rows = self._rows
        found = bool(self._dispatch.found)
        hparams = self._dump.settings() if found else {}
        if rows.total is not None and rows.total != self._total and found:
            hparams["total_steps"] = self._total = rows.total
        counted = self._counted
        self._counted = rows.count + self._beside.count
        own = Decoded(
            rows.blocks() + self._beside.blocks(),
            hparams=hparams,
            notes=self._notes.take(),
            records=self._counted - counted,
            tail=None if more else self._tail.tail(self._phases.phase, self._phases.lasted_s),
            steps_are_row_numbers=rows.steps_are_row_numbers,
            guessed=rows.guessed,
            lanes=self._beside.lanes,
            clock=NO_CLOCK if more else rows.clock.clock(),
        )
        return self._ranks.decoded().then(own) if self._ranks.found else own

    def _lines(self, data: bytes) -> int | None:
        """Read the lines that end in ``data``; returns where in it the newest row ends, negative
        when that is before it."""
        text = data.replace(b"\r", b"\n")
        if self._skipping:
            before = -(text.find(b"\n") + 1)
            text = text[-before:]
            self._skipping = False
        else:
            before = sum(map(len, self._parts))
            text = b"".join((*self._parts, text))
        self._offset += self._have + len(data)
        self._parts = []
        self._have = 0
        if self._offset == len(text) and text.startswith(_MARK):
            text = b"\n" * len(_MARK) + text[len(_MARK) :]

        raw = text
        prefixes = dict[int, bytes]()
        if self._prefix is not None and not self._prefix.is_absent:
            lines: list[bytes] = []
            ranked: dict[bytes, list[bytes]] = {}
            at = 0
            for whole in text.split(b"\n")[:-1]:
                rank, size = self._prefix.split(whole)
                line = whole[size:] + b"\n"
                if rank:
                    ranked.setdefault(rank, []).append(line)
                    continue
                if size:
                    prefixes[at] = whole[:size]
                lines.append(line)
                at += len(line)
            self._ranks.feed(ranked)
            text = b"".join(lines) if prefixes or ranked else text
        self._dump.feed(text)
        last = self._dispatch.read(text, prefixes, self._offset - len(text))

        if _RICH in text:
            self._plan(text)
        if len(raw) != len(text) and (last is not None or self._ranks.fed):
            # the same line behind its prefix, or of a rank the last one
            ends = raw.count(b"\n") if last is None else text.count(b"\n", 0, last) + 1
            last = -1
            for _ in range(ends):
                last = raw.find(b"\n", last + 1)
        return None if last is None else last - before

    def _plan(self, text: bytes) -> None:
        """Read the planned steps off a bar of rich that counts the steps of the rows."""
        newest = self._rows.newest
        for found in _RICH_BAR.finditer(text) if newest is not None else ():
            done, total = (int(number.replace(b",", b"") or 0) for number in found.groups())
            if newest is not None and total > 0 and done <= 2 * newest and newest <= 2 * done:
                self._rows.total = total
                return


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
        return any(decoder.has_row for decoder in self._decoders.values())

    def feed(self, lines: Mapping[bytes, Sequence[bytes]]) -> None:
        """Read the lines of each rank."""
        self.fed = bool(lines)
        for rank, own in lines.items():
            if self._chosen is None and len(self._decoders) < _MOST_RANKS:
                decoder = self._decoders.setdefault(rank, ConsoleDecoder(prefixed=False))
            elif self._chosen in (None, rank) and rank in self._decoders:
                decoder = self._decoders[rank]
            else:
                continue
            for line in own if self._chosen is None else (b"".join(own),):
                self._keep(rank, decoder.feed(line, more=True))

    def close(self) -> None:
        """Add the rows that wait for a further line."""
        for rank, decoder in self._decoders.items():
            self._keep(rank, decoder._close())
        if self._chosen is None and self._waiting:
            self._chosen = min(self._waiting, key=int)

    def decoded(self) -> Decoded:
        """Collect the rows of the chosen rank since the last call."""
        if self._chosen is None:
            return Decoded()
        found = self._waiting.pop(self._chosen, Decoded())
        self._waiting.clear()
        return found

    def _keep(self, rank: bytes, decoded: Decoded) -> None:
        if not (decoded.items or decoded.hparams):
            return
        whole = self._waiting[rank] = self._waiting.get(rank, Decoded()).then(decoded)
        if self._chosen is None and (not int(rank) or whole.records >= _ENOUGH):
            self._chosen = rank
