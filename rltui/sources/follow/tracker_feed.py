"""One run of a tracker's store: its follower, one Batch per budgeted read."""

from __future__ import annotations

from rltui.core.batch import Batch, Note
from rltui.sources.discovery.run_files import LogFile, RunFiles
from rltui.sources.follow.feed import Following
from rltui.sources.follow.sample import Limits
from rltui.trackers import Followed


class TrackedFeed(Following):
    """The counterpart of :class:`rltui.sources.follow.file_feed.Feed`. Owned by the reader."""

    def __init__(self, run: RunFiles, file: LogFile) -> None:
        assert file.tracker is not None
        super().__init__(run, file)
        self._tracker = file.tracker
        self._follower = file.tracker.follow(file.path, file.part)
        self._generation = 0

    @property
    def offset(self) -> int:
        """Bytes or rows that were handed over."""
        return self._follower.offset if self._told else 0

    @property
    def size(self) -> int:
        """Bytes or rows when it was last looked at; asks nobody."""
        return self._follower.size if self._told else self.file.size

    @property
    def modified(self) -> float:
        """Change time when it was last looked at; asks nobody."""
        return self._follower.modified or self.file.modified

    def overview(self, limits: Limits | None = None) -> Batch | None:  # noqa: ARG002
        """None: databases are read from their beginning."""
        return None

    def read(self, budget_bytes: int) -> Batch | None:
        """Read what is new; None when nothing is, except for the first time."""
        followed = self._follower.poll(budget_bytes)
        if not followed.changed and self._told and followed.more == self._more:
            return None
        if followed.restarted:
            self._generation += 1
            self._records = 0
        self._told, self._more = True, followed.more
        self._count(followed.decoded)
        self.read_once = self.read_once or not followed.more
        return self._batch(followed)

    def _batch(self, followed: Followed) -> Batch:
        path, decoded = self.file.path, followed.decoded
        tracker = self._tracker
        source = self._info(
            tracker.name, tracker.precision_rank, self.size, self.offset, self.modified
        )
        notes = [Note(path, None, level, message) for level, message in followed.notes]
        notes += [Note(path, n.offset, n.level, n.message) for n in decoded.notes]
        return Batch(
            self.run.key,
            self.run.path,
            source,
            decoded.items,
            decoded.texts,
            decoded.hparams,
            tuple(notes),
            self._generation,
            followed.gone,
            followed.more,
            replaced=followed.restarted,
            tail=decoded.tail,
            exit_code=decoded.exit_code,
        )
