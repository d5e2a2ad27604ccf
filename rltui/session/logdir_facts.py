"""Facts about a LOGDIR: what lies below it, why something there is not read, and how changes are
noticed."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rltui.core.address import RAY, RemotePath, is_streamed
from rltui.core.batch import Note, RunKey
from rltui.core.clock import SystemClock
from rltui.core.errors import RltuiError, SourceError, UnreachableError
from rltui.core.level import Level
from rltui.files.disk import Mounts, connect, costs, opened
from rltui.formats.base import HEAD_BYTES, Options
from rltui.health.job_log import JobLogs
from rltui.remote import ReaderOptions, open_reader
from rltui.sources.discovery.logdir import RunFinder
from rltui.sources.discovery.run_files import Discovery, RunFiles
from rltui.sources.follow.notifier import Notifier

if TYPE_CHECKING:
    from rltui.files.remote.server import RemoteCosts


#: Files of runs whose first lines are read for what is wrong in them.
_LOOKED_INTO = 100


@dataclass(slots=True)
class LogdirFacts:
    """Facts about one LOGDIR. Nothing was decoded but the heads of files."""

    path: Path
    filesystem: str = ""
    """The system's name of its kind: ``ext4``, ``nfs4``; empty when unknown."""
    inotify: bool = False
    """Whether the system wakes the watcher; it polls in any case."""
    why: str = ""
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
    """Costs of following it, where that is on a server."""


def logdir_facts(
    path: Path, step_keys: Sequence[str], *, inotify: bool, remote_s: float = 5.0
) -> LogdirFacts:
    """Look below ``path`` once. ``inotify``: whether the user lets the system wake the watcher;
    ``remote_s``: least seconds between two listings of a directory elsewhere."""
    facts = LogdirFacts(path)
    options = Options(step_keys=tuple(step_keys))
    try:
        if is_streamed(path):
            _ask_host(facts, options)
        elif isinstance(path, RemotePath):
            facts.filesystem = path.scheme
            facts.why += "directories are listed every "
            facts.why += f"{remote_s:g} s while they change, rarely while quiet"
            connect([path], SystemClock(), remote_s)
            _find(facts, path, options)
            facts.costs = costs(path)
        else:
            _look_here(facts, options, inotify=inotify)
    except RltuiError as error:
        facts.error, facts.out_of_reach = str(error), isinstance(error, UnreachableError)

    return facts


def _look_here(facts: LogdirFacts, options: Options, *, inotify: bool) -> None:
    """Look below a path of this machine."""
    path = facts.path
    mounts = Mounts()
    facts.filesystem = mounts.kind_of(path)
    if not path.exists():
        facts.why = "there is nothing"
        raise SourceError(f"no such path: {path}")
    directory = path if path.is_dir() else path.parent
    kind = mounts.kind_of(directory)
    facts.inotify = False
    if not inotify:
        facts.why = "watch.inotify is off in the configuration"
    elif not _watched([directory]):
        facts.why = "the system grants no watch (limit of inotify watches or instances?)"
    elif not mounts.reports_writes(directory):
        elsewhere = kind or "this file system"
        facts.why = f"what other hosts write to {elsewhere} is not reported"
    else:
        facts.inotify = True
        facts.why = f"{kind} reports every write"

    found = _find(facts, path, options)
    if facts.inotify:
        watched = len(_watched([d for d, _ in found.directories]))
        known = len(found.directories)
        if watched < known:
            facts.why += f" in {watched:,} of {known:,} directories, the others are polled"
    files = [f.path for r in found.runs for f in r.files]
    facts.unreadable = tuple(p for p in dict.fromkeys(files) if not os.access(p, os.R_OK))
    facts.not_read += _lost_lines(found.runs, options)


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
        lost += [Note(file.path, *note) for note in notes if note.level >= Level.WATCH][:1]

    return tuple(lost)


def _find(facts: LogdirFacts, path: Path, options: Options) -> Discovery:
    """Search below a path that this process can list."""
    found = RunFinder([path], options=options, ends=JobLogs()).find()
    facts.runs = found.runs
    facts.not_read = (*found.notes, *found.refused)
    facts.more = max(0, found.refused_count - len(found.refused))
    return found


def _ask_host(facts: LogdirFacts, options: Options) -> None:
    """Look on another host, by the rltui there if it has one."""
    path = facts.path
    keys: set[RunKey] = set()

    def choose(found: Collection[RunKey]) -> Collection[RunKey]:
        keys.update(found)
        return ()

    on_nodes = isinstance(path, RemotePath) and path.scheme == RAY
    watcher = "a reader on each node" if on_nodes else "the rltui on that host"
    facts.why = f"{watcher} watches, and sends what is new"
    reader_options = ReaderOptions(choose=choose, step_keys=options.step_keys, ends=JobLogs())
    reader = open_reader([path], reader_options)
    try:
        reader.scan()
    finally:
        reader.stop()
    state = reader.state
    if state.instead:
        facts.why = f"{state.instead[path]}: a script that its python3 runs sends whole logs"
        _find(facts, path, options)
        return
    facts.runs = tuple(RunFiles(key, path / key.name, ()) for key in sorted(keys))
    facts.not_read = (*state.notes, *state.unclaimed)


def _watched(directories: Sequence[Path]) -> Collection[Path]:
    """Filter the directories: those that the system can watch."""
    notifier = Notifier(lambda *_: None)
    notifier.start(directories)
    watched = notifier.watched
    notifier.stop()
    return watched
