"""Divides the runs of ``check`` among processes: each judges its share in a session of its own.

One session searches for the runs, and they are named there, for names depend on all of them. What
comes back of each run is what is printed of it.
"""

from __future__ import annotations

import copyreg
import gc
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rltui.config import Config
from rltui.core.errors import SourceError
from rltui.core.level import Level, worst
from rltui.output.json_document import document_of, dump, run_entry
from rltui.output.text_report import CheckedRun, checked_run, checked_text
from rltui.session import Session
from rltui.session.session import Choice
from rltui.sources.discovery.run_files import RunFiles

#: What a run costs beside its bytes, in bytes.
_RUN_BYTES = 40_000


def _read_only(items: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(items)


def _reduced(mapping: MappingProxyType[Any, Any]) -> tuple[Any, tuple[dict[Any, Any]]]:
    return _read_only, (dict(mapping),)


copyreg.pickle(MappingProxyType, _reduced)  # part of a configuration


@dataclass(frozen=True, slots=True)
class Share:
    """What one process judges; it can be pickled."""

    logdirs: tuple[Path, ...]
    config: Config
    choice: Choice
    runs: tuple[RunFiles, ...]
    json: bool
    elsewhere: bool = False
    """Whether the process may run on another host."""


def shares_of(
    session: Session, config: Config, choice: Choice, count: int, *, json: bool
) -> list[Share]:
    """The runs that a session found in at most ``count`` shares of about the same size, the
    largest runs spread first. Their points take as much memory together as in one process."""
    runs = session.found or ()
    count = max(1, min(count, len(runs)))
    watch = replace(config.watch, memory_bytes=config.watch.memory_bytes // count)
    config, choice = replace(config, watch=watch), replace(choice, run_glob=None)
    parts: list[list[RunFiles]] = [[] for _ in range(count)]
    loads = [0] * count
    for run in sorted(runs, key=_size, reverse=True):
        least = loads.index(min(loads))
        parts[least].append(run)
        loads[least] += _size(run)
    return [Share(session.logdirs, config, choice, tuple(part), json) for part in parts]


def _size(run: RunFiles) -> int:
    return _RUN_BYTES + sum(file.size for file in run.files)


def judged(share: Share) -> list[CheckedRun]:
    """The runs of a share, read to their end. Raises SourceError if this host has not their
    files."""
    if share.elsewhere:
        _need_files(share)
    collected = gc.isenabled()
    gc.disable()  # what is read is needed to the end: nothing is garbage
    try:
        session = Session(share.logdirs, share.config, choice=share.choice)
        session.adopt(share.runs)
        session.read_all()
        return [_checked(run, json=share.json) for run in session.runs()]
    finally:
        if collected:
            gc.enable()


def _checked(run: Any, *, json: bool) -> CheckedRun:
    found = checked_run(run)
    if not json:
        return found
    entry = run_entry(run)
    faults = tuple(fault.text for fault in run.faults.values())
    return replace(found, badge="", standing="", lines=(), faults=faults, entry=entry)


def _need_files(share: Share) -> None:
    for run in share.runs:
        for file in run.files:
            if not file.path.exists():
                import socket

                raise SourceError(
                    f"{file.path}: is not on the host {socket.gethostname()}; --ray needs paths "
                    "that all nodes see (ray:///PATH reads what lies on each node)"
                )


class Judged:
    """The runs of all shares, as one session would have judged them."""

    def __init__(self, session: Session, found: Iterable[CheckedRun]) -> None:
        self._session = session
        runs = sorted(found, key=lambda run: run.key)
        chosen = session.naming.chosen([run.key for run in runs])
        self.runs = [run for run in runs if run.key in chosen]

    @property
    def is_whole(self) -> bool:
        """Whether some run is readable, and no two shares gave a file that belongs to another run
        the same name: else one process has to judge them."""
        keys = {run.key for run in self.runs}
        return len(keys) == len(self.runs) and any(r.is_readable for r in self.runs)

    @property
    def faults(self) -> list[str]:
        """What rltui itself failed in, for which run."""
        names = self._session.naming.names([run.key for run in self.runs])
        pairs = zip(self.runs, names, strict=True)
        return [f"{name}: {fault}" for run, name in pairs for fault in run.faults]

    @property
    def level(self) -> Level:
        """The worst of all."""
        return worst(run.level for run in self.runs)

    def json(self) -> str:
        """See :func:`~rltui.output.json_document.check_document`."""
        entries = [dict(run.entry or {}) for run in self.runs]
        return dump(document_of(self._session, entries, (r.level for r in self.runs)))

    def text(self) -> str:
        """See :func:`~rltui.output.text_report.check_text`."""
        names = self._session.naming.names([run.key for run in self.runs])
        return checked_text(self.runs, names)
