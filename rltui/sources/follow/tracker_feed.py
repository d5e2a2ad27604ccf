"""One run of a tracker's store: its follower, one Batch per budgeted read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rltui.core.batch import Batch
from rltui.sources.discovery.run_files import LogFile, RunFiles
from rltui.sources.follow.feed import Feed
from rltui.trackers import Tracker


class TrackerFeed(Feed):
    """Follows a run that a tracker keeps."""

    def __init__(self, run: RunFiles, file: LogFile) -> None:
        assert file.tracker is not None
        super().__init__(run, file)
        self._tracker = file.tracker
        self._follower = file.tracker.follow(file.path, file.part)
        self._generation = 0

    @property
    def _owner(self) -> Tracker:
        return self._tracker

    @property
    def paths(self) -> tuple[Path, ...]:
        """The store and its ``-wal``: a database in WAL mode is written beside itself."""
        path = self.file.path
        return path, path.with_name(f"{path.name}-wal")

    def read(self, budget_bytes: int) -> Batch | None:
        """Read the rows that are new."""
        followed = self._follower.poll(budget_bytes)
        if not followed.changed and self._begun and followed.more == self._more:
            return None
        if followed.restarted:
            self._generation += 1
            self._records = 0
        self._advance(more=followed.more)
        self._count(followed.decoded)
        follower = self._follower
        self.offset, self.size = follower.offset, follower.size
        self.modified = follower.modified or self.modified
        return replace(
            self._batch(followed.decoded, followed.notes),
            generation=self._generation,
            gone=followed.gone,
            replaced=followed.restarted,
        )
