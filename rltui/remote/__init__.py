"""Reads logdirs wherever they are: :func:`open_reader` returns one reader for all of them.

:class:`rltui.sources.Reader` reads what this machine and fsspec can open. Other hosts and the nodes
of a Ray cluster run ``stream``; ``conversation`` receives their batches; ``joined`` combines
several readers into one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from rltui.core.address import RAY, SSH, RemotePath, is_remote, is_streamed
from rltui.core.errors import UsageError
from rltui.sources.follow.reader import Reader
from rltui.sources.follow.threaded_reader import ThreadedReader
from rltui.sources.options import ReaderOptions

if TYPE_CHECKING:
    from rltui.remote.joined import JoinedReader

__all__ = ["ReaderOptions", "Reading", "open_one", "open_reader"]

#: Reads the logs of a session.
Reading: TypeAlias = "ThreadedReader | JoinedReader"


def open_reader(logdirs: Sequence[Path], options: ReaderOptions) -> Reading:
    """One reader of all logdirs; a run's key has the number of its logdir among them.

    Raises UsageError for an address that needs an extra which is not installed.
    """
    later = options.later and any(map(is_remote, logdirs))
    groups: dict[tuple[str, str], list[int]] = {}
    for number, logdir in enumerate(logdirs):
        groups.setdefault(_host(logdir, later), []).append(number)
    scheme = next(iter(groups))[0]
    if len(groups) == 1 and not (later or scheme == SSH):
        return open_one(scheme, logdirs, options)
    from rltui.remote.joined import GroupReader, JoinedReader  # only for logdirs on other hosts

    readers = [
        GroupReader(scheme, [logdirs[n] for n in numbers], numbers, options, open_one)
        for (scheme, _), numbers in groups.items()
    ]
    return JoinedReader(readers, partial=options.partial, later=later)


def _host(logdir: Path, later: bool) -> tuple[str, str]:
    """(scheme, host) that the logdirs of one reader share. ``later``: each server of fsspec gets a
    reader of its own, too."""
    if not isinstance(logdir, RemotePath):
        return "", ""
    if is_streamed(logdir):
        return logdir.scheme, logdir.authority
    return "", f"{logdir.scheme}://{logdir.authority}" if later else ""


def open_one(scheme: str, logdirs: Sequence[Path], options: ReaderOptions) -> ThreadedReader:
    """The reader of logdirs on one host or cluster, or of all that this machine can open. Raises
    UsageError."""
    if scheme == SSH:
        from rltui.remote.ssh.reader import SshReader  # only for logdirs on other hosts

        return SshReader([p for p in logdirs if isinstance(p, RemotePath)], options)
    if scheme == RAY:
        from rltui.remote.ray.reader import RayReader  # only for logdirs on other hosts

        return RayReader([p for p in logdirs if isinstance(p, RemotePath)], options)
    if scheme:
        raise UsageError(f"{scheme}: cannot be read")

    return Reader(logdirs, options)
