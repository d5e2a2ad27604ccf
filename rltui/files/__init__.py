"""Growing files as appended bytes, on disk and on servers: tail, identity, kind of file system.

Knows no log format.
"""

from __future__ import annotations

from pathlib import Path

from rltui.core.address import is_remote
from rltui.core.clock import Clock
from rltui.files.tail import FollowedFile, Tail


def tail_of(path: Path, *, clock: Clock | None = None, **how: bool) -> FollowedFile:
    """Follows a file wherever it is. ``clock`` counts on this machine only; ``how``: see
    :class:`~rltui.files.tail.FollowedFile`."""
    if not is_remote(path):
        return Tail(path, clock=clock, **how)
    from rltui.files.remote import store, tail  # seldom needed

    return tail.RemoteTail(path, store=store.store_of(path), **how)
