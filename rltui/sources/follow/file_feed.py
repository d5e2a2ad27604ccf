"""One log file of a run: tail and decoder together, one Batch per budgeted read."""

from __future__ import annotations

from dataclasses import replace

from rltui.core.batch import Batch, Note, Restart, SourceInfo
from rltui.core.block import Block
from rltui.files.tail import Polled, Tail
from rltui.formats import Decoded, Options
from rltui.sources.discovery.run_files import LogFile, RunFiles
from rltui.sources.follow.feed import Following
from rltui.sources.follow.sample import Limits, overview


class Feed(Following):
    """Owned by the reader. Not thread-safe."""

    def __init__(self, run: RunFiles, file: LogFile, options: Options) -> None:
        assert file.format is not None
        super().__init__(run, file)
        self._format = file.format
        self._options = options
        self._whole = file.format.document
        self._rewritten = not (file.format.restarts or self._whole)
        self.tail = Tail(file.path, whole=self._whole, rewritten=self._rewritten)
        self._decoder = file.format.decoder(options, file.path)

    @property
    def offset(self) -> int:
        """Bytes that were handed over."""
        return self.tail.offset

    @property
    def size(self) -> int:
        """Bytes of the file when it was last looked at; asks nobody."""
        if not self._told:
            return self.file.size
        return self.tail.offset if self.tail.gone else self.tail.size

    @property
    def modified(self) -> float:
        """Change time of the file when it was last looked at; asks nobody."""
        return self.tail.modified or self.file.modified

    def still(self) -> bool:
        """Whether :meth:`read` would bring nothing, as one ``stat`` can tell."""
        return self._told and not self._more and self.tail.still() and not self._decoder.holds_row

    def overview(self, limits: Limits | None = None) -> Batch | None:
        """A sample of the file under the tags of the run, beside :meth:`read` and before it.

        None when reading the file costs no more, or when it cannot be read.
        """
        try:
            found = overview(self.file.path, self._format, self._options, limits)
        except OSError:
            return None
        if found is None or self._whole:
            return None
        source = self._source(found.size, 0, self.modified)
        items = self._items(Decoded(found.blocks))
        return Batch(self.run.key, self.run.path, source, items, more=True, sampled=True)

    def read(self, budget_bytes: int) -> Batch | None:
        """Read what is new; None when nothing is, except for the first time."""
        polled = self.tail.poll(budget_bytes)
        if not polled.changed and self._told and not self._more and not self._decoder.holds_row:
            return None
        if polled.restarted:
            self._decoder = self._format.decoder(self._options, self.file.path)
            self._records = 0
        decoded = Decoded()
        if polled.data or self._decoder.holds_row:
            decoded = self._decoder.feed(polled.data, more=polled.more)
        self._count(decoded)
        new = polled.changed or decoded.items or not self._told or polled.more != self._more
        if not new:
            return None
        self._told, self._more = True, polled.more
        self.read_once = self.read_once or not polled.more
        return self._batch(polled, decoded)

    def _batch(self, polled: Polled, decoded: Decoded) -> Batch:
        tail, path = self.tail, self.file.path
        source = self._source(tail.size, tail.offset, tail.modified)
        items = self._items(decoded)
        replaced = bool(items) if self._whole else self._rewritten and polled.restarted
        notes = [Note(path, None, level, message) for level, message in polled.notes]
        notes += [Note(path, n.offset, n.level, n.message) for n in decoded.notes]
        return Batch(
            self.run.key,
            self.run.path,
            source,
            items,
            decoded.texts,
            decoded.hparams,
            tuple(notes),
            0 if self._whole or self._rewritten else tail.generation,
            tail.gone,
            polled.more,
            replaced=replaced,
            document=self._whole,
            tail=decoded.tail,
            exit_code=decoded.exit_code,
        )

    def _source(self, size: int, offset: int, modified: float) -> SourceInfo:
        form = self._format
        return self._info(form.name, form.exactness, size, offset, modified)

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
