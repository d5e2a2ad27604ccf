"""What the feeds of files, trackers and pipes have in common."""

from __future__ import annotations

from rltui.core.batch import SourceInfo
from rltui.formats import Decoded
from rltui.sources.discovery.run_files import LogFile, RunFiles


class Following:
    """How far one source of a run has been read. Owned by the reader."""

    def __init__(self, run: RunFiles, file: LogFile) -> None:
        self.run = run
        self.file = file
        self.read_once = False
        """Whether it has been read to its end, at least once."""
        self._told = False
        self._more = False
        self._records = 0
        self._steps_are_row_numbers = False

    @property
    def behind(self) -> bool:
        """Whether it is known to hold more than what was read (as of the last look)."""
        return not self._told or self._more

    def _count(self, decoded: Decoded) -> None:
        """Count what was decoded."""
        self._records += decoded.records
        self._steps_are_row_numbers = self._steps_are_row_numbers or decoded.steps_are_row_numbers

    def _info(
        self, kind: str, precision_rank: int, size: int, offset: int, modified: float
    ) -> SourceInfo:
        """The state of the source as of now."""
        file = self.file
        return SourceInfo(
            file.path,
            kind,
            file.order,
            size,
            offset,
            self._records,
            modified,
            precision_rank,
            self._steps_are_row_numbers,
            file.joined,
            file.alone,
        )
