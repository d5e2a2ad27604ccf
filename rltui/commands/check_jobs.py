"""How many processes judge the runs of ``check``, and where."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rltui.commands.command import choice_of, number_in
from rltui.commands.standard_input import is_piped
from rltui.core.address import is_remote
from rltui.core.errors import UsageError

if TYPE_CHECKING:
    from rltui.commands.check_share import Judged
    from rltui.config import Config
    from rltui.output.text_report import CheckedRun
    from rltui.session import Session

#: Runs from which on several processes judge them, and how many processes at most unless asked.
_MANY_RUNS, _MOST_JOBS, _MOST_PROCESSES = 64, 8, 256
#: Runs of a task on a cluster, at least, and tasks per core: some of them take longer.
_TASK_RUNS, _TASKS_PER_CORE = 16, 2


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """Options that divide the runs."""
    parser.add_argument(
        "-j",
        "--jobs",
        metavar="N",
        type=number_in(1, _MOST_PROCESSES, f"from 1 to {_MOST_PROCESSES} processes"),
        help=f"processes that judge the runs (default: one per core, at most {_MOST_JOBS}, for "
        f"more than {_MANY_RUNS} runs; with --reference always one)",
    )
    parser.add_argument(
        "--ray",
        action="store_true",
        help="judge the runs as tasks of the Ray cluster of RAY_ADDRESS or of this machine",
    )


def refuse_jobs(options: argparse.Namespace) -> None:
    """Raise UsageError where the runs cannot be divided as asked."""
    if options.ray and (options.follow or options.reference is not None or not _divides(options)):
        raise UsageError("--ray is for text or JSON, without --follow and --reference")


def _divides(options: argparse.Namespace) -> bool:
    """Whether what is printed of a run depends on that run alone."""
    return options.format in (None, "text", "json")


def divided(options: argparse.Namespace, session: Session, config: Config) -> Judged | None:
    """The runs that a session found, judged by several processes; None when the session is to
    judge them."""
    count = _process_count(options, session)
    if count < 2 and not options.ray:
        return None
    from rltui.commands.check_share import Judged, judged, shares_of
    from rltui.commands.worker_processes import in_processes

    if options.ray:
        found = Judged(session, _on_cluster(options, session, config))
    else:
        json = options.format == "json"
        shares = shares_of(session, config, choice_of(options), count, json=json)
        parts = in_processes(judged, shares[1:], shares[:1])
        found = Judged(session, (run for part in parts for run in part))
    return found if found.is_whole else None


def _on_cluster(
    options: argparse.Namespace, session: Session, config: Config
) -> Iterator[CheckedRun]:
    from dataclasses import replace

    from rltui.commands.check_share import judged, shares_of
    from rltui.remote.ray.tasks import TaskCluster

    runs = session.found
    if runs is None:
        raise UsageError("--ray: needs paths that all nodes see; ray:///PATH works without it")
    cluster = TaskCluster()
    try:
        count = min(_TASKS_PER_CORE * cluster.cores, len(runs) // _TASK_RUNS + 1)
        json = options.format == "json"
        shares = shares_of(session, config, choice_of(options), count, json=json)
        for part in cluster.map(judged, [replace(s, elsewhere=True) for s in shares]):
            yield from part
    finally:
        cluster.close()


def _process_count(options: argparse.Namespace, session: Session) -> int:
    """How many processes are to judge the runs; 1 where they must see each other, or where only
    this process has what it reads."""
    runs = session.found
    if runs is None or options.reference is not None or not _divides(options):
        return 1
    if is_piped(options) or any(map(is_remote, session.logdirs)):
        return 1
    if options.jobs is not None:
        return min(int(options.jobs), len(runs))
    return min(_cores(), _MOST_JOBS) if len(runs) > _MANY_RUNS else 1


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1
