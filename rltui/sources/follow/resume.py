"""Resumes reading where a reader in another process ended.

A decoder has state, so a file is read again from its start, but nothing of what was handed over
before is handed over again: not the bytes up to the known offset, as long as their checksum is
the same. A file that has other bytes there was written anew meanwhile; its content follows as a
later generation, or replaces the older points. So does that of a store, always.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from rltui.core.batch import Batch, Note, RunKey
from rltui.core.level import Level
from rltui.files.tail import Polled, Tail
from rltui.files.trouble import DELETED
from rltui.formats.base import Decoded, Options
from rltui.sources.discovery.run_files import LogFile, RunFiles
from rltui.sources.follow.feed import Feed, TrackerFeed
from rltui.sources.follow.file_feed import FileFeed

#: Polls that must find a file shorter than it was until it counts as written anew.
_PATIENCE = 8
_WRITTEN_ANEW = "was written anew while it was not watched; read again from its start"


def without_content(batch: Batch) -> Batch:
    """A batch without its content: what another reader needs to resume after it."""
    bare = replace(batch, items=(), texts=(), hparams={}, notes=(), tail=None, exit_code=None)
    return replace(bare, replaced=False, media=())  # it would take the points away


def says_something(batch: Batch) -> bool:
    """Whether a batch must be sent: it says more than that a piece of a file has no row."""
    news = (batch.items, batch.notes, batch.texts, batch.media, batch.hparams, batch.replaced)
    return any(news) or batch.tail is not None or batch.gone or not batch.more


class HandedOver:
    """The newest batch of each file, without content. Not thread-safe."""

    def __init__(self, batches: Iterable[Batch] = ()) -> None:
        self._batches: dict[tuple[RunKey, str], Batch] = {}
        self._awaited: dict[tuple[RunKey, str], Batch] = {}
        for batch in batches:
            self.note(batch)

    def __iter__(self) -> Iterator[Batch]:
        return iter(self._batches.values())

    def note(self, batch: Batch) -> None:
        """Note a batch that was handed over."""
        if not batch.sampled:
            key = batch.run, str(batch.source.path)
            self._batches.pop(key, None)  # the newest is the last
            self._batches[key] = self._awaited[key] = without_content(batch)

    def by_run(self) -> list[tuple[RunKey, list[Batch]]]:
        """The batches of each run, the newest last."""
        runs: dict[RunKey, list[Batch]] = {}
        for batch in self._batches.values():
            runs.setdefault(batch.run, []).append(batch)
        return list(runs.items())

    def feed(self, run: RunFiles, file: LogFile, options: Options) -> Feed:
        """The feed of a file, which resumes where the file was read to."""
        known = self._awaited.pop((run.key, str(file.path)), None)
        if file.tracker is not None:
            return TrackerFeed(run, file, known)
        if known is None or not known.source.offset or known.document:
            return FileFeed(run, file, options, summed=True)
        return ResumedFile(run, file, options, known)

    def vanished(self) -> list[Batch]:
        """A batch for each file that no search has found and that was there before."""
        lost = []
        for key, batch in self._awaited.items():
            if not batch.gone:
                path = batch.source.path
                notes = () if batch.document else (Note(path, None, Level.WATCH, DELETED),)
                lost.append(replace(batch, gone=True, more=False, waiting=0, notes=notes))
                self._awaited[key] = replace(batch, gone=True)
        return lost


class ResumedFile(FileFeed):
    """A log file on this machine of which a part was handed over before."""

    _tail: Tail

    def __init__(self, run: RunFiles, file: LogFile, options: Options, known: Batch) -> None:
        super().__init__(run, file, options, summed=True)
        self._known: Batch | None = known
        self._fruitless = 0
        self._replacing = known.checksum is None
        if self._replacing:
            self._tail.generation = known.generation
            self._known = None

    def sample(self) -> Batch | None:
        """None while its points are known."""
        return None if self._known is not None else super().sample()

    def still(self) -> bool:
        return self._known is None and super().still()

    def read(self, budget_bytes: int) -> Batch | None:
        known = self._known
        if known is None:
            return super().read(budget_bytes)

        tail = self._tail
        end = known.source.offset
        polled = tail.poll(min(budget_bytes, end - tail.offset))
        if polled.restarted:
            return self._read_anew(known, budget_bytes)
        if not polled.data:
            return self._wait(known, polled, budget_bytes)

        self._fruitless = 0
        self.offset = tail.offset
        self.size = tail.size
        self._count(self._contained(lambda: self._decoder.feed(polled.data), 0))
        # a row that the decoder holds back in the hope of its rest would come again
        while self._decoder.holds_row and not self.given_up:
            self._count(self._contained(lambda: self._decoder.feed(b""), 0))

        if tail.offset < end:
            self._advance(more=True)
            return replace(known, more=True)
        if tail.checksum != known.checksum:
            return self._read_anew(known, budget_bytes)

        self._known = None
        tail.generation = known.generation
        if known.finished:
            self._count(self._contained(self._decoder.finish, tail.offset))
            self.finished = True

        self._begun = False  # the next batch says how far it is, whatever it brings
        return super().read(budget_bytes)

    def _wait(self, known: Batch, polled: Polled, budget_bytes: int) -> Batch | None:
        """Wait for a file that cannot be read now, or is shorter than it was: an NFS client may
        show an old size."""
        self._fruitless += not polled.changed
        if self._fruitless >= _PATIENCE and not self._tail.troubled:
            return self._read_anew(known, budget_bytes)

        begun = self._begun
        self._advance(more=False)
        if begun and not polled.changed:
            return None

        path = self.file.path
        notes = tuple(Note(path, None, level, message) for level, message in polled.notes)
        return replace(known, more=False, gone=self._tail.gone, notes=notes)

    def _read_anew(self, known: Batch, budget_bytes: int) -> Batch | None:
        """Read from its start a file whose content is another one."""
        path = self.file.path
        self._known = None
        self._replacing = self._rewritten
        self._tail = Tail(path, whole=self._whole, rewritten=self._rewritten, summed=True)
        self._tail.generation = known.generation + 1
        self._decoder = self._format.decoder(self._options, path)
        self._records = 0
        self.offset = 0
        self.given_up = False
        self._begun = False
        batch = super().read(budget_bytes)
        if batch is None or self._rewritten:
            return batch

        note = Note(path, None, Level.WATCH, _WRITTEN_ANEW)
        return replace(batch, notes=(note, *batch.notes))

    def _replaces(self, polled: Polled, decoded: Decoded) -> bool:
        replacing = self._replacing and bool(polled.data)
        self._replacing = self._replacing and not replacing
        return replacing or super()._replaces(polled, decoded)
