"""Names of files and directories, and what they say of a training: which name none, which are no
logs, and which are parts of one log. The patterns are those of ``data/places.yaml``."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from rltui.core.later import regex
from rltui.core.yaml_document import Node
from rltui.core.yaml_record import Keyed, shipped_record

#: Greater than any date, so that the parts of a log that was rotated by date stand below 0.
_DATES = 10**9


def _any_of(node: Node) -> re.Pattern[str]:
    pairs = [(pattern, reason.text()) for pattern, reason in node.table().pairs()]
    return regex("|".join(f"(?:{pattern})" for pattern, _ in pairs), re.IGNORECASE)


Kind = Literal["ranks", "roles", "held_out"]
_Patterns = Annotated[re.Pattern[str], Keyed(read=_any_of)]


class Places(NamedTuple):
    """The content of the document; the comments there say what each part is for."""

    nameless: _Patterns
    by_default: _Patterns
    leavings: _Patterns
    tracker_logs: _Patterns
    dropped: _Patterns
    rotated: _Patterns
    ranks: _Patterns
    roles: _Patterns
    held_out: _Patterns


def places() -> Places:
    """The patterns, read once."""
    return shipped_record(Places, "sources", "data", "places.yaml")


def is_nameless(directory: str) -> bool:
    """Whether the base name of a directory names no run."""
    return places().nameless.fullmatch(directory) is not None


def is_by_default(directory: str) -> bool:
    """Whether a framework gave a directory its base name."""
    return is_nameless(directory) or places().by_default.fullmatch(directory) is not None


def is_leaving(name: str) -> bool:
    """Whether a file of this base name is one that an editor left beside a log."""
    return places().leavings.fullmatch(name) is not None


def is_tracker_log(path: Path) -> bool:
    """Whether a file is what a tracker printed of itself."""
    return places().tracker_logs.fullmatch(path.as_posix()) is not None


def unrotated(path: Path) -> tuple[Path, int]:
    """The path that a log had before it was rotated, and its rank among the parts: below 0, oldest
    first, 0 for the log itself."""
    found = _rotated().fullmatch(path.name)
    if found is None:
        return path, 0
    part = next(filter(None, found.groups()[1:-1]))
    day = part.replace("-", "")
    rank = int(day) - _DATES if len(day) == len("20260101") else -int(part)

    return path.with_name(found["log"] + (found["packed"] or "")), rank


@lru_cache(maxsize=1)
def _rotated() -> re.Pattern[str]:
    pattern = rf"(?P<log>(?!.*tfevents).*\.[a-z]+)(?:{places().rotated.pattern})(?P<packed>\.gz)?"
    return regex(pattern, re.IGNORECASE)


def without_parts(stem: str, kind: Kind) -> str:
    """The name of a log without the words that tell it from others of its training."""
    return _parts(kind).sub("", stem).strip("._-")


@lru_cache(maxsize=4)
def _parts(kind: Kind) -> re.Pattern[str]:
    words = {
        "ranks": places().ranks.pattern,
        "roles": f"{places().roles.pattern}|{places().held_out.pattern}",
        "held_out": places().held_out.pattern,
    }
    return regex(rf"(?:^|(?<=[._-]))(?:{words[kind]})(?=[._-]|$)", re.IGNORECASE)
