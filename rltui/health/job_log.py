"""Whether a log without any row of metrics is that of a job that died. Pure.

Which names and lines are those of a job, and which are not, is in ``data/job_logs.yaml``; how logs
end, in ``data/endings.yaml``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from rltui.core.batch import LogTail
from rltui.core.level import ExitKind
from rltui.core.yaml_document import Node, shipped_table

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


@dataclass(frozen=True, slots=True)
class _Knowledge:
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
        return any(known.launchers.match(bare(x)) or _TRACEBACK.match(x) for x in lines)


@lru_cache(maxsize=1)
def _knowledge() -> _Knowledge:
    from rltui.health.crash import any_of  # seldom needed

    table = shipped_table("health", "data", "job_logs.yaml")
    others = table.need("others").table()
    known = _Knowledge(
        any_of(_sourced(table.need("jobs"))),
        any_of(_sourced(table.need("launchers"))),
        tuple(text.encode() for text in _texts(table.need("markers"))),
        re.compile(any_of(_texts(others.need("names"))).pattern, re.IGNORECASE),
        any_of(_texts(others.need("lines"))),
    )
    others.finish()
    table.finish()

    return known


def _texts(node: Node) -> list[str]:
    return [item.text() for item in node.items()]


def _sourced(node: Node) -> list[str]:
    """The patterns of a list whose entries name their source."""
    found = []
    for item in node.items():
        entry = item.table()
        found.append(entry.need("pattern").text())
        entry.need("source").text()
        entry.finish()
    return found
