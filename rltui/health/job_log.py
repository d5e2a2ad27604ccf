"""Whether a log without any row of metrics is that of a job that died. Pure.

Which names and lines are those of a job, and which are not, is in ``data/log_signs/job_logs.yaml``;
how logs end, in ``endings.yaml`` beside it.
"""

from __future__ import annotations

from typing import NamedTuple

from rltui.core.batch import LogTail
from rltui.core.level import ExitKind
from rltui.formats.log_sign import AnyOf, Patterns, bare, first_match, line_forms, signs


class _Others(NamedTuple):
    names: Patterns
    lines: Patterns


class _Document(NamedTuple):
    """``data/log_signs/job_logs.yaml``; see there for the meaning of each field."""

    jobs: AnyOf
    launchers: AnyOf
    markers: tuple[str, ...]
    others: _Others


class JobLogs:
    """Says of the end of a log without rows whether a job died there."""

    def may_show(self, name: str, end: bytes) -> bool:
        """A cheap test of the last bytes of a log; False rules it out."""
        known = _known()
        if first_match(known.jobs, name):
            return True
        if first_match(known.others.names, name):
            return False
        return any(marker.encode() in end for marker in known.markers)

    def show(self, name: str, tail: LogTail, *, named: bool) -> bool:
        """Whether a log of this base name ended because its job died; ``named``: the user has
        named it."""
        from rltui.health.crash import exit_status  # seldom needed

        ending = exit_status(tail, logged=False)
        if ending is None or ending.kind is ExitKind.FINISHED:
            return False
        known = _known()
        if named or first_match(known.jobs, name):
            return True
        others = known.others
        if first_match(others.names, name) or any(first_match(others.lines, x) for x in tail.lines):
            return False
        launched = any(first_match(known.launchers, bare(line)) for line in tail.lines)
        return launched or any(map(line_forms().own_traceback.search, tail.lines))


def _known() -> _Document:
    return signs(_Document, "job_logs")
