"""Hosts for tests: commands in place of ssh, which run on this machine."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from rltui.core.address import parse_logdir
from rltui.core.batch import Batch
from rltui.files.trouble import Backoff
from rltui.remote import ReaderOptions, Reading, open_reader
from rltui.sources.options import Intervals
from rltui.store import Store
from tests.builders import append_rows

ROOT = Path(__file__).parents[3]
#: Skips the options and the host, and runs the command as sshd does: by a shell.
_SSH = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift 2
echo $$ >> {pids}
exec sh -c "$*"
"""
#: Seconds that something may take on a busy machine.
PATIENCE_S = 60.0
FAST = ReaderOptions(watch=Intervals(fast_s=0.05, slow_s=0.2, rescan_s=0.2))


@dataclass
class FarHost:
    """A host that is this machine."""

    pids: Path
    """File with the process ids of the connections, one per line."""

    @property
    def connections(self) -> list[int]:
        """Ids of the process groups that were started, also of those that have ended."""
        return [int(x) for x in self.pids.read_text().split()] if self.pids.exists() else []

    def cut(self) -> None:
        """End the newest connection as a crash would, and what runs behind it."""
        with suppress(ProcessLookupError):  # a busy machine has not connected again yet
            os.killpg(self.connections[-1], signal.SIGKILL)


def ssh_of_this_machine(directory: Path) -> tuple[str, Path]:
    """A command in place of ssh, written into ``directory``, and the file of its process ids."""
    script, pids = directory / "ssh", directory / "pids"
    script.write_text(_SSH.format(pids=shlex.quote(str(pids))))
    script.chmod(0o755)
    return shlex.quote(str(script)), pids


def soon_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts to connect follow each other at once."""
    monkeypatch.setattr("rltui.remote.stream_reader.Backoff", partial(Backoff, 0.01, 0.05))


@pytest.fixture
def far_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FarHost:
    """Makes ``HOST:/path`` mean this machine, whatever HOST is."""
    command, pids = ssh_of_this_machine(tmp_path)
    soon_again(monkeypatch)
    monkeypatch.setenv("RLTUI_SSH", command)
    monkeypatch.setenv("RLTUI_REMOTE_COMMAND", shlex.join([sys.executable, "-m", "rltui"]))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return FarHost(pids)


def reader_of(*addresses: str, options: ReaderOptions | None = None) -> Reading:
    """A reader of logdirs as on the command line."""
    return open_reader([parse_logdir(a) for a in addresses], options or ReaderOptions())


def append(log: Path, first: int, rows: int) -> None:
    """Append rows with the steps from ``first`` on."""
    append_rows(log, rows, first)


class Watched:
    """What a live reader has brought by now."""

    def __init__(self, reader: Reading) -> None:
        self.reader = reader
        self.store = Store()
        self.batches: list[Batch] = []

    def wait(self) -> bool:
        """Take in what comes next; False when nothing comes for long."""
        came = self.reader.wait(PATIENCE_S)
        for batch in self.reader.drain():
            self.batches.append(batch)
            self.store.apply(batch)
        return came

    def until(self, runs: int, points: int) -> None:
        """Wait until this many points of so many runs have come."""
        while len(self.store.runs) < runs or self.points < points:
            assert self.wait(), (len(self.store.runs), self.points)

    @property
    def points(self) -> int:
        """Points of ``loss`` that are shown."""
        return sum(run.series("loss").count for run in self.store.runs.values())

    def assert_whole(self, rows: dict[str, int]) -> None:
        """Every run has its rows, each once."""
        assert {key.name for key in self.store.runs} == set(rows)
        for key, run in self.store.runs.items():
            series = run.series("loss")
            assert list(series.steps) == list(range(rows[key.name]))
            assert [v - 0.25 for v in series.values] == list(series.steps)
            assert not series.old_count
