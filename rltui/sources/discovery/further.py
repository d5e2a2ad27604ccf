"""Searches logs for rows further than their first and last bytes, at bounded cost.

Rows of a console log may be parted by any amount of other output. What was searched is not
searched again: a log that grows is searched from where the last search ended.

- Below a directory: of each log the first :data:`FILE_BYTES` and its end, the log that changed
  last first. At most :data:`SEARCH_BYTES` are searched in vain in one search of all logdirs; what
  that leaves is for the next search, up to :data:`ALL_BYTES` in all. Of what a log grows by between
  two searches at most FILE_BYTES.
- A log that the user names: its first :data:`NAMED_BYTES` and its end.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from rltui.files.disk import opened
from rltui.formats import HEAD_BYTES, Format, RowSearch

FILE_BYTES = 8 << 20
SEARCH_BYTES = 32 << 20
ALL_BYTES = 256 << 20
NAMED_BYTES = 256 << 20
_PIECE = 1 << 20
#: Searches that may go on within a line and with the first of two rows; older ones begin anew.
_KEPT = 32


@dataclass(slots=True, eq=False)
class Searched:
    """How far one file has been searched."""

    identity: tuple[int, int]
    size: int = 0
    """Bytes of the file that were searched, left out or are waiting."""
    waiting: list[tuple[int, int]] = field(default_factory=list)
    """What is still to be searched, in bytes from the beginning."""
    rows: RowSearch | None = None
    """The search, which may go on within a line and with the first of two rows."""

    def grew(self, size: int, most: int) -> None:
        """The file has ``size`` bytes now: note what of that is to be searched."""
        begin, self.size = self.size, size
        if size - begin <= most:
            self.waiting.append((begin, size))
        elif not begin:
            self.waiting += [(0, most - HEAD_BYTES), (size - HEAD_BYTES, size)]
        else:
            self.waiting.append((size - most, size))


class FurtherSearch:
    """Owned by one reader of heads; not thread-safe."""

    def __init__(self) -> None:
        self._kept: deque[Searched] = deque()
        """Files whose search may go on, the one that was searched last at the end."""
        self._left = SEARCH_BYTES
        self._in_vain = 0
        """Bytes that were searched below directories without finding a row, all in all."""
        self.unfinished = False
        """Whether the last search has left something for the next one."""
        self.bytes_read = 0
        """Bytes that were searched, all in all."""

    def turn(self) -> None:
        """A search of all logdirs begins."""
        self._left, self.unfinished = SEARCH_BYTES, False

    def finds(
        self, form: Format, path: Path, searched: Searched, size: int, *, named: bool
    ) -> bool:
        """Whether a file holds a row in what has not been searched yet. Raises OSError."""
        grown = size > searched.size > 0
        if size > searched.size:
            searched.grew(size, NAMED_BYTES if named else FILE_BYTES)
        if not named and self._in_vain >= ALL_BYTES:  # only what is new
            searched.waiting = searched.waiting[-1:] if grown else []
        if not searched.waiting:
            return False
        rows, before = self._take_rows(searched) or form.row_search(), self._left
        found = self._search(path, rows, searched, named=named)
        if found:
            self._left = before  # only what is searched in vain is bounded
            return True
        self._in_vain += before - self._left
        searched.rows = rows
        self._kept.append(searched)
        if len(self._kept) > _KEPT:
            self._kept.popleft().rows = None
        return False

    def _take_rows(self, searched: Searched) -> RowSearch | None:
        rows, searched.rows = searched.rows, None
        if rows is not None:
            self._kept.remove(searched)
        return rows

    def _search(self, path: Path, rows: RowSearch, searched: Searched, *, named: bool) -> bool:
        with opened(path) as read:
            while searched.waiting:
                begin, end = searched.waiting[0]
                length = min(_PIECE, end - begin)
                if not named and length > self._left:
                    self.unfinished = True
                    break
                data = read(length, begin)
                self._left -= 0 if named else length
                self.bytes_read += len(data)
                if data and rows.found(data):
                    return True
                if begin + length < end:
                    searched.waiting[0] = (begin + length, end)
                    continue
                searched.waiting.pop(0)
                if searched.waiting and searched.waiting[0][0] != end:
                    rows.found(b"\n")  # what is left out parts two lines
        return False
