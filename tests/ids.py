"""Ids of parametrised tests: short, the same in every process, and refused when they are not."""

import re
from collections.abc import Iterable
from pathlib import PurePath

#: Characters of an id, between its brackets.
LIMIT = 60
#: Characters that one text among the arguments may give; four arguments stay below LIMIT.
_PART = 14
_ADDRESS = re.compile(r"\bat 0x[0-9a-f]+|0x[0-9a-f]{8,}")
_PATH = re.compile(r"(?:^|[-\s'\"=:])(?:/[\w.+~-]+){2,}")
_FOLDERS = re.compile(r"(?<![^-\s'\"=:])/(?:[\w.+~-]+/)+")


def short_id(value: object) -> str | None:
    """The id of one argument; None leaves it to pytest, which is right for numbers and flags.

    Texts are cut, paths give their name, records give what they are called, pairs of numbers
    (sizes of a screen) read 80x24.
    """
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    if isinstance(value, str):
        return _cut(value)
    if isinstance(value, int) and abs(value) > 10**_PART:
        return f"{str(value)[:4]}..."
    if isinstance(value, tuple) and value and all(type(x) is int for x in value):
        return _cut("x".join(map(str, value)))
    if isinstance(value, PurePath):
        return _cut(value.name)
    for attribute in ("id", "name"):
        name = getattr(value, attribute, None)
        if isinstance(name, str):
            return _cut(name)
    return None


def path_id(path: PurePath) -> str:
    """The id of a log given by its path below the corpus: both ends of it."""
    text = path.as_posix()
    return text if len(text) < LIMIT else f"{text[:36]}...{text[-20:]}"


def _cut(text: str) -> str | None:
    text = _FOLDERS.sub("", text)
    plain = " ".join(re.sub(r"[^\x20-\x7e]", " ", text).split())
    if plain == text and len(text) <= _PART:
        return text or "empty"
    return plain[:_PART].rstrip() or "blank"


def wrong_ids(node_ids: Iterable[str]) -> list[str]:
    """What is wrong with ids that differ between processes, or that nobody can read."""
    found = []
    for node_id in node_ids:
        name = node_id.partition("::")[2].partition("[")[2].removesuffix("]")
        if _ADDRESS.search(name):
            found.append(f"{node_id[:120]}: a memory address")
        elif _PATH.search(name):
            found.append(f"{node_id[:120]}: a path")
        elif len(name) >= LIMIT:
            found.append(f"{node_id[:120]}: {len(name)} characters, at most {LIMIT - 1}")
    return found
