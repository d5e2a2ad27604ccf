"""All names below a directory of an object store from one listing: it has no directories, and one
page lists a thousand objects wherever they are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rltui.files.remote.listing import Answer
from rltui.files.remote.requests import pages
from rltui.files.remote.status import RemoteStatus, directory_of, status_of

#: Protocols of stores that list a whole tree by its prefix.
FLAT = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "oss", "r2"})


def top_of(path: Path, known: Mapping[Path, Answer]) -> Path:
    """The uppermost of the directories above a path that were listed."""
    while path.parent in known and path.parent != path:
        path = path.parent
    return path


def below(top: Path, known: Mapping[Path, Answer]) -> list[Path]:
    """The directories that were listed, from ``top`` down."""
    found, at = [top], 0
    while at < len(found):
        directory, at = found[at], at + 1
        names = known[directory].found.items()
        found += [directory / n for n, s in names if s.is_directory and directory / n in known]
    return found


def pages_of(top: Path, known: Mapping[Path, Answer]) -> int | None:
    """About how many pages a listing of a whole tree takes; None where some of it has not been
    listed, and may hold any number of objects."""
    count = 0
    for directory in below(top, known):
        answer = known[directory]
        names = answer.found
        if any(s.is_directory and directory / n not in known for n, s in names.items()):
            return None
        count += sum(not s.is_directory for s in names.values())
    return pages(count)


def names_by_directory(
    top: Path, name: str, listed: Mapping[str, Mapping[str, Any]]
) -> dict[Path, dict[str, RemoteStatus]]:
    """The names in each directory from ``top`` down, which the file system calls ``name``;
    ``listed``: the ``info`` of each object by its name."""
    found: dict[Path, dict[str, RemoteStatus]] = {top: {}}
    for full, info in listed.items():
        above, _, rest = full.partition(f"{name}/")
        parts = rest.split("/")
        if above or "" in parts or info.get("type") != "file":
            continue
        place = top
        for part in parts[:-1]:
            child = place / part
            found[place].setdefault(part, directory_of(child, ()))
            found.setdefault(child, {})
            place = child
        found[place][parts[-1]] = status_of(place / parts[-1], info)
    return found
