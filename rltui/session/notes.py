"""Notes that the user made on runs: one file in the state directory, nothing in a log directory."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from rltui.core.address import identity
from rltui.core.installation import state_directory, write_private
from rltui.core.text import kept_clean
from rltui.session.run import JudgedRun

#: Characters of a note; longer files are none of ours, bytes.
MOST = 200
_MOST_BYTES = 16 << 20
_written = [0]


def note_on(run: JudgedRun) -> str:
    """The note on a run; "" for none."""
    notes = _notes(_path())
    return notes.get(_name(run.data.path, run.key.name), "") if notes else ""


def notes_version() -> int:
    """Grows with every note that is written."""
    return _written[0]


def write_note(run: JudgedRun, text: str) -> None:
    """Keep a note on a run in place of the one before; "" removes it. Raises OSError."""
    path = _path()
    _notes.cache_clear()  # another rltui may have written since
    notes = dict(_notes(path))
    name = _name(run.data.path, run.key.name)
    if not notes and path.exists() and path.read_bytes().strip() not in (b"", b"{}"):
        raise OSError(f"{path} cannot be read, so no note is added to it")
    notes.pop(name, None)
    if text := kept_clean(text).strip()[:MOST]:
        notes[name] = text
    write_private(path, json.dumps(notes, indent=1))
    _notes.cache_clear()
    _written[0] += 1


def _path() -> Path:
    return state_directory(os.environ) / "notes.json"


@lru_cache(maxsize=1)
def _notes(path: Path) -> dict[str, str]:
    """All notes; none from a file that cannot be read."""
    with suppress(OSError, ValueError, RecursionError), path.open("rb") as file:
        known = json.loads(file.read(_MOST_BYTES))
        if isinstance(known, dict):
            return {k: kept_clean(v)[:MOST] for k, v in known.items() if isinstance(v, str)}
    return {}


@lru_cache(maxsize=1 << 16)
def _name(path: Path, name: str) -> str:
    """The place of a run, whatever logdir leads to it. Several may lie in one file."""
    own = name.rstrip("/").rpartition("/")[2]
    return identity(path) if own in (path.name, ".", "") else f"{identity(path)}#{own}"
