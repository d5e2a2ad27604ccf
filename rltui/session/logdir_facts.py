"""What lies below a LOGDIR, why something there is not read, and how changes are noticed."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rltui.core.address import RAY, RemotePath, is_streamed
from rltui.core.batch import Note, RunKey
from rltui.core.clock import SystemClock
from rltui.core.errors import RltuiError, SourceError, UnreachableError
from rltui.core.level import Level
from rltui.files.disk import Mounts, connect, costs, opened
from rltui.formats import HEAD_BYTES, Options
from rltui.health.job_log import JobLogs
from rltui.remote import Wishes, open_reader
from rltui.sources.discovery.logdir import RunFinder
from rltui.sources.discovery.run_files import Discovery, RunFiles
from rltui.sources.follow.notifier import Notifier

if TYPE_CHECKING:
    from rltui.files.remote.server import RemoteCosts
    from rltui.remote.ray.survey import ClusterFacts


#: Files of runs whose first lines are read for what is wrong in them.
_LOOKED_INTO = 100


@dataclass(frozen=True, slots=True)
class LogdirFacts:
    """What was found out about one LOGDIR. Nothing was decoded but the heads of files."""

    path: Path
    filesystem: str
    """The system's name of its kind: ``ext4``, ``nfs4``; empty when unknown."""
    inotify: bool
    """Whether the system wakes the watcher; it polls in any case."""
    why: str
    """Why it does, or why not."""
    runs: tuple[RunFiles, ...] = ()
    unreadable: tuple[Path, ...] = ()
    """Logs that this user may not read."""
    not_read: tuple[Note, ...] = ()
    """Files that are not read, and directories in trouble, with the reason."""
    more: int = 0
    """Further files that are not read, which are not named."""
    error: str = ""
    """Why it cannot be a LOGDIR; "" for none."""
    out_of_reach: bool = False
    """Whether its host or server cannot be reached, which says nothing about the path."""
    costs: RemoteCosts | None = None
    """What it takes to follow it, where that is on a server."""
    cluster: ClusterFacts | None = None
    """The nodes that were searched, where it is on a cluster of Ray."""


def logdir_facts(
    path: Path, step_keys: Sequence[str], *, inotify: bool, remote_s: float = 5.0
) -> LogdirFacts:
    """Look below ``path`` once. ``inotify``: whether the user lets the system wake the watcher;
    ``remote_s``: least seconds between two listings of a directory elsewhere."""
    if isinstance(path, RemotePath) and path.scheme == RAY:
        return _on_cluster(path, step_keys)
    if is_streamed(path):
        return _there(path, step_keys, remote_s)
    if isinstance(path, RemotePath):
        return _elsewhere(path, step_keys, remote_s)
    mounts = Mounts()
    kind = mounts.kind_of(path)
    if not path.exists():
        return LogdirFacts(path, kind, False, "there is nothing", error=f"no such path: {path}")
    woken, why = _wakes(path if path.is_dir() else path.parent, mounts, allowed=inotify)
    finder = RunFinder([path], options=Options(step_keys=tuple(step_keys)), ends=JobLogs())
    try:
        found = finder.find()
    except SourceError as error:
        return LogdirFacts(path, kind, woken, why, error=str(error))
    if woken:
        why += _unwatched([d for d, _ in found.directories])
    files = [f.path for r in found.runs for f in r.files]
    unreadable = tuple(p for p in dict.fromkeys(files) if not os.access(p, os.R_OK))
    not_read, more = _not_read(found)
    not_read += _lost_lines(found.runs, Options(step_keys=tuple(step_keys)))

    return LogdirFacts(path, kind, woken, why, found.runs, unreadable, not_read, more)


def _lost_lines(runs: Sequence[RunFiles], options: Options) -> tuple[Note, ...]:
    """The first trouble of each of the first files near its beginning."""
    lost = []
    for file in [f for run in runs for f in run.files][:_LOOKED_INTO]:
        if file.format is None or file.format.document:
            continue
        try:
            with opened(file.path) as read:
                head = read(HEAD_BYTES, 0)
        except OSError:
            continue
        notes = file.format.decoder(options, file.path).feed(head).notes
        lost += [
            Note(file.path, n.offset, n.level, n.message) for n in notes if n.level >= Level.WATCH
        ][:1]

    return tuple(lost)


def _elsewhere(path: RemotePath, step_keys: Sequence[str], pace_s: float) -> LogdirFacts:
    """The same of an address."""
    why = f"directories are listed every {pace_s:g} s while they change, rarely while quiet"
    try:
        connect([path], SystemClock(), pace_s)
        finder = RunFinder([path], options=Options(step_keys=tuple(step_keys)), ends=JobLogs())
        found = finder.find()
        asked = costs(path)
    except RltuiError as error:
        return _failed(path, path.scheme, why, error)
    not_read, more = _not_read(found)
    return LogdirFacts(path, path.scheme, False, why, found.runs, (), not_read, more, costs=asked)


def _there(path: Path, step_keys: Sequence[str], pace_s: float) -> LogdirFacts:
    """The same of a path on another host, where another rltui finds out, if there is one."""
    found: list[RunKey] = []

    def choose(keys: Collection[RunKey]) -> Collection[RunKey]:
        found.extend(keys)
        return ()

    why = "the rltui on that host watches, and sends what is new"
    reader = open_reader([path], Wishes(choose=choose, step_keys=step_keys, ends=JobLogs()))
    try:
        reader.scan()
    except RltuiError as error:
        return _failed(path, "", why, error)
    finally:
        reader.stop()
    state = reader.state
    instead = state.instead.get(path)
    if isinstance(instead, RemotePath):
        facts = _elsewhere(instead, step_keys, pace_s)
        return replace(
            facts, path=path, why=f"that host has no rltui, so sftp is used; {facts.why}"
        )
    runs = tuple(RunFiles(key, path / key.name, ()) for key in found)
    return LogdirFacts(path, "", False, why, runs, (), (*state.notes, *state.unclaimed))


def _on_cluster(path: RemotePath, step_keys: Sequence[str]) -> LogdirFacts:
    """The same of a path on the nodes of a cluster."""
    from rltui.remote.ray.reader import RayReader  # heavy: only where there is a cluster

    why = "a reader on each node watches, and sends what is new"
    try:
        reader = RayReader([path], Wishes(step_keys=step_keys, ends=JobLogs()))
        cluster = reader.survey()
    except RltuiError as error:
        return _failed(path, "", why, error)
    not_read = (*reader.state.notes, *reader.state.unclaimed)
    wrong = "" if any(h.places for h in cluster.hosts) else "no node of the cluster has this path"
    found = LogdirFacts(path, "", False, why, cluster.runs, cluster.unreadable, not_read)

    return replace(found, error=wrong, cluster=cluster)


def _failed(path: Path, filesystem: str, why: str, error: RltuiError) -> LogdirFacts:
    away = isinstance(error, UnreachableError)
    return LogdirFacts(path, filesystem, False, why, error=str(error), out_of_reach=away)


def _not_read(found: Discovery) -> tuple[tuple[Note, ...], int]:
    return (*found.notes, *found.refused), max(0, found.refused_count - len(found.refused))


def _unwatched(directories: Sequence[Path]) -> str:
    """How many of the directories the system watches, where that is not all of them."""
    notifier = Notifier(lambda *_: None)
    notifier.start(directories)
    watched = len(notifier.watched)
    notifier.stop()
    if watched >= len(directories):
        return ""

    return f" in {watched:,} of {len(directories):,} directories, the others are polled"


def _wakes(directory: Path, mounts: Mounts, *, allowed: bool) -> tuple[bool, str]:
    """Whether the system reports changes in a directory, and why."""
    if not allowed:
        return False, "watch.inotify is off in the configuration"
    notifier = Notifier(lambda *_: None)
    granted = notifier.start([directory])
    notifier.stop()
    if not granted:
        return False, "the system grants no watch (limit of inotify watches or instances?)"
    kind = mounts.kind_of(directory)
    if not mounts.reports_writes(directory):
        return False, f"what other hosts write to {kind or 'this file system'} is not reported"

    return True, f"{kind} reports every write"
