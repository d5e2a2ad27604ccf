"""One log file of a run: tail and decoder together, one Batch per budgeted read."""

from __future__ import annotations

import copy
from dataclasses import replace

from rltui.core.batch import Batch, Restart
from rltui.core.block import Block
from rltui.core.level import Level
from rltui.files.disk import status
from rltui.files.tail import Polled, Tail, Tailing, tail_of
from rltui.files.trouble import contained
from rltui.formats import Decoded, DecoderNote, Format, Options
from rltui.sources.discovery.processes import OpenFiles
from rltui.sources.discovery.run_files import LogFile, RunFiles
from rltui.sources.discovery.tree import in_checkpoint
from rltui.sources.follow.feed import Feed
from rltui.sources.follow.sample import Limits, overview

_OPEN = OpenFiles()
_HALF_ROW = "last row is not complete yet, left out"


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
        tail, begin = self._tail, self.offset
        polled = tail.poll(budget_bytes)
        if polled.changed:
            self._grows = self._grows or (self.finished and self._decoder.open_line)
            self.finished = self._left_out = False
        ends = self.final and not (self.finished or (self._left_out and not self.wait))
        if not (polled.changed or self.behind or self._decoder.holds_row or ends):
            return None
        if polled.restarted:
            self._decoder = self._format.decoder(self._options, self.file.path)
            self._records = 0
        decoded = Decoded()
        if polled.data or self._decoder.holds_row:
            decoded = self._contained(
                lambda: self._decoder.feed(polled.data, more=polled.more), begin
            )
        if self._decoder.torn:
            return self._start_anew(budget_bytes)
        more = polled.more or self._decoder.holds_row  # a packed file is unpacked in pieces
        if ends and not more:
            decoded = decoded.then(self._contained(self._end, tail.offset))
        self._count(decoded)
        news = polled.changed or bool(decoded.items or decoded.notes)
        if not (news or more or not self._begun or more != self._more):
            return None
        self._advance(more=more and not self.given_up)
        self.offset = tail.offset
        self.size = tail.offset if tail.gone or self.given_up else tail.size
        self.modified = tail.modified or self.modified
        return self._changed(polled, decoded)

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

    def _changed(self, polled: Polled, decoded: Decoded) -> Batch:
        items = self._items(decoded)
        return replace(
            self._batch(decoded, polled.notes),
            items=items,
            generation=0 if self._whole or self._rewritten else self._tail.generation,
            gone=self._tail.gone,
            replaced=self._replaces(polled, decoded),
            document=self._whole,
            checksum=self._checksum,
            finished=self.finished,
        )

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
