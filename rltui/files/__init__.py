"""Growing files as appended bytes, on disk and on servers: tail, identity, kind of file system.

Knows no log format.
"""

from __future__ import annotations

from pathlib import Path

from rltui.core.address import is_remote
from rltui.core.clock import Clock
from rltui.files.tail import FollowedFile, Tail


def tail_of(
    path: Path,
    *,
    whole: bool = False,
    rewritten: bool = False,
    summed: bool = False,
    clock: Clock | None = None,
) -> FollowedFile:
    """Follows a file wherever it is; ``summed`` and ``clock`` count on this machine only."""
    if not is_remote(path):
        return Tail(path, whole=whole, rewritten=rewritten, summed=summed, clock=clock)
    from rltui.files.remote.tail import RemoteTail  # seldom needed

    return RemoteTail(path, whole=whole, rewritten=rewritten)
