"""Head of a log file: its format, by its first and last bytes, and its steps.

Rows of a console log may be parted by any amount of other output: it is searched further, at
bounded cost. What was searched is not searched again: a log that grows is searched from where the
last search ended.

- Below a directory: of each log the first :data:`FILE_BYTES` and its end, the log that changed
  last first. At most :data:`SEARCH_BYTES` are searched in vain in one search of all logdirs; what
  that leaves is for the next search, up to :data:`ALL_BYTES` in all. Of what a log grows by between
  two searches at most FILE_BYTES.
- A log that the user names: its first :data:`NAMED_BYTES` and its end.
"""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, NamedTuple, Protocol, TypeVar

from rltui.core.address import is_remote
from rltui.core.batch import LogTail, blocks_in
from rltui.core.block import Block
from rltui.files.disk import Status, file_id, opened
from rltui.files.disk import status as status_of
from rltui.files.trouble import GivenUpError, contained
from rltui.formats.base import HEAD_BYTES, Format, Options, RowSearch
from rltui.formats.line_decoder import own_output
from rltui.sources.discovery.places import unrotated

K = TypeVar("K")
V = TypeVar("V")
FILE_BYTES = 8 << 20
SEARCH_BYTES = 32 << 20
ALL_BYTES = 256 << 20
NAMED_BYTES = 256 << 20
_PIECE = 1 << 20
#: Searches that may go on within a line and with the first of two rows; older ones begin anew.
_KEPT = 32
#: Bytes of a log's beginning and end in which its first and last step are looked for; of a file
#: elsewhere first those, and more of its beginning if they show none.
_SPAN_BYTES = 1 << 20
_REMOTE_SPAN_BYTES = 1 << 14
#: Rows of each block of a log's beginning, and values of all, that are kept to be compared.
_OPENING_ROWS, _OPENING_VALUES = 20, 400
#: Rows after which another training begins at most, for want of an earlier row.
_STRIDES = 2
#: Above any step.
_ENDLESS = 1 << 62
#: How a text in UTF-16 begins, as Windows shells write it.
WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
#: This many zeros at the end of what was read are bytes that have not arrived yet.
_GAP_BYTES = 16


class Recent(Generic[K, V]):
    """Entries that were read or written since the last but one :meth:`begin_search`."""

    def __init__(self) -> None:
        self._entries: dict[K, V] = {}
        self._before: dict[K, V] = {}

    def __setitem__(self, key: K, value: V) -> None:
        self._entries[key] = value

    def get(self, key: K) -> V | None:
        """The entry, which is then kept; None when there is none."""
        found = self._entries.get(key)
        if found is None:
            found = self._before.pop(key, None)
            if found is not None:
                self._entries[key] = found
        return found

    def items(self) -> list[tuple[K, V]]:
        """Entries of the current search."""
        return list(self._entries.items())

    def begin_search(self) -> None:
        """A search begins: forget what the last one did not ask for."""
        self._before, self._entries = self._entries, {}


class EndSigns(Protocol):
    """Knows the logs of jobs that died before their first row."""

    def may_show(self, name: str, end: bytes) -> bool:
        """A cheap test of the last bytes of a log; False rules it out."""

    def show(self, name: str, tail: LogTail, *, named: bool) -> bool:
        """Whether a log of this base name ended because its job died; ``named``: the user has
        named it."""


class Claim(NamedTuple):
    """The answer of a format about a file."""

    claimed: bool = False
    decided: bool = False
    """Whether further bytes cannot change the answer."""
    reason: str = ""
    """Why it is not claimed, for people."""
    rowless: bool = False
    """Whether it is claimed only because it ends like the log of a job that died."""
    failed: bool = False
    """Whether the format failed on it, for ``reason``."""
    own: bool = False
    """Whether rltui wrote it: see :mod:`~rltui.formats.figure_lines.own_output`."""
    lost: bool = False
    """Whether it looks like the log of a training, although it is not claimed."""
    beside: bool = False
    """Whether it belongs to a run that lies beside it."""


_UNKNOWN = Claim()


class Opening(NamedTuple):
    """How a log begins, and where it ends."""

    first: int
    """Step."""
    last: int
    """Step; that of a binary log that was not read to its end is unknown, above all others."""
    counts_rows: bool
    """Whether its steps are row numbers."""
    rows: dict[tuple[str, int], float]
    """The values in its first rows, by tag and step."""

    @property
    def tags(self) -> frozenset[str]:
        """Tags in the first rows."""
        return frozenset(tag for tag, _ in self.rows)

    def goes_on_from(self, other: Opening) -> bool:
        """Whether it begins at a step within another log or behind its end, too far from where that
        began to be another training with rows of its own."""
        steps = sorted({step for _, step in self.rows})
        stride = (steps[-1] - steps[0]) // (len(steps) - 1) if len(steps) > 1 else self.first
        return other.first + _STRIDES * stride < self.first <= other.last + 1

    def until(self, last: int) -> Opening:
        """The beginning of a log that has gone on to a step."""
        return self._replace(last=max(self.last, last))

    def is_of(self, other: Opening, least: int) -> bool:
        """Whether another log has the same rows, of which ``least`` values or more differ."""
        shared = self.rows.keys() & other.rows.keys()
        if 2 * len(shared) <= min(len(self.rows), len(other.rows)):
            return False
        same = all(self.rows[key] == other.rows[key] for key in shared)
        return same and len({self.rows[key] for key in shared}) >= least


@dataclass(slots=True, eq=False)
class _Searched:
    """How far one file has been searched for a row between its beginning and its end."""

    identity: tuple[int, int]
    """Device and inode."""
    size: int = 0
    """Bytes of the file that were searched, left out or are waiting."""
    waiting: list[tuple[int, int]] = field(default_factory=list)
    """Ranges still to be searched, in bytes from the beginning."""
    rows: RowSearch | None = None
    """The search, which may go on within a line and with the first of two rows."""


class HeadReader:
    """Reads the beginnings of files, each only until it is decided. Not thread-safe."""

    def __init__(self, options: Options, ends: EndSigns | None = None) -> None:
        """``ends``: logs without rows that end like this are logs of runs, too."""
        self.opens = 0
        """Files that were opened to learn whether a format claims them."""
        self.unfinished = False
        """Whether the last search has left parts of logs for the next one."""
        self.searched_bytes = 0
        """Bytes between beginning and end that were searched, all in all."""
        self._options = options
        self._ends = ends
        self._newest: tuple[tuple[str, int, int, int, int], bytes] | None = None
        """State and first bytes of the file that was read last."""
        self._claims: Recent[tuple[str, str], tuple[tuple[int, int], int, Claim]] = Recent()
        """By format and path: device, inode and size of the file, and the answer."""
        self._titles: Recent[Path, str] = Recent()
        self._spans: Recent[Path, tuple[int, Opening | None]] = Recent()
        self._searched: Recent[Path, _Searched] = Recent()
        self._kept: deque[_Searched] = deque()
        """Files whose search may go on, the one that was searched last at the end."""
        self._left = SEARCH_BYTES
        self._in_vain = 0
        """Bytes that were searched below directories without finding a row, all in all."""

    def begin_search(self) -> None:
        """Begin a search of all logdirs: forget files that the last one did not see."""
        for known in (self._claims, self._titles, self._spans, self._searched):
            known.begin_search()
        self._left, self.unfinished = SEARCH_BYTES, False

    def format_of(
        self, forms: Iterable[Format], path: Path, status: Status, *, named: bool = False
    ) -> Format | None:
        """The first format that claims a file, by its beginning and its end; ``named``: the user
        has named it. Raises OSError when it cannot be read, GivenUpError when a format fails."""

        def judge(form: Format) -> Claim:
            return self._judge(form, path, status, named)

        return next((f for f in forms if self._claims_as(f, path, status, judge)), None)

    def format_of_stranger(
        self, forms: Iterable[Format], path: Path, status: Status
    ) -> Format | None:
        """Format of a file whose name says nothing: its content must plainly be of it."""

        def judge(form: Format) -> Claim:
            head = self._head(path, status)
            claimed = not own_output(head) and form.is_plainly(head)
            if not claimed and status.st_size > HEAD_BYTES and b"\0" not in head:
                claimed = form.is_plainly(_read_end(path, status.st_size))
            return Claim(claimed)

        return next((f for f in forms if self._claims_as(f, path, status, judge)), None)

    def format_between(
        self, forms: Iterable[Format], path: Path, status: Status, *, named: bool = False
    ) -> Format | None:
        """The format of which there is a row between beginning and end of a file, which
        :meth:`format_of` has searched. Below a directory elsewhere that costs too much: None.

        Raises OSError."""
        size, identity = status.st_size, file_id(status)
        if size <= HEAD_BYTES or (is_remote(path) and not named):
            return None

        for form in forms:
            if not form.anywhere or self.answer(form, path).own:
                continue

            searched = self._searched.get(path)
            if searched is None or searched.identity != identity or searched.size > size:
                searched = self._searched[path] = _Searched(identity)
            with self._given_up_once(form, path, status):
                found = self._finds(form, path, searched, size, named=named)
            if found:
                self._claims[form.name, str(path)] = identity, size, Claim(True, True)
                return form
        return None

    def title(self, form: Format, path: Path, status: Status) -> str:
        """The name that a log gives to its run; empty without one, and where it cannot be read."""
        if not form.named_by_id:
            return ""
        title = self._titles.get(path) or ""
        with suppress(OSError), contained():
            title = title or form.title_in(self._head(path, status))
        if title:
            self._titles[path] = title
        return title

    def answer(self, form: Format, path: Path) -> Claim:
        """The newest answer of a format about a file."""
        known = self._claims.get((form.name, str(path)))
        return _UNKNOWN if known is None else known[2]

    def _claims_as(
        self, form: Format, path: Path, status: Status, judge: Callable[[Format], Claim]
    ) -> bool:
        # the path, too: systems give the inode of a deleted file to the next one
        key, identity = (form.name, str(path)), file_id(status)
        known = self._claims.get(key)
        if known is not None and known[0] == identity:
            _, size, claim = known
            same = size == status.st_size
            if claim.claimed or same or (claim.decided and status.st_size > size):
                if claim.failed:
                    raise GivenUpError(claim.reason)
                return claim.claimed

        with self._given_up_once(form, path, status):
            found = judge(form)

        self._claims[key] = identity, status.st_size, found
        return found.claimed

    @contextmanager
    def _given_up_once(self, form: Format, path: Path, status: Status) -> Iterator[None]:
        """Ask a format that fails on a file no more about it."""
        try:
            with contained():
                yield
        except GivenUpError as error:
            failed = Claim(False, True, str(error), failed=True)
            self._claims[form.name, str(path)] = file_id(status), status.st_size, failed
            raise

    def _judge(self, form: Format, path: Path, status: Status, named: bool) -> Claim:
        head = b"" if form.name_decides else self._head(path, status)
        named_as = unrotated(path)[0]
        own = own_output(head)
        if own:
            return Claim(False, True, own, own=True)

        claimed = form.claims(named_as, head, self._options)
        rowless, end = False, head
        if not claimed and form.anywhere:
            if status.st_size > HEAD_BYTES:
                end = _read_end(path, status.st_size)
                claimed = form.claims(named_as, end, self._options)
            rowless = not claimed and self._died(form, path, end, end, named)
        elif not claimed and status.st_size <= HEAD_BYTES and (text := form.packed_text(head)):
            rowless = self._died(form, path, head, text, named)

        if claimed or rowless:
            beside = form.beside is not None and form.beside.search(path.name) is not None
            if beside:  # by its name; so are its rows, if they are none of a training
                decoded = form.decoder(self._options, path).feed(end, more=True)
                tags = {b.tags[0] for b in blocks_in(decoded.items)}
                beside = bool(tags) and tags <= decoded.lanes.tags
            return Claim(True, True, rowless=rowless, beside=beside)

        found = form.refusal(head, self._options)
        if not found.lost and end is not head:
            at_end = form.refusal(end, self._options)
            if at_end.lost:
                found = at_end._replace(reason=f"near its end {at_end.reason}")
        return Claim(False, found.final, found.reason, lost=found.lost)

    def _died(self, form: Format, path: Path, data: bytes, end: bytes, named: bool) -> bool:
        """Whether a log without rows is that of a job that died; ``data``: its last bytes, which
        hold the text ``end``."""
        ends = self._ends
        name = path.name.removesuffix(".gz")
        if ends is None or not end or not (named or ends.may_show(name, end)):
            return False
        tail = form.decoder(self._options, path).feed(data).tail
        return tail is not None and ends.show(name, tail, named=named)

    def _head(self, path: Path, status: Status) -> bytes:
        """The first bytes of a file; several formats may ask for them in turn."""
        state = (str(path), status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        if self._newest is None or self._newest[0] != state:
            self.opens += 1
            self._newest = state, read_head(path)
        return self._newest[1]

    # -- between beginning and end ------------------------------------------------------------

    def _finds(
        self, form: Format, path: Path, searched: _Searched, size: int, *, named: bool
    ) -> bool:
        """Whether a file holds a row in what has not been searched yet. Raises OSError."""
        begin = searched.size
        most = NAMED_BYTES if named else FILE_BYTES
        if size > begin:
            searched.size = size
            if size - begin <= most:
                searched.waiting.append((begin, size))
            elif begin:
                searched.waiting.append((size - most, size))
            else:
                searched.waiting += [(0, most - HEAD_BYTES), (size - HEAD_BYTES, size)]

        if not named and self._in_vain >= ALL_BYTES:  # only what is new
            searched.waiting = searched.waiting[-1:] if size > begin > 0 else []
        if not searched.waiting:
            return False

        rows = searched.rows
        searched.rows = None
        if rows is not None:
            self._kept.remove(searched)

        rows = rows or form.row_search()
        before = self._left
        if self._search(path, rows, searched, named=named):
            self._left = before  # only what is searched in vain is bounded
            return True

        self._in_vain += before - self._left
        searched.rows = rows
        self._kept.append(searched)
        if len(self._kept) > _KEPT:
            self._kept.popleft().rows = None
        return False

    def _search(self, path: Path, rows: RowSearch, searched: _Searched, *, named: bool) -> bool:
        with opened(path) as read:
            while searched.waiting:
                begin, end = searched.waiting[0]
                length = min(_PIECE, end - begin)
                if not named and length > self._left:
                    self.unfinished = True
                    break

                data = read(length, begin)
                self._left -= 0 if named else length
                self.searched_bytes += len(data)
                if data and rows(data):
                    return True
                if begin + length < end:
                    searched.waiting[0] = (begin + length, end)
                    continue
                searched.waiting.pop(0)
                if searched.waiting and searched.waiting[0][0] != end:
                    rows(b"\n")  # what is left out parts two lines
        return False

    # -- steps --------------------------------------------------------------------------------

    def opening(self, path: Path, form: Format) -> Opening | None:
        """First rows, first and last step of a log, by its beginning and its end; None when they
        show none, or when it cannot be read."""
        known = self._spans.get(path)
        try:
            size = status_of(path).st_size
            if known is not None and known[0] != size and known[1] is None and is_remote(path):
                # without a step so far: wait until it doubles, or all of its beginning was read
                waits = size < 2 * known[0] or known[0] >= _SPAN_BYTES
                if waits and known[0] < size:
                    return None
            if known is None or known[0] != size:
                known = self._spans[path] = size, self._read_opening(path, form, size, known)
        except OSError:
            return None
        return known[1]

    def _read_opening(
        self, path: Path, form: Format, size: int, known: tuple[int, Opening | None] | None
    ) -> Opening | None:
        """See :meth:`opening`. Of a file elsewhere little is read, more only if that shows no step:
        many trainings print all settings first. If it has grown, only the end is read again."""
        remote = is_remote(path)
        least = _REMOTE_SPAN_BYTES if remote else _SPAN_BYTES
        if form.name_decides:  # its end cannot be read alone, and many such files lie about
            least = min(least, HEAD_BYTES)
        if known is not None and known[1] is not None and known[0] < size and remote:
            before = known[1]
            found = self._opening_in([_read_end(path, size, least)], path, form)
            return before if found is None else before.until(found.last)

        for head in (least, _SPAN_BYTES) if least < min(size, _SPAN_BYTES) else (least,):
            found = self._opening_in(_ends(path, size, head, least), path, form)
            if found is not None:
                return found
        return None

    def _opening_in(self, pieces: Iterable[bytes], path: Path, form: Format) -> Opening | None:
        found: Opening | None = None
        with contained():
            for piece in pieces:
                decoded = form.decoder(self._options, path).feed(piece)
                blocks = [b for b in blocks_in(decoded.items) if len(b.steps)]
                last = max((int(b.steps[-1]) for b in blocks), default=0)
                if found is None and blocks:
                    counts_rows = decoded.steps_are_row_numbers
                    found = Opening(int(blocks[0].steps[0]), last, counts_rows, _rows(blocks))
                elif found is None:
                    return None
                else:
                    found = found.until(_ENDLESS if b"\0" in piece else last)
        return found


def _rows(blocks: Iterable[Block]) -> dict[tuple[str, int], float]:
    """The values in the first rows of some blocks, by tag and step."""
    found: dict[tuple[str, int], float] = {}
    for block in blocks:
        for row in range(min(len(block.steps), _OPENING_ROWS)):
            for tag, value in zip(block.tags, block.values[row].tolist(), strict=True):
                if len(found) < _OPENING_VALUES:
                    found.setdefault((tag, int(block.steps[row])), value)
    return found


def _ends(path: Path, size: int, head: int, end: int) -> Iterator[bytes]:
    """The beginning of a file, and its end if that lies further on; read when asked for."""
    yield read_head(path, head)
    if size > head:
        yield _read_end(path, size, end)


def read_head(path: Path, size: int = HEAD_BYTES) -> bytes:
    """The first bytes of a file; without zeros that NFS shows at their end. Raises OSError."""
    with opened(path) as read:
        data = read(size, 0)
    if data.startswith(WIDE):
        return data.decode("utf-16", "ignore").encode()
    return data.rstrip(b"\0") if data.endswith(bytes(_GAP_BYTES)) else data


def _read_end(path: Path, size: int, wanted: int = HEAD_BYTES) -> bytes:
    """The last whole lines of a file. Raises OSError."""
    with opened(path) as read:
        return read(wanted, max(0, size - wanted)).partition(b"\n")[2]
