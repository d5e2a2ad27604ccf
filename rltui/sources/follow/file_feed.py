"""One log file of a run: tail and decoder together, one Batch per budgeted read.

:func:`read_again` reads a run once more, after the store has dropped its points to save memory. The
reader goes on as if nothing had happened: what is read again ends exactly where the newest batch in
the store ended, and the batches that follow continue there. So a run may be dropped and read again
at any time, on any thread, unless

- it has not been read to its end yet (the decoder may hold a row back), or
- one of its files has vanished or was rewritten: then its older points are nowhere else.

:func:`overview` samples a file of gigabytes before it is read: windows at equal distances, the last
one at its end, each decoded on its own (see :class:`rltui.formats.base.Sampler`); rows that a
window cuts are left out. The result shows the course and the newest values; no verdict may rest on
it, and it has no restarts. The full read replaces it.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import numpy as np

from rltui.core.address import is_remote
from rltui.core.batch import Batch, Restart, SourceInfo
from rltui.core.block import Block, IntArray
from rltui.core.level import Level
from rltui.files import tail_of
from rltui.files.disk import opened, status
from rltui.files.tail import Polled, Tail, Tailing
from rltui.files.trouble import contained, reason_of
from rltui.formats import Decoded, DecoderNote, Format, Options, Sampler
from rltui.sources.discovery.processes import OpenFiles
from rltui.sources.discovery.run_files import LogFile, RunFiles, in_checkpoint
from rltui.sources.follow.feed import Feed

_OPEN = OpenFiles()
#: Bytes per batch when a run is read again.
_AGAIN_BYTES = 2 << 20
_HALF_ROW = "last row is not complete yet, left out"
#: ``read(position, size)`` returns the bytes of a file there, fewer at its end.
Read = Callable[[int, int], bytes]
#: Bytes read to learn how long a step is.
_HEAD_BYTES = 1 << 20
#: Steps that a window should hold.
_STEPS = 3


@dataclass(frozen=True, slots=True)
class Limits:
    """What sampling one file may cost."""

    windows: int = 100
    window_bytes: int = 1 << 16
    """Bytes of a window; more where a step is longer than that."""
    most_bytes: int = 16 << 20
    """Bytes that are read in total; fewer windows where they are longer."""


@dataclass(frozen=True, slots=True)
class Overview:
    """The sample of one file."""

    blocks: tuple[Block, ...] = ()
    """Whole rows in the order of the file; rows of equal tags that follow each other joined."""
    bytes_read: int = 0
    size: int = 0
    """Bytes of the file."""


class FileFeed(Feed):
    """Follows a file that a log format claims."""

    def __init__(
        self,
        run: RunFiles,
        file: LogFile,
        options: Options,
        tail: Tailing | None = None,
        *,
        summed: bool = False,
    ) -> None:
        """``summed``: batches have a checksum."""
        assert file.format is not None
        super().__init__(run, file)
        self._format = file.format
        self._options = options
        self._whole = file.format.document
        self._rewritten = not (file.format.restarts or self._whole)
        self._has_own_tail = tail is None
        self._tail = tail or self._new_tail(summed=summed)
        self._decoder = file.format.decoder(options, file.path)
        self._grows = False
        """Whether a last row was taken for complete, and has grown."""
        self._left_out = False
        """Whether the last row waits until the file changes."""
        self._anew = False
        """Whether what is read next replaces what was read before."""

    def _new_tail(self, *, summed: bool) -> Tailing:
        whole, rewritten = self._whole, self._rewritten
        return tail_of(self.file.path, whole=whole, rewritten=rewritten, summed=summed)

    @property
    def _owner(self) -> Format:
        return self._format

    @property
    def rotates(self) -> bool:
        """True for a document in a checkpoint: the HF Trainer deletes old ones
        (``save_total_limit``), and the newest holds all of them."""
        return self._whole and in_checkpoint(self.file.path)

    def still(self) -> bool:
        """Whether :meth:`read` would certainly return None; costs one ``stat``."""
        if self.given_up:
            return True
        if self.final and not (self.finished or self._left_out):
            return False
        return not self.behind and self._tail.still() and not self._decoder.holds_row

    def sample(self, limits: Limits | None = None) -> Batch | None:
        """Rows from many places of a large file, under their tags in the run."""
        if self._whole:
            return None
        try:
            with contained():
                found = overview(self.file.path, self._format, self._options, limits)
        except OSError:
            return None

        if found is None:
            return None
        decoded = Decoded(found.blocks)
        batch = self._batch(decoded)
        source = replace(batch.source, size=found.size)
        items = self._items(decoded)
        return replace(batch, source=source, items=items, more=True, sampled=True)

    def read(self, budget_bytes: int) -> Batch | None:
        """Read what was appended."""
        if self.given_up:
            return None
        begin, polled = self.offset, self._tail.poll(budget_bytes)
        if polled.changed:
            self._grows |= self.finished and self._decoder.open_line
            self.finished = self._left_out = False

        ends = self.final and not (self.finished or (self._left_out and not self.wait))
        if not (polled.changed or self.behind or self._decoder.holds_row or ends):
            return None
        decoded = self._fed(polled, begin)
        if self._decoder.torn:
            return self._start_anew(budget_bytes)
        more = polled.more or self._decoder.holds_row  # a packed file is unpacked in pieces
        if ends and not more:
            decoded = decoded.then(self._contained(self._end, self._tail.offset))
        self._count(decoded)
        return self._news(polled, decoded, more=more)

    def _fed(self, polled: Polled, begin: int) -> Decoded:
        """What the decoder makes of the bytes of one poll, which begin there."""
        if polled.restarted:
            self._decoder = self._format.decoder(self._options, self.file.path)
            self._records = 0
        if not (polled.data or self._decoder.holds_row):
            return Decoded()
        return self._contained(lambda: self._decoder.feed(polled.data, more=polled.more), begin)

    def _news(self, polled: Polled, decoded: Decoded, *, more: bool) -> Batch | None:
        """What was read, if anything is new."""
        tail, news = self._tail, polled.changed or bool(decoded.items or decoded.notes)
        if not (news or more or not self._begun or more != self._more):
            return None
        self._advance(more=more and not self.given_up)
        self.offset = tail.offset
        self.size = tail.offset if tail.gone or self.given_up else tail.size
        self.modified = tail.modified or self.modified

        return replace(
            self._batch(decoded, polled.notes),
            items=self._items(decoded),
            generation=0 if self._whole or self._rewritten else tail.generation,
            gone=tail.gone,
            replaced=self._replaces(polled, decoded),
            document=self._whole,
            checksum=self._checksum,
            finished=self.finished,
        )

    def _end(self) -> Decoded:
        """The last row, if only the end of its line is missing and nobody is writing it."""
        grows = self._grows and not self.wait
        self._left_out = self._decoder.open_line and (grows or self._is_written())
        self.finished = not self._left_out
        if self.finished:
            return self._decoder.finish()
        half = copy.deepcopy(self._decoder).finish()
        if not (self.wait and any(isinstance(item, Block) for item in half.items)):
            return Decoded()
        return Decoded(notes=(DecoderNote(self._tail.offset, Level.WATCH, _HALF_ROW),))

    def _is_written(self) -> bool:
        """Whether a process has the file open for writing, or it has changed since it was found."""
        if not isinstance(self._tail, Tail) or not self._has_own_tail:
            return False
        read = self._tail.size, self._tail.modified
        try:
            now = status(self.file.path)
        except OSError:
            return False
        looks = {read, (now.st_size, now.st_mtime)}
        if self.file.size and not self.read_once:
            looks.add((self.file.size, self.file.modified))

        return len(looks) > 1 or _OPEN.has(self.file.path)

    def _start_anew(self, budget_bytes: int) -> Batch | None:
        """Read the file from its beginning: a last row was taken for complete and was not."""
        before = self._tail
        self._tail = self._new_tail(summed=isinstance(before, Tail) and before.summed)
        self._tail.generation = before.generation
        self._decoder = self._format.decoder(self._options, self.file.path)
        self.offset = self._records = 0
        self._anew = True
        return self.read(budget_bytes)

    @property
    def _checksum(self) -> int | None:
        """By which another reader that has read as many bytes can go on from here."""
        tail = self._tail
        if not (isinstance(tail, Tail) and tail.summed) or self._decoder.holds_row:
            return None
        return None if self.given_up else tail.checksum

    def _replaces(self, polled: Polled, decoded: Decoded) -> bool:
        """Whether the points of a batch take the place of all older ones of the file."""
        if self._whole:
            return bool(decoded.items)
        anew, self._anew = self._anew, False
        return anew or decoded.replaces or (self._rewritten and polled.restarted)

    def _items(self, decoded: Decoded) -> tuple[Block | Restart, ...]:
        """The items under the tags that they have in the run."""
        if self.file.hparams_only:
            return ()
        if self.file.series is None:
            return decoded.items
        main, series = self.file.series
        return tuple(_renamed(i, main, f"{main}/{series}") for i in decoded.items)


def _renamed(item: Block | Restart, tag: str, name: str) -> Block | Restart:
    if isinstance(item, Restart) or tag not in item.tags or name in item.tags:
        return item
    return replace(item, tags=tuple(name if t == tag else t for t in item.tags))


def read_again(
    run: RunFiles,
    sources: Mapping[Path, SourceInfo],
    options: Options | None = None,
    budget_bytes: int = _AGAIN_BYTES,
    finished: Collection[Path] = (),
) -> Iterator[Batch]:
    """The batches of ``run``, file by file, oldest first, up to the offsets in ``sources``.

    ``finished`` are the files whose last line was read without its end. ``sources`` are those of
    the store; a file that is not among them is left out. A file that
    cannot be read, or holds less than was read, gives a batch with a note.
    """
    for file in sorted(run.files, key=lambda f: f.order):
        known = sources.get(file.path)
        if known is None or not known.offset:
            continue
        prefix = _Prefix(file.path, known)
        feed = FileFeed(run, file, options or Options(), prefix)
        feed.final = file.path in finished
        while (batch := feed.read(budget_bytes)) is not None:
            yield batch
            if not batch.more:
                break


def rereadable(sources: Iterable[SourceInfo], generations: Iterable[int]) -> bool:
    """Whether the files still hold at least as many bytes as were read, and were never
    rewritten (``generations`` of their newest batches)."""
    return not any(generations) and all(_size(s.path) >= s.offset for s in sources)


def _size(path: Path) -> int:
    try:
        return status(path).st_size
    except OSError:
        return -1


class _Prefix(Tail):
    """The first bytes of a file, up to a known offset."""

    def __init__(self, path: Path, known: SourceInfo) -> None:
        super().__init__(path)
        self.size, self.modified = known.offset, known.modified

    def poll(self, budget_bytes: int) -> Polled:
        """The next piece."""
        if 0 < self.size <= self.offset:
            return Polled()
        try:
            with opened(self.path) as read:
                data = read(min(budget_bytes, self.size - self.offset), self.offset)
        except OSError as error:
            return _failed(reason_of(error, "cannot be read again"))
        if not data:
            return _failed("cannot be read again: it has become shorter")
        self.offset += len(data)

        return Polled(data, self.offset < self.size, changed=True)


def _failed(message: str) -> Polled:
    return Polled(notes=((Level.WATCH, message),), changed=True)


def overview(
    path: Path, form: Format, options: Options | None = None, limits: Limits | None = None
) -> Overview | None:
    """Sample a file; None when reading it whole costs no more, or when it cannot be sampled.

    Raises OSError.
    """
    if form.sampler() is None or is_remote(path):
        return None  # many small ranges of a server take as long as all of it
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        size = os.fstat(descriptor).st_size
        if hasattr(os, "posix_fadvise"):
            # reading ahead would read the whole file
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
        return sample(lambda pos, n: os.pread(descriptor, n, pos), size, form, options, limits)
    finally:
        os.close(descriptor)


def sample(
    read: Read,
    size: int,
    form: Format,
    options: Options | None = None,
    limits: Limits | None = None,
) -> Overview | None:
    """Sample ``size`` bytes that ``read`` returns; None when all of them may be read."""
    limits = limits or Limits()
    if size <= limits.most_bytes:
        return None
    make = form.sampler()
    if make is None:
        return None
    head = read(0, min(_HEAD_BYTES, limits.most_bytes // 4))
    sampler = make(head, options or Options())
    wide = max(limits.window_bytes, _STEPS * sampler.step_bytes)
    count = min(limits.windows, max(1, (limits.most_bytes - len(head)) // wide))
    first = head[:wide]
    blocks = _decode(sampler, first, first=True, last=False)
    taken = len(head)
    for start in _places(size, wide, count, len(first)):
        data = read(start, wide)
        taken += len(data)
        blocks += _decode(sampler, data, first=False, last=start + len(data) >= size)

    return Overview(_joined(blocks), taken, size)


def _places(size: int, wide: int, count: int, begin: int) -> list[int]:
    """Where windows begin: evenly behind ``begin``, the last one at the end; none overlap."""
    last = size - wide
    if last <= begin or count < 2:
        return [max(begin, last)]
    stride = max(wide, (last - begin) // (count - 1))
    return [*range(begin, last - wide + 1, stride), last]


def _decode(sampler: Sampler, window: bytes, *, first: bool, last: bool) -> list[Block]:
    """The rows of one window. Where rows may be cut, the first and the last step are left out,
    except where the file ends."""
    begin, end, whole = sampler.rows_in(window, first=first, last=last)
    if begin < 0:
        return []
    decoded = sampler.decoder().feed(window[begin:end])
    if decoded.steps_are_row_numbers:  # of the window, not of the file
        return []
    blocks = [i for i in decoded.items if isinstance(i, Block) and len(i.steps)]
    if not blocks or whole:
        return blocks
    low = min(int(b.steps.min()) for b in blocks)
    high = max(int(b.steps.max()) for b in blocks)
    kept = []
    for block in blocks:
        rows = block.steps != low
        if not last:
            rows &= block.steps != high
        if rows.all():
            kept.append(block)
        elif rows.any():
            kept.append(_rows_of(block, rows.nonzero()[0]))

    return kept


def _rows_of(block: Block, rows: IntArray) -> Block:
    absent = None if block.absent is None else block.absent[rows]
    return Block(block.tags, block.steps[rows], block.wall_times[rows], block.values[rows], absent)


def _joined(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Blocks of equal tags that follow each other as one."""

    def kind(block: Block) -> object:
        return block.tags, block.values.dtype, block.absent is None

    out = []
    for _, group in groupby(blocks, kind):
        same = list(group)
        absents = [b.absent for b in same if b.absent is not None]
        out.append(
            Block(
                same[0].tags,
                np.concatenate([b.steps for b in same]),
                np.concatenate([b.wall_times for b in same]),
                np.concatenate([b.values for b in same]),
                np.concatenate(absents) if absents else None,
            )
        )
    return tuple(out)
