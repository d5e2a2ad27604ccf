"""Common to the decoders of trackers' logs: records, settings and the end of the console output."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections import deque
from collections.abc import Mapping

from rltui.core.batch import LogTail, Restart, TextPoint
from rltui.core.block import Block
from rltui.formats.base import Decoded, Decoder, NoteBook, clean_tag, clean_text
from rltui.formats.console.terminal_tail import LINE_BYTES, MAX_LINES, shown
from rltui.formats.json_value import parsed
from rltui.formats.protobuf import BYTES, MalformedError, fields, last_fields
from rltui.formats.tracker_log.leveldb import Framing, RecordReader
from rltui.formats.tracker_log.wandb_row import item_of, leaves, name_of

#: Settings kept in total, and characters of a text or list.
_MAX_SETTINGS = 10_000
_MAX_CHARS = 1000

Points = tuple[tuple[Block | Restart, ...], tuple[TextPoint, ...]]


class RunSettings:
    """The settings of a run, flat. Owned by one decoder."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self.new: dict[str, object] = {}
        """Those since the owner took them away; later ones win."""

    def update(self, data: bytes, start: int, stop: int) -> None:
        """Read a ``ConfigRecord``: update 1. Raises MalformedError when it is not one."""
        for number, wire, a, b in fields(data, start, stop):
            if number == 1 and wire == BYTES:
                head, value = item_of(data, a, b)
                name = name_of(head)
                if name and name[0] != b"_wandb":
                    self._add_json(b".".join(name), value)

    def _add_json(self, name: bytes, value: bytes) -> None:
        try:
            found = parsed(value)
        except ValueError:
            return
        for keys, leaf in leaves(found, (), 0):
            whole = b".".join((name, *(k.encode("utf-8", "replace") for k in keys)))
            self._add(clean_tag(whole), leaf)

    def _add(self, name: str, value: object) -> None:
        """Keep a scalar, a text or a short list under a cleaned name."""
        if name not in self._known and len(self._known) >= _MAX_SETTINGS:
            return
        if isinstance(value, list):
            value = json.dumps(value)
        if isinstance(value, str):
            value = clean_text(value[:_MAX_CHARS])
        if isinstance(value, (str, bool, int, float)):
            self._known.add(name)
            self.new[name] = value

    def add_texts(self, names: Mapping[int, str], data: bytes, start: int, stop: int) -> None:
        """Keep the texts of some fields of a message: field number -> name."""
        for (number, wire), (a, b) in last_fields(data, start, stop).items():
            if wire == BYTES and number in names and b > a:
                self._add(names[number], data[a:b].decode("utf-8", "replace"))


class ConsoleOutput:
    """The last lines that the streams of a process wrote. Owned by one decoder."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=MAX_LINES)
        self._partial: dict[int, bytes] = {}
        """The unfinished line of each stream."""
        self.after_row = 0
        """Lines since the last row of metrics."""
        self._new = False

    def write(self, raw: bytes, stream: int = 0) -> None:
        """Add output in any pieces; a line ends at its newline."""
        *lines, partial = raw.split(b"\n")
        for line in lines:
            self._end(self._partial.pop(stream, b"") + line)
        if partial:
            self._partial[stream] = _bounded(self._partial.get(stream, b"") + partial)
        self._new = self._new or bool(raw)

    def line(self, raw: bytes) -> None:
        """Add one whole line or several."""
        for line in raw.split(b"\n"):
            self._end(line)
        self._new = True

    def row(self) -> None:
        """A row of metrics comes here."""
        if self.after_row:
            self.after_row, self._new = 0, True

    def tail(self) -> LogTail | None:
        """The last lines, or None when nothing is new."""
        if not self._new:
            return None
        self._new = False
        begun = [shown(p) for p in self._partial.values()]
        lines = (*self._lines, *begun)[-MAX_LINES:]
        return LogTail(lines, min(len(lines), self.after_row + len(begun)))

    def _end(self, line: bytes) -> None:
        self._lines.append(shown(_bounded(line)))
        self.after_row += 1


def _bounded(line: bytes) -> bytes:
    """The line; of a long one only the beginning of its last state (of a progress bar).

    A trailing carriage return is kept, because the next output replaces the line.
    """
    if len(line) <= LINE_BYTES:
        return line
    states = line.rstrip(b"\r")
    end = b"\r" if len(states) < len(line) else b""
    return states[states.rfind(b"\r") + 1 :][: LINE_BYTES - len(end)] + end


class TrackerDecoder(Decoder):
    """Decodes one file. Not thread-safe."""

    def __init__(self, framing: Framing) -> None:
        self._notes = NoteBook()
        self._reader = RecordReader(framing, self._notes)
        self._settings = RunSettings()
        self._output = ConsoleOutput()
        self._exit_code: int | None = None

    def feed(self, data: bytes, *, more: bool = False) -> Decoded:
        records = self._reader.feed(data)
        self._read_all(records)
        items, texts = self._points()
        broken, self._reader.broken = self._reader.broken, 0
        settings, self._settings.new = self._settings.new, {}
        exit_code, self._exit_code = self._exit_code, None

        return Decoded(
            items,
            texts,
            settings,
            self._notes.take(),
            len(records) + broken,
            self._output.tail(),
            exit_code,
        )

    def _read_all(self, records: list[tuple[int, bytes]]) -> None:
        for offset, record in records:
            self._record(record, offset)

    def _record(self, data: bytes, offset: int) -> None:
        try:
            self._read(data, offset)
        except MalformedError as error:
            self._notes.add(offset, "broken record", str(error))

    @abstractmethod
    def _read(self, data: bytes, offset: int) -> None:
        """Read one record. Raises MalformedError where it is broken, after the fields before."""

    @abstractmethod
    def _points(self) -> Points:
        """Blocks and texts since the last call, in file order."""
