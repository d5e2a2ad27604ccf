"""A run read again, after the store has dropped its points to save memory.

The reader goes on as if nothing had happened: what is read again ends exactly where the newest
batch in the store ended, and the batches that follow continue there. So a run may be dropped
and read again at any time, on any thread, unless

- it has not been read to its end yet (the decoder may hold a row back), or
- one of its files has vanished or was rewritten: then its older points are nowhere else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from rltui.core.batch import Batch, SourceInfo
from rltui.core.level import Level
from rltui.files.disk import opened, status
from rltui.files.tail import Polled, Tail
from rltui.files.trouble import reason_of
from rltui.formats import Options
from rltui.sources.discovery.run_files import RunFiles
from rltui.sources.follow.file_feed import FileFeed

#: Bytes per batch.
BUDGET_BYTES = 2 << 20
_FAILURE = "cannot be read again"


def read_again(
    run: RunFiles,
    sources: Mapping[Path, SourceInfo],
    options: Options | None = None,
    budget_bytes: int = BUDGET_BYTES,
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
            return _failed(reason_of(error, _FAILURE))
        if not data:
            return _failed(f"{_FAILURE}: it has become shorter")
        self.offset += len(data)
        return Polled(data, self.offset < self.size, changed=True)


def _failed(message: str) -> Polled:
    return Polled(notes=((Level.WATCH, message),), changed=True)
