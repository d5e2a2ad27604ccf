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

import codecs
import copy
import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import numpy as np

from rltui.core.address import is_remote
from rltui.core.batch import Batch, Restart, SourceInfo, Sources, blocks_in
from rltui.core.block import Block
from rltui.core.level import Level
from rltui.files import tail_of
from rltui.files.disk import opened, status
from rltui.files.tail import FollowedFile, Polled, Tail
from rltui.files.trouble import contained, reason_of
from rltui.formats.base import Decoded, DecoderNote, Format, Options, Sampler
from rltui.sources.discovery.log_head import WIDE
from rltui.sources.discovery.processes import OpenFiles
from rltui.sources.discovery.run_files import CHECKPOINT, LogFile, RunFiles
from rltui.sources.follow.feed import Feed
from rltui.sources.follow.row_numbers import RowNumbers

_OPEN = OpenFiles()
#: Bytes per batch when a run is read again.
_AGAIN_BYTES = 2 << 20
_HALF_ROW = "last row is not complete yet, left out"

#: What sampling one file may cost: bytes that are read in total, windows, and bytes of a window;
#: more of them where a step is longer, and fewer windows then.
_MOST_BYTES = 16 << 20
_WINDOWS = 100
_WINDOW_BYTES = 1 << 16
#: Bytes read to learn how long a step is, and steps that a window should hold.
_HEAD_BYTES = 1 << 20
_STEPS = 3


class FileFeed(Feed):
    """Follows a file that a log format claims."""

    def __init__(
        self,
        run: RunFiles,
        file: LogFile,
        options: Options,
        tail: FollowedFile | None = None,
        *,
        summed: bool = False,
    ) -> None:
        """``summed``: batches have a checksum."""
        assert file.format is not None
        super().__init__(run, file, file.format)
        self._format = file.format
        self._options = options
        self._whole = file.format.document
        self._rewritten = not (file.format.restarts or self._whole)
        # the HF Trainer deletes old checkpoints (``save_total_limit``), the newest holds them all
        in_checkpoint = CHECKPOINT.fullmatch(file.path.parent.name) is not None
        self.rotates = self._whole and in_checkpoint
        self._has_own_tail = tail is None
        self._tail = tail or self._new_tail(summed=summed)
        self._decoder = file.format.decoder(options, file.path)
        self._wide: codecs.IncrementalDecoder | None = None
        """Decoder of a text in UTF-16."""
        self._grows = False
        """Whether a last row was taken for complete, and has grown."""
        self._left_out = False
        """Whether the last row waits until the file changes."""
        self._anew = False
        """Whether what is read next replaces what was read before."""

    def _new_tail(self, *, summed: bool) -> FollowedFile:
        whole = self._whole
        rewritten = self._rewritten
        return tail_of(self.file.path, whole=whole, rewritten=rewritten, summed=summed)

    def still(self) -> bool:
        if self.given_up:
            return True
        if self.final and not (self.finished or self._left_out):
            return False
        return not self.behind and self._tail.still() and not self._decoder.holds_row

    def sample(self) -> Batch | None:
        """Rows from many places of a large file, under their tags in the run."""
        if self._whole:
            return None

        try:
            with contained():
                found = overview(self.file.path, self._format, self._options)
        except OSError:
            return None

        if found is None:
            return None

        blocks, size = found
        batch = self._batch(Decoded(self._items(blocks)))
        return replace(batch, source=batch.source._replace(size=size), more=True, sampled=True)

    def read(self, budget_bytes: int) -> Batch | None:
        """Read what was appended."""
        if self.given_up:
            return None

        begin = self.offset
        polled = self._tail.poll(budget_bytes)
        if polled.changed:
            self._grows |= self.finished and self._decoder.open_line
            self.finished = self._left_out = False

        waits = self.finished or (self._left_out and not self.wait)
        ends = self.final and not waits
        if not (polled.changed or self.behind or self._decoder.holds_row or ends):
            return None

        decoded = self._fed(polled, begin)
        if self._decoder.torn:
            # from the beginning: a last row was taken for complete and was not
            before = self._tail
            self._tail = self._new_tail(summed=before.summed)
            self._tail.generation = before.generation
            self._decoder = self._format.decoder(self._options, self.file.path)
            self.offset, self._records, self._numbers = 0, 0, RowNumbers()
            self._anew = True
            return self.read(budget_bytes)

        more = polled.more or self._decoder.holds_row  # a packed file is unpacked in pieces
        if ends and not more:
            decoded = decoded.then(self._contained(self._end, self._tail.offset))

        decoded = self._numbers.of(decoded)
        self._count(decoded)
        return self._news(polled, decoded, more=more)

    def _fed(self, polled: Polled, begin: int) -> Decoded:
        """Decode the bytes of one poll, which start at ``begin``."""
        if polled.restarted:
            self._decoder = self._format.decoder(self._options, self.file.path)
            self._records, self._numbers = 0, RowNumbers()
        data = polled.data
        if begin == 0 and data:
            wide = codecs.getincrementaldecoder("utf-16")("replace")
            self._wide = wide if data.startswith(WIDE) else None
        if self._wide is not None:
            data = self._wide.decode(data).encode()
        if not (data or self._decoder.holds_row):
            return Decoded()
        return self._contained(lambda: self._decoder.feed(data, more=polled.more), begin)

    def _news(self, polled: Polled, decoded: Decoded, *, more: bool) -> Batch | None:
        """The batch of what was read, if anything is new."""
        tail = self._tail
        news = polled.changed or decoded.items or decoded.notes
        if not (news or more or self.behind):
            return None

        self._advance(more=more and not self.given_up)
        self.offset = tail.offset
        self.size = tail.offset if tail.gone or self.given_up else tail.size
        self.modified = tail.modified or self.modified

        return replace(
            self._batch(decoded, polled.notes),
            items=self._items(decoded.items),
            generation=0 if self._whole or self._rewritten else tail.generation,
            gone=tail.gone,
            replaced=self._replaces(polled, decoded),
            document=self._whole,
            checksum=self._checksum(),
            finished=self.finished,
        )

    def _checksum(self) -> int | None:
        """The checksum by which another reader can resume here; None where it cannot."""
        known = self._tail.summed and not (self._decoder.holds_row or self.given_up)
        return self._tail.checksum if known else None

    def _end(self) -> Decoded:
        """The last row, if only the end of its line is missing and nobody is writing it."""
        grows = self._grows and not self.wait
        self._left_out = self._decoder.open_line and (grows or self._is_written())
        self.finished = not self._left_out
        if self.finished:
            return self._decoder.finish()

        half = copy.deepcopy(self._decoder).finish()
        if not (self.wait and blocks_in(half.items)):
            return Decoded()
        return Decoded(notes=(DecoderNote(self._tail.offset, Level.WATCH, _HALF_ROW),))

    def _is_written(self) -> bool:
        """Whether a process has the file open for writing, or it has changed since it was found."""
        if is_remote(self.file.path) or not self._has_own_tail:
            return False

        try:
            now = status(self.file.path)
        except OSError:
            return False

        looks = {(self._tail.size, self._tail.modified), (now.st_size, now.st_mtime)}
        if self.file.size and not self.read_once:
            looks.add((self.file.size, self.file.modified))
        return len(looks) > 1 or _OPEN.has(self.file.path)

    def _replaces(self, polled: Polled, decoded: Decoded) -> bool:
        """Whether the points of a batch take the place of all older ones of the file."""
        if self._whole:
            return bool(decoded.items)
        anew = self._anew
        self._anew = False
        return anew or decoded.replaces or (self._rewritten and polled.restarted)

    def _items(self, items: tuple[Block | Restart, ...]) -> tuple[Block | Restart, ...]:
        """The items under the tags that they have in the run."""
        if self.file.hparams_only:
            return ()
        if not self.file.renamed:
            return items
        names = dict(self.file.renamed)
        own = list[Block | Restart]()
        for item in items:
            if isinstance(item, Block):
                tags = tuple(names.get(tag, tag) for tag in item.tags)
                # it may have one of those tags already
                item = replace(item, tags=tags) if len(set(tags)) == len(tags) else item
            own.append(item)
        return tuple(own)


# -- once more ----------------------------------------------------------------------------------


def read_again(
    run: RunFiles,
    sources: Sources,
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
        feed = FileFeed(run, file, options or Options(), _Prefix(file.path, known))
        feed.final = file.path in finished
        while (batch := feed.read(budget_bytes)) is not None:
            yield batch
            if not batch.more:
                break


def rereadable(sources: Iterable[SourceInfo], generations: Iterable[int]) -> bool:
    """Whether the files still hold at least as many bytes as were read, and were never
    rewritten (``generations`` of their newest batches)."""
    try:
        return not any(generations) and all(status(s.path).st_size >= s.offset for s in sources)
    except OSError:
        return False


class _Prefix(Tail):
    """The first bytes of a file, up to a known offset."""

    def __init__(self, path: Path, known: SourceInfo) -> None:
        super().__init__(path)
        self.size = known.offset
        self.modified = known.modified

    def poll(self, budget_bytes: int) -> Polled:
        """The next piece."""
        if 0 < self.size <= self.offset:
            return Polled()

        try:
            with opened(self.path) as read:
                data = read(min(budget_bytes, self.size - self.offset), self.offset)
            failure = "" if data else "cannot be read again: it has become shorter"
        except OSError as error:
            failure = reason_of(error, "cannot be read again")

        if failure:
            return Polled(notes=((Level.WATCH, failure),), changed=True)
        self.offset += len(data)

        return Polled(data, self.offset < self.size, changed=True)


# -- a sample -----------------------------------------------------------------------------------


def overview(path: Path, form: Format, options: Options) -> tuple[tuple[Block, ...], int] | None:
    """Whole rows from many places of a large file, in its order, and its size in bytes; rows of
    equal tags that follow each other are joined.

    None when reading it whole costs no more, or when it cannot be sampled. Raises OSError.
    """
    make = form.sampler()
    if make is None or is_remote(path):
        return None  # many small ranges of a server take as long as all of it

    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        size = os.fstat(descriptor).st_size
        if size <= _MOST_BYTES:
            return None
        if hasattr(os, "posix_fadvise"):
            # reading ahead would read the whole file
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)

        head = os.pread(descriptor, min(_HEAD_BYTES, _MOST_BYTES // 4), 0)
        sampler = make(head, options)
        wide = max(_WINDOW_BYTES, _STEPS * sampler.step_bytes)
        count = min(_WINDOWS, max(1, (_MOST_BYTES - len(head)) // wide))
        first = len(head[:wide])
        last = size - wide
        starts = [max(first, last)]
        if last > first and count > 1:  # evenly, none overlapping
            stride = max(wide, (last - first) // (count - 1))
            starts = [*range(first, last - wide + 1, stride), last]

        blocks = _window_rows(sampler, head[:wide], first=True, last=False)
        for start in starts:
            data = os.pread(descriptor, wide, start)
            blocks += _window_rows(sampler, data, first=False, last=start + len(data) >= size)
    finally:
        os.close(descriptor)
    return _joined(blocks), size


def _window_rows(sampler: Sampler, window: bytes, *, first: bool, last: bool) -> list[Block]:
    """The rows of one window. Where rows may be cut, the first and the last step are left out,
    except where the file begins or ends."""
    begin, end, whole = sampler.rows_in(window, first=first, last=last)
    if begin < 0:
        return []

    decoded = sampler.decoder().feed(window[begin:end])
    if decoded.steps_are_row_numbers or decoded.lanes.tags:  # of the window, not of the file
        return []

    blocks = [b for b in blocks_in(decoded.items) if len(b.steps)]
    if not blocks or whole:
        return blocks

    low = min(int(b.steps.min()) for b in blocks)
    high = max(int(b.steps.max()) for b in blocks)
    kept = []
    for b in blocks:
        rows = (first | (b.steps != low)) & (last | (b.steps != high))
        if rows.any():
            absent = None if b.absent is None else b.absent[rows]
            kept.append(Block(b.tags, b.steps[rows], b.wall_times[rows], b.values[rows], absent))
    return kept


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
