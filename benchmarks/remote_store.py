"""What following runs on servers costs: ``python -m benchmarks.remote_store``.

Servers on this machine, each with its own protocol: S3 (moto), SFTP (sshd), HTTP with ranges.
``--runs`` runs of 20 metrics are read, then one row is appended to each of them every
``--every`` seconds for ``--seconds``. Measured are

- delay: seconds from the end of an append until its step comes out of the reader, which polls
  every ``--pace`` seconds at the least;
- bytes: asked for against appended, beyond those the constant of each range;
- requests: lists and ranges a minute while all runs grow, and lists a minute when they then are
  quiet (ever fewer, down to one a minute for each directory);
- CPU of the reader's process, servers apart, without their client libraries' start.

Needs the extras of the project, moto[server], s3fs and sshd; what is missing is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.machine import describe, median, percentile, short, table
from rltui.core.address import RemotePath, parse_logdir
from rltui.core.clock import SystemClock
from rltui.files import disk
from rltui.remote.ssh.files import HostStore
from rltui.sources.follow.reader import Reader
from rltui.sources.options import Intervals, ReaderOptions
from tests.remote.ssh.far_host import ssh_of_this_machine
from tests.remote.stores import FolderShelf, S3Shelf, Shelf, s3_server

_METRICS = [f"train/metric_{i}" for i in range(20)]
_FIRST = 200
Serve = Callable[[Path], AbstractContextManager[Shelf]]


@dataclass(frozen=True)
class Load:
    """What is written, and how it is polled."""

    runs: int
    every: float
    seconds: float
    pace: float


def main() -> None:
    """Measure all servers and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--every", type=float, default=2.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--pace", type=float, default=5.0)
    options = parser.parse_args()
    load = Load(options.runs, options.every, options.seconds, options.pace)
    rows = []
    for name, serve in (("s3", _s3), ("ssh", _host)):
        rows += _served(name, serve, load)
    heads = (
        *("server", "delay s, median", "95 %", "bytes appended", "asked for", "more in a range"),
        *("lists a minute", "reads a minute", "in the next, quiet", "CPU % of a core"),
    )
    command = f"python -m benchmarks.remote_store {' '.join(sys.argv[1:])}"
    lines = [f"Command: `{command.strip()}`", "", *describe(), "", *table(heads, rows)]
    sys.stdout.write("\n".join(lines) + "\n")


def _served(name: str, serve: Serve, load: Load) -> list[tuple[str, ...]]:
    """The row of a server; none when it cannot be had here."""
    try:
        with tempfile.TemporaryDirectory() as folder, serve(Path(folder)) as shelf:
            return [(name, *_measured(shelf, load))]
    except pytest.skip.Exception as missing:
        sys.stderr.write(f"{name}: {missing}\n")
        return []


class WebShelf(FolderShelf):
    """Served by this process, whose CPU therefore shows nothing."""


def _row(step: int) -> bytes:
    values = {name: step * 0.001 + i for i, name in enumerate(_METRICS)}
    return f"{json.dumps({'step': step, **values})}\n".encode()


def _measured(shelf: Shelf, load: Load) -> tuple[str, ...]:
    names = [f"run{i:03}" for i in range(load.runs)]
    for name in names:
        shelf.put(f"{name}/metrics.jsonl", b"".join(map(_row, range(_FIRST))))
    path = parse_logdir(shelf.address)
    reader = Reader([path], ReaderOptions(watch=Intervals(remote_s=load.pace)))
    reader.start()
    seen: dict[tuple[str, int], float] = {}
    _take_until(reader, seen, lambda: len({run for run, _ in seen}) == load.runs)
    reader.loop.listening.wait(60)
    before, cpu = disk.costs(path), _cpu()
    writer = _Writer(shelf, names, load)
    writer.start()
    begin = time.monotonic()
    _take_until(reader, seen, lambda: not writer.is_alive())
    live_s, live_cpu, live = time.monotonic() - begin, _cpu() - cpu - writer.cpu, disk.costs(path)
    last = _FIRST + writer.steps - 1
    _take_until(reader, seen, lambda: all((name, last) in seen for name in names))
    whole = disk.costs(path)
    begin = time.monotonic()
    _take_until(reader, seen, lambda: time.monotonic() - begin > load.seconds)
    quiet = disk.costs(path)
    reader.stop()
    assert before
    assert live
    assert whole
    assert quiet
    delays = [seen[key] - at for key, at in writer.written.items()]
    ranges, asked = whole.reads - before.reads, whole.bytes_read - before.bytes_read
    return (
        *(short(median(delays)), short(percentile(delays, 0.95))),
        *(f"{writer.bytes:,}", f"{asked:,}", f"{(asked - writer.bytes) / max(1, ranges):.0f}"),
        *(
            f"{(b - a) * 60 / live_s:.0f}"
            for a, b in ((before.lists, live.lists), (before.reads, live.reads))
        ),
        f"{(quiet.lists - whole.lists) * 60 / load.seconds:.0f}",
        "" if isinstance(shelf, WebShelf) else short(100 * live_cpu / live_s),
    )


def _take_until(
    reader: Reader, seen: dict[tuple[str, int], float], done: Callable[[], bool]
) -> None:
    """Note when each step of each run came, until ``done``."""
    while not done():
        reader.wait(0.05)
        batches = reader.drain()
        now = time.monotonic()
        for batch in batches:
            for block in batch.blocks:
                for step in block.steps:
                    seen.setdefault((batch.run.name, int(step)), now)


class _Writer(threading.Thread):
    """Appends a row to every run, again and again."""

    def __init__(self, shelf: Shelf, names: list[str], load: Load) -> None:
        super().__init__(daemon=True)
        self.written: dict[tuple[str, int], float] = {}
        self.bytes = self.steps = 0
        self.cpu = 0.0
        self._shelf, self._names, self._load = shelf, names, load

    def run(self) -> None:
        begin = time.monotonic()
        while time.monotonic() - begin < self._load.seconds:
            step = _FIRST + self.steps
            row, self.steps = _row(step), self.steps + 1
            for name in self._names:
                self._shelf.append(f"{name}/metrics.jsonl", row)
                self.written[name, step] = time.monotonic()
                self.bytes += len(row)
            self.cpu = time.thread_time()
            time.sleep(self._load.every)


def _cpu() -> float:
    times = os.times()
    return times.user + times.system


@contextmanager
def _s3(_: Path) -> Iterator[Shelf]:
    with s3_server() as url:
        fake = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}
        os.environ.update({**fake, "AWS_DEFAULT_REGION": "us-east-1", "AWS_ENDPOINT_URL": url})
        yield S3Shelf(url)


@contextmanager
def _host(folder: Path) -> Iterator[Shelf]:
    """A host without rltui: this machine, without network and encryption."""
    logs = folder / "logs"
    logs.mkdir()
    os.environ["RLTUI_SSH"], _ = ssh_of_this_machine(folder)
    os.environ["RLTUI_REMOTE_PYTHON"] = sys.executable
    store = HostStore(RemotePath("ssh:", "node7"), SystemClock())
    yield FolderShelf(logs, f"node7:{logs}")
    store.close()


if __name__ == "__main__":
    main()
