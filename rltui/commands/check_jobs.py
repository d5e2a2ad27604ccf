"""Divides the runs of ``check`` among processes: each judges its share in a session of its own.

One session searches for the runs, and they are named there, for names depend on all of them. What
comes back of each run is what is printed of it.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from rltui.commands.command import choice_of
from rltui.config import Config
from rltui.core.errors import RltuiError, SourceError, UsageError
from rltui.core.installation import cache_directory
from rltui.core.kept_documents import keeping
from rltui.core.level import Level, worst
from rltui.core.text import Json
from rltui.output.brief import brief_of
from rltui.output.brief_entry import brief_entry
from rltui.output.json_document import document_of, run_entry
from rltui.output.json_text import dump
from rltui.output.text_report import CheckedRun, checked_run, checked_text
from rltui.session import JudgedRun, Session
from rltui.session.session import Choice
from rltui.sources.discovery.run_files import RunFiles

#: Runs of a task on a cluster, at least, and tasks per core: some of them take longer.
_TASK_RUNS = 16
_TASKS_PER_CORE = 2
#: What a run costs beside its bytes, in bytes.
_RUN_BYTES = 40_000
T = TypeVar("T")
R = TypeVar("R")


def divided(
    options: argparse.Namespace, session: Session, config: Config, count: int
) -> Judged | None:
    """The runs that a session found, judged by ``count`` processes, or on a cluster; None when
    the session is to judge them."""
    form = options.format or "text"
    found: Iterable[list[CheckedRun]]
    if options.ray:
        found = _on_cluster(session, config, choice_of(options), form)
    else:
        shares = shares_of(session, config, choice_of(options), count, form)
        found = in_processes(judged, shares[1:], shares[:1])
    all_runs = Judged(session, (run for part in found for run in part))

    return all_runs if all_runs.is_whole else None


def _on_cluster(
    session: Session, config: Config, choice: Choice, form: str
) -> Iterator[list[CheckedRun]]:
    from rltui.remote.ray.tasks import TaskCluster  # Ray is an extra

    runs = session.found
    if runs is None:
        raise UsageError("--ray: needs paths that all nodes see; ray:///PATH works without it")
    cluster = TaskCluster()
    try:
        count = min(_TASKS_PER_CORE * cluster.cores, len(runs) // _TASK_RUNS + 1)
        shares = shares_of(session, config, choice, count, form)
        yield from cluster.map(judged, [s._replace(elsewhere=True) for s in shares])
    finally:
        cluster.close()


class Share(NamedTuple):
    """Share of the runs that one process judges; it can be pickled."""

    logdirs: tuple[Path, ...]
    config: Config
    choice: Choice
    runs: tuple[RunFiles, ...]
    form: str
    """Form of the output: text, json, brief."""
    elsewhere: bool = False
    """Whether the process may run on another host."""


def shares_of(
    session: Session, config: Config, choice: Choice, count: int, form: str
) -> list[Share]:
    """The runs that a session found in at most ``count`` shares of about the same size, the
    largest runs spread first. Their points take as much memory together as in one process."""
    runs = session.found or ()
    count = max(1, min(count, len(runs)))
    watch = replace(config.watch, memory_bytes=config.watch.memory_bytes // count)
    config = replace(config, watch=watch)
    choice = choice._replace(run_glob=None)
    parts: list[list[RunFiles]] = [[] for _ in range(count)]
    loads = [0] * count
    for run in sorted(runs, key=_size, reverse=True):
        least = loads.index(min(loads))
        parts[least].append(run)
        loads[least] += _size(run)

    return [Share(session.logdirs, config, choice, tuple(part), form) for part in parts]


def _size(run: RunFiles) -> int:
    return _RUN_BYTES + sum(file.size for file in run.files)


def judged(share: Share) -> list[CheckedRun]:
    """The runs of a share, read to their end. Raises SourceError if this host has not their
    files."""
    for file in (file for run in share.runs for file in run.files if share.elsewhere):
        if not file.path.exists():
            raise SourceError(
                f"{file.path}: is not on the host {socket.gethostname()}; --ray needs paths "
                "that all nodes see (ray:///PATH reads what lies on each node)"
            )

    collected = gc.isenabled()
    gc.disable()  # what is read is needed to the end: nothing is garbage
    try:
        session = Session(share.logdirs, share.config, choice=share.choice)
        session.adopt(share.runs)
        session.read_all()
        return [_checked(run, share.form) for run in session.runs()]
    finally:
        if collected:
            gc.enable()


def _checked(run: JudgedRun, form: str) -> CheckedRun:
    """Output for a run: its text, or the JSON that the form is made of."""
    found = checked_run(run)
    if form == "text":
        return found
    entry = run_entry(run) if form == "json" else brief_entry(run)  # which may add to the faults
    faults = tuple(fault.text for fault in run.faults.values())
    return found._replace(badge="", standing="", lines=(), faults=faults, entry=entry)


class Judged:
    """The runs of all shares, as one session would have judged them."""

    def __init__(self, session: Session, found: Iterable[CheckedRun]) -> None:
        self._session = session
        runs = sorted(found, key=lambda run: run.key)
        chosen = session.naming.chosen([run.key for run in runs])
        self.runs = [run for run in runs if run.key in chosen]
        self._names = session.naming.names([run.key for run in self.runs])

    @property
    def is_whole(self) -> bool:
        """Whether some run is readable, and no two shares gave a file that belongs to another run
        the same name: else one process has to judge them."""
        keys = {run.key for run in self.runs}
        return len(keys) == len(self.runs) and any(r.is_readable for r in self.runs)

    @property
    def faults(self) -> list[str]:
        """Internal errors of rltui, one line each, with the name of the run."""
        pairs = zip(self.runs, self._names, strict=True)
        return [f"{name}: {fault}" for run, name in pairs for fault in run.faults]

    @property
    def level(self) -> Level:
        """The worst level of all runs."""
        return worst(run.level for run in self.runs)

    @property
    def entries(self) -> list[Json]:
        """Entries of the runs in JSON."""
        pairs = zip(self.runs, self._names, strict=True)
        return [{**(run.entry or {}), "name": name} for run, name in pairs]

    def json(self) -> str:
        """See :func:`~rltui.output.json_document.check_document`."""
        return dump(document_of(self._session, self.entries, (r.level for r in self.runs)))

    def brief(self, *, skipped: bool) -> Json:
        """See :func:`~rltui.output.brief.brief_document`."""
        return brief_of(self._session, self.entries, self._names, skipped=skipped)

    def text(self) -> str:
        """See :func:`~rltui.output.text_report.check_text`."""
        return checked_text(self.runs, self._names)


# -- processes -----------------------------------------------------------------------------


def in_processes(
    function: Callable[[T], R], items: Sequence[T], here: Sequence[T] = ()
) -> Iterator[R]:
    """The results, in the order in which they come. ``function`` and ``items`` are pickled; this
    process works on those of ``here`` meanwhile: it has what the others must import and load.

    Raises RltuiError with the text of one that a process raised, RuntimeError for any other
    failure of one, and what ``function`` raises here. All processes have ended when the iterator
    has, and end when this process does.
    """
    context = multiprocessing.get_context("spawn")
    others = multiprocessing.active_children()
    pool = ProcessPoolExecutor(max(1, len(items)), context, _end_with_parent)
    try:
        # Ctrl+c is for this process, which ends the others: they inherit that it is blocked
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            calls = [pool.submit(_answer, function, item) for item in items]
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

        for item in here:
            yield function(item)
        for call in as_completed(calls):
            error, expected, result = call.result()
            if error:
                raise RltuiError(error) if expected else RuntimeError(error)
            yield result
    except BrokenProcessPool:
        raise RuntimeError("a process ended before it had judged its runs") from None
    finally:
        for process in multiprocessing.active_children():
            if process not in others:
                process.terminate()
        pool.shutdown(cancel_futures=True)


def _answer(function: Callable[[Any], Any], item: Any) -> tuple[str, bool, Any]:
    """Call a function; return the error, whether people are told it as it is, and the result."""
    try:
        with keeping(cache_directory(os.environ) / "documents"):
            return "", False, function(item)
    except RltuiError as error:
        return str(error), True, None
    except Exception as error:  # noqa: BLE001 - raised by the process that waits
        return f"{type(error).__name__}: {error}", False, None


def _end_with_parent() -> None:
    """Have this process end when the one that waits for it does, however that ends."""
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
