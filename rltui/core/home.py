"""The user's home directory, where there is one, and what rltui keeps below it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def home_directory(environ: Mapping[str, str]) -> Path:
    """``HOME``, or what the user database says.

    A container may run under a number that is no user, without either: then a path below which
    nothing exists nor can be written.
    """
    found = environ.get("HOME") or os.path.expanduser("~")  # noqa: PTH111 - it does not raise
    return Path(found if os.path.isabs(found) else os.devnull)  # noqa: PTH117 - a text


def state_directory(environ: Mapping[str, str]) -> Path:
    """Where rltui keeps what is the user's: ``$XDG_STATE_HOME/rltui``."""
    base = Path(environ.get("XDG_STATE_HOME") or "")
    if not base.is_absolute():
        base = home_directory(environ) / ".local" / "state"
    return base / "rltui"


def write_private(path: Path, text: str) -> None:
    """Write a file for the user alone, in place of the one before. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
    fresh.replace(path)
