"""The order of the files of a run: a number that was given stays."""

from __future__ import annotations

import re
from pathlib import Path

from rltui.sources.discovery.tree import Candidate

_STAMP = re.compile(r"tfevents\.(\d{1,12})")


def age(candidate: Candidate) -> tuple[str, int, int, float, str]:
    """Order within a log format."""
    stamp = _STAMP.search(candidate.path.name)
    began = int(stamp.group(1)) if stamp else int(candidate.modified)
    key = candidate.key.as_posix()
    return candidate.kind, candidate.begin, began, candidate.modified, key


def number_of(known: dict[Path, int], key: Path) -> int:
    """The number of a file within its run: the one that it has, or the next one."""
    return known.setdefault(key, next(reversed(known.values()), -1) + 1)
