"""One log file of a run: tail and decoder together, one Batch per budgeted read (floor 2)."""

from __future__ import annotations

from dataclasses import replace

from rltui.core.batch import Batch, Note, Restart, SourceInfo
from rltui.core.block import Block
from rltui.sources.formats import Decoded, Options
from rltui.sources.logdir import LogFile, RunFiles
from rltui.sources.overview import Limits, Overview, overview
from rltui.sources.tail import Polled, Tail


class Feed:
    """Owned by the reader. Not thread-safe."""

    def __init__(self, run: RunFiles, file: LogFile, options: Options) -> None:
        self.run = run
        self.file = file
        self._options = options
        self.tail = Tail(file.path)
        self._decoder = file.format.decoder(options)
        self._records = 0
        self._told = False
        self._more = False
        self.read_once = False
        """Whether it has been read to its end, at least once."""

    @property
    def behind(self) -> bool:
        """Whether it is known to hold more than what was read (as of the last look)."""
        return not self._told or self._more

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

    def overview(self, limits: Limits | None = None) -> Overview | None:
        """A sample of the file under the tags of the run, beside :meth:`read` and before it.

        None when reading the file costs no more, or when it cannot be read.
        """
        try:
            found = overview(self.file.path, self.file.format, self._options, limits)
        except OSError:
            return None
        if found is None:
            return None
        items = self._items(Decoded(found.blocks))
        return replace(found, blocks=tuple(i for i in items if isinstance(i, Block)))

    def read(self, budget_bytes: int) -> Batch | None:
        """Read what is new; None when nothing is, except for the first time."""
        polled = self.tail.poll(budget_bytes)
        if not polled.changed and self._told and not self._more and not self._decoder.holds_row:
            return None
        if polled.restarted:
            self._decoder = self.file.format.decoder(self._options)
            self._records = 0
        decoded = Decoded()
        if polled.data or self._decoder.holds_row:
            decoded = self._decoder.feed(polled.data, more=polled.more)
        self._records += decoded.records
        new = polled.changed or decoded.items or not self._told or polled.more != self._more
        if not new:
            return None
        self._told, self._more = True, polled.more
        self.read_once = self.read_once or not polled.more
        return self._batch(polled, decoded)

    def _batch(self, polled: Polled, decoded: Decoded) -> Batch:
        tail, path = self.tail, self.file.path
        source = SourceInfo(
            path,
            self.file.format.name,
            self.file.order,
            tail.size,
            tail.offset,
            self._records,
            tail.modified,
        )
        notes = [Note(path, None, level, message) for level, message in polled.notes]
        notes += [Note(path, n.offset, n.level, n.message) for n in decoded.notes]
        return Batch(
            self.run.key,
            self.run.path,
            source,
            self._items(decoded),
            decoded.texts,
            decoded.hparams,
            tuple(notes),
            tail.generation,
            tail.gone,
            polled.more,
        )

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
