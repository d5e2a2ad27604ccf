"""What was worked out of a text, kept for the next start.

Entries are JSON files below ``$XDG_CACHE_HOME/rltui``, named by a hash of the text and of the
version of rltui. Whatever is wrong with them or with the directory, the program goes on
without: a cache that cannot be read is empty, one that cannot be written stays empty. Nothing
that is read is run; the caller checks that it has the shape that it expects.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Any

from rltui import __version__

#: Larger entries are none of ours.
_MOST_BYTES = 8 << 20
#: Entries that were written longer ago than this are removed; those still in use come back.
_KEPT_S = 30 * 86400.0


def directory() -> Path | None:
    """Where entries are kept, or None when there is no home for them."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification: a relative path is to be ignored.
    if not os.path.isabs(base):  # noqa: PTH117 - an empty text is no path
        home = os.environ.get("HOME", "")
        if not os.path.isabs(home):  # noqa: PTH117
            return None
        base = f"{home}/.cache"
    return Path(base) / "rltui"


def load(kind: str, text: str) -> Any:
    """What was kept for ``text``, or None."""
    path = _place(kind, text)
    if path is None:
        return None
    import orjson

    try:
        with path.open("rb", buffering=0) as file:
            if os.fstat(file.fileno()).st_size > _MOST_BYTES:
                return None
            return orjson.loads(file.read(_MOST_BYTES))
    except (OSError, ValueError):
        return None


def save(kind: str, text: str, value: Any) -> None:
    """Keep ``value`` (what JSON can hold) for ``text``; gives up without a word."""
    path = _place(kind, text)
    if path is None:
        return
    import orjson

    with contextlib.suppress(OSError, ValueError, TypeError):
        data = orjson.dumps(value)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with open(handle, "wb") as file:  # noqa: PTH123 - a handle is no path
                file.write(data)
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        _remove_old(path.parent)


def _place(kind: str, text: str) -> Path | None:
    from hashlib import sha256

    base = directory()
    if base is None:
        return None
    key = f"{kind}\0{__version__}\0{text}".encode("utf-8", "surrogatepass")
    return base / f"{kind}-{sha256(key).hexdigest()[:40]}.json"


def _remove_old(place: Path) -> None:
    limit = time.time() - _KEPT_S
    for entry in os.scandir(place):
        ours = entry.name.endswith((".json", ".part"))
        if ours and entry.is_file(follow_symlinks=False) and entry.stat().st_mtime < limit:
            Path(entry.path).unlink(missing_ok=True)
