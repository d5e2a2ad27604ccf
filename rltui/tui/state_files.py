"""Where rltui keeps what is the user's, and how it is written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from rltui.core.home import home_directory


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
