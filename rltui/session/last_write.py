"""When a run was last written: by the times in its logs, by its files, by what was watched.

The change time of a file is new after a copy, so the times that the log itself has decide. They
are of the clock of the training machine, which may be off: a file that is written while it is
watched is alive, whatever they say.
"""

from __future__ import annotations

import re
from datetime import datetime, timezone
from functools import lru_cache
from typing import NamedTuple

from rltui.core.batch import LogTail
from rltui.store import RunData

#: Clocks of two machines differ by less, and writers hold rows back for less, seconds.
_SKEW_S = 900.0
#: ... or for this many usual intervals: a file may be written between two rows.
_INTERVALS = 5.0
#: The same while there is no usual interval.
_UNKNOWN_INTERVAL_S = 24 * 3600.0
#: A time without a zone is off by less than this, seconds.
_ZONES_S = 26 * 3600.0
#: Last lines of a console log that are searched for a time.
_LINES = 8
_STAMP = re.compile(
    r"(?:^.{0,24}?|CANCELLED AT )(20\d\d)[-/](\d\d)[-/](\d\d)[ T](\d\d):(\d\d):(\d\d)"
)


class LastWrite(NamedTuple):
    """The newest write of a run; times in seconds since the epoch."""

    at: float | None
    """None without files."""
    row_at: float | None
    """Newest time that a row has; None where rows have none."""
    copied: bool
    """Whether the change times of the files are those of a copy."""


def last_write(run: RunData, interval: float | None, now: float) -> LastWrite:
    """When a run was last written; ``interval``: usual seconds between two rows."""
    files = run.files
    # a time in the future is no time
    walls = {p: t for p, t in run.last_wall_times.items() if t <= now + _SKEW_S}
    own = row_at = max(walls.values(), default=None)
    copied = False
    if own is not None:
        allowed = _UNKNOWN_INTERVAL_S if interval is None else _INTERVALS * interval
        newest = max(walls, key=lambda p: walls[p])
        source = files.sources.get(newest)
        copied = source is not None and source.modified - own > max(_SKEW_S, allowed)
    else:
        own = _stamp_in(run)
        copied = own is not None
    times = (own, None if copied else files.modified, files.grown_at)
    return LastWrite(max((t for t in times if t is not None), default=None), row_at, copied)


def _stamp_in(run: RunData) -> float | None:
    """The time in the last lines of the console log that was written last, where it is so much
    older than the file that no time zone explains it."""
    logs = [f for f in run.files.by_path.values() if f.tail is not None]
    last = max(logs, key=lambda f: f.source.modified, default=None)
    if last is None or last.tail is None:
        return None
    stamp = _stamp_of(last.tail)
    return stamp if stamp is not None and last.source.modified - stamp > _ZONES_S else None


@lru_cache(maxsize=16)
def _stamp_of(tail: LogTail) -> float | None:
    """The last time in the last lines, taken as UTC."""
    for line in reversed(tail.lines[-_LINES:]):
        found = _STAMP.search(line)
        if found is not None:
            try:
                year, month, day, hour, minute, second = map(int, found.groups())
                moment = datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc)
            except ValueError:
                continue
            return moment.timestamp()
    return None
