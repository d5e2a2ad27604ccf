"""Whether a log without any row of metrics is that of a job that died. Pure.

Which names and lines are those of a job, and which are not, is in ``data/job_logs.yaml``; how logs
end, in ``data/endings.yaml``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from rltui.core.batch import LogTail
from rltui.core.level import ExitKind
from rltui.core.text import any_of
from rltui.core.yaml_record import shipped_record

#: Bytes at the end of a log that are searched for markers.
_END_BYTES = 1 << 15
#: Last lines that are searched for those of a launcher or a service.
_LINES = 60
#: A traceback as Python itself prints it, behind the prefix of a rank or an actor at most. One that
#: a logger wrote has a time or a level before it.
_TRACEBACK = re.compile(
    r"(?:\[(?:rank|default)\d+\]: ?|\d+: |\([\w.:<>/-]+ pid=\d+[^)]*\) )*"
    r"Traceback \(most recent call last\):\s*$"
)


class _Sourced(NamedTuple):
    pattern: str
    source: str


class _Others(NamedTuple):
    names: tuple[str, ...]
    lines: tuple[str, ...]


class _Document(NamedTuple):
    """``data/job_logs.yaml``; see there for the meaning of each field."""

    jobs: tuple[_Sourced, ...]
    launchers: tuple[_Sourced, ...]
    markers: tuple[str, ...]
    others: _Others


class _Knowledge(NamedTuple):
    jobs: re.Pattern[str]
    launchers: re.Pattern[str]
    markers: tuple[bytes, ...]
    other_names: re.Pattern[str]
    other_lines: re.Pattern[str]


class JobLogs:
    """Says of the end of a log without rows whether a job died there."""

    def may_show(self, name: str, end: bytes) -> bool:
        """A cheap test of the last bytes of a log; False rules it out."""
        known = _knowledge()
        if known.jobs.fullmatch(name):
            return True
        if known.other_names.fullmatch(name):
            return False
        start = max(0, len(end) - _END_BYTES)
        return any(end.find(marker, start) >= 0 for marker in known.markers)

    def show(self, name: str, tail: LogTail, *, named: bool) -> bool:
        """Whether a log of this base name ended because its job died; ``named``: the user has
        named it."""
        from rltui.health.crash import bare, exit_status  # seldom needed

        ending = exit_status(tail, logged=False)
        if ending is None or ending.kind is ExitKind.FINISHED:
            return False
        known = _knowledge()
        if named or known.jobs.fullmatch(name):
            return True
        lines = tail.lines[-_LINES:]
        if known.other_names.fullmatch(name) or any(map(known.other_lines.search, lines)):
            return False
        launched = any(known.launchers.match(bare(x)) for x in lines)
        return launched or any(map(_TRACEBACK.match, tail.lines))  # some have a hundred frames


@lru_cache(maxsize=1)
def _knowledge() -> _Knowledge:
    read = shipped_record(_Document, "health", "data", "job_logs.yaml")
    return _Knowledge(
        any_of([entry.pattern for entry in read.jobs]),
        any_of([entry.pattern for entry in read.launchers]),
        tuple(text.encode() for text in read.markers),
        re.compile(any_of(read.others.names).pattern, re.IGNORECASE),
        any_of(read.others.lines),
    )
