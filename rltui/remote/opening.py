"""Chooses who reads which logdir."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from rltui.core.address import RAY, SSH, RemotePath, is_remote
from rltui.core.clock import Clock, SystemClock
from rltui.core.errors import SourceError, UsageError
from rltui.core.installation import to_add
from rltui.files.remote.stores import needs
from rltui.sources.discovery.log_head import EndSigns
from rltui.sources.follow.log_search import Choose, Wants
from rltui.sources.follow.reader import Reader
from rltui.sources.follow.reading import Reading
from rltui.sources.follow.schedule import Intervals, Watching

#: Begins the name of a reader of stores of fsspec.
_STORE = "store "


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a session asks of its reader, wherever the logs are."""

    clock: Clock = field(default_factory=SystemClock)
    watch: Watching = field(default_factory=Intervals)
    choose: Choose | None = None
    """Selects the runs to read among all found; given every run of each search."""
    wants: Wants | None = None
    """Whether to read a run for a log that is joined to it; not asked by other hosts."""
    step_keys: Sequence[str] | None = None
    ends: EndSigns | None = None
    """Knows the logs of jobs that died before their first row."""
    verify: bool = False
    waits: bool = False
    """Whether a named file that is empty is no error."""
    partial: bool = False
    """Whether a logdir that cannot be read is no error while another one can."""
    later: bool = False
    """Whether all searching is done in threads, once the reader is started, if a logdir is
    elsewhere."""
    absent: bool = False
    """Whether a logdir of this machine need not exist yet."""
    pipe: int = 0
    """File descriptor that the logdir ``-`` means."""


def open_reader(logdirs: Sequence[Path], wishes: Wishes) -> Reading:
    """One reader of all logdirs; a run's key has the number of its logdir among them.

    Raises UsageError for an address that needs an extra which is not installed.
    """
    later = wishes.later and any(map(is_remote, logdirs))
    groups: dict[str, list[int]] = {}
    for number, logdir in enumerate(logdirs):
        groups.setdefault(_who_reads(logdir, later), []).append(number)
    if len(groups) == 1 and not (later or _by_ssh(next(iter(groups)))):
        return _open(next(iter(groups)), logdirs, wishes)
    from rltui.remote.part import Part
    from rltui.remote.readers import Readers

    parts = []
    for who, numbers in groups.items():
        paths = [logdirs[n] for n in numbers]
        part = Part(paths, numbers, wishes.choose, wishes.wants)
        asked = part.wishes(wishes)
        sftp = partial(_by_sftp, paths, asked) if _by_ssh(who) else None
        part.open(_open(who, paths, asked), sftp)
        parts.append(part)
    return Readers(parts, partial=wishes.partial, later=later)


def _who_reads(logdir: Path, later: bool) -> str:
    """What the logdirs of one reader have in common. ``later``: each server is searched by
    itself."""
    if not isinstance(logdir, RemotePath):
        return ""
    if logdir.scheme in (SSH, RAY):
        return f"{logdir.scheme}://{logdir.authority}"
    return f"{_STORE}{logdir.scheme}://{logdir.authority}" if later else ""


def _by_ssh(who: str) -> bool:
    return who.startswith(f"{SSH}:")


def _by_sftp(logdirs: Sequence[Path], wishes: Wishes) -> tuple[Reading, Sequence[Path]]:
    """A reader for hosts without rltui, and its names of the logdirs. Raises SourceError where
    that is not possible."""
    host = ""
    paths = []
    for path in logdirs:
        assert isinstance(path, RemotePath)
        host = path.authority
        if path.place.startswith("~"):
            why = "and sftp needs an absolute path"
            raise SourceError(f"{path}: there is no rltui on {host}, {why}")
        paths.append(RemotePath("sftp:", host, path.place.lstrip("/")))
    if not all(map(find_spec, ("fsspec", "paramiko"))):
        raise SourceError(
            f"{logdirs[0]}: there is no rltui on {host}: install it there (RLTUI_REMOTE_COMMAND is "
            f"its path, if ssh does not find it), or here, for sftp: {to_add(*needs('sftp'))}"
        )

    return _open("", paths, wishes), paths


def _open(who: str, logdirs: Sequence[Path], wishes: Wishes) -> Reading:
    if _by_ssh(who):
        from rltui.remote.ssh.reader import SshReader

        return SshReader([p for p in logdirs if isinstance(p, RemotePath)], wishes)
    if who.startswith(f"{RAY}:"):
        from rltui.remote.ray.reader import RayReader

        return RayReader([p for p in logdirs if isinstance(p, RemotePath)], wishes)
    if who and not who.startswith(_STORE):
        raise UsageError(f"{who}: cannot be read")
    return Reader(
        logdirs,
        clock=wishes.clock,
        verify=wishes.verify,
        watch=wishes.watch,
        choose=wishes.choose,
        wants=wishes.wants,
        step_keys=wishes.step_keys,
        pipe=wishes.pipe,
        ends=wishes.ends,
        waits=wishes.waits,
        partial=wishes.partial,
        absent=wishes.absent,
    )
