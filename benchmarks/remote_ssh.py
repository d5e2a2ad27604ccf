"""What a log on another host costs: ``python -m benchmarks.remote_ssh --seconds 30``.

A command in place of ssh runs ``rltui stream`` on this machine, so that network and encryption
are left out. Reported are the bytes that arrive, the processor time on both sides, and, of runs
that grow, the delay from the write of a row to its batch here.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np

from benchmarks.data import SHAPES
from rltui.core.address import parse_logdir
from rltui.remote import ReaderOptions, Reading, open_reader
from rltui.remote.ssh import reader as ssh_reader
from rltui.remote.ssh.connection import CommandProcess

_SSH = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift 2
echo $$ > {pid}
exec sh -c "exec $*"
"""
_RUNS, _TAGS = 100, 20
_HEAD = """\
| log | points | MB | MB on the wire | bytes a point | factor | CPU s there | CPU s here | s |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""


class CountedLink(CommandProcess):
    """Counts what arrives."""

    received = 0

    def receive(self) -> bytes:
        data = super().receive()
        CountedLink.received += len(data)
        return data


@dataclass
class FarHost:
    """This machine, as another one."""

    directory: Path

    def reader(self, logdir: Path) -> Reading:
        """A reader of a logdir there."""
        script = self.directory / "ssh"
        script.write_text(_SSH.format(pid=shlex.quote(str(self.directory / "pid"))))
        script.chmod(0o755)
        os.environ["RLTUI_SSH"] = shlex.quote(str(script))
        os.environ["RLTUI_REMOTE_COMMAND"] = shlex.join([sys.executable, "-m", "rltui"])
        CountedLink.received = 0
        reader = open_reader([parse_logdir(f"far:{logdir}")], ReaderOptions())
        reader.scan()
        return reader

    def cpu(self) -> float:
        """Seconds of processor time of the other side by now."""
        fields = self._proc("stat").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> int:
        """Most memory that the other side has held, MiB."""
        return int(self._proc("status").partition("VmHWM:")[2].split()[0]) >> 10

    def _proc(self, name: str) -> str:
        pid = (self.directory / "pid").read_text().strip()
        return Path(f"/proc/{pid}/{name}").read_text()


def first_reading(name: str, scale: float) -> None:
    """Read a set of logs whole."""
    shape = SHAPES[name]
    with tempfile.TemporaryDirectory() as made:
        root = Path(made) / "logs"
        shape.make(root, round(shape.steps * scale))
        size = sum(f.stat().st_size for f in root.rglob("*") if f.is_file())
        far = FarHost(Path(made))
        begin, mine = time.monotonic(), time.process_time()
        points, theirs, memory = 0, 0.0, 0
        for batch in far.reader(root).read_all():
            if not batch.sampled:
                points += sum(block.points for block in batch.blocks)
            theirs, memory = far.cpu(), far.memory()
        wall, mine = time.monotonic() - begin, time.process_time() - mine
    received = CountedLink.received
    _say(
        f"| {shape.about} | {points:,} | {size / 1e6:.0f} | {received / 1e6:.2f} "
        f"| {received / points:.2f} | {size / received:.0f} | {theirs:.1f} | {mine:.1f} "
        f"| {wall:.1f} | {memory} |"
    )


def live(seconds: float, runs: int = _RUNS) -> None:
    """Follow runs that write a row each second; every row holds the time when it was written."""
    with tempfile.TemporaryDirectory() as made:
        logs = [Path(made) / "logs" / f"run{n}" / "metrics.jsonl" for n in range(runs)]
        rng = np.random.default_rng(0)
        for log in logs:
            log.parent.mkdir(parents=True)
            _append(log, 0, rng)
        far = FarHost(Path(made))
        reader = far.reader(Path(made) / "logs")
        reader.start()
        waiting = runs
        while waiting > 0:
            reader.wait(1)
            waiting -= sum(len(block.steps) for b in reader.drain() for block in b.blocks)
        before, theirs, mine = CountedLink.received, far.cpu(), time.process_time()
        writing = 0.0
        delays: list[float] = []
        points, rows, begin = 0, 0, time.monotonic()
        while (passed := time.monotonic() - begin) < seconds + 2:
            due = min(int(passed * runs), int(seconds * runs))
            cpu = time.process_time()
            for row in range(rows, due):
                _append(logs[row % runs], 1 + row // runs, rng)
            rows, writing = due, writing + time.process_time() - cpu
            reader.wait(0.01)
            now = time.time()
            for batch in reader.drain():
                for block in batch.blocks:
                    points += block.points
                    if "written" in block.tags:
                        column = block.values[:, block.tags.index("written")]
                        delays += [now - float(t) for t in column]
        mine = time.process_time() - mine - writing
        received, theirs = CountedLink.received - before, far.cpu() - theirs
        reader.stop()
    middle, most = np.percentile(delays, [50, 95]) * 1000
    _say(f"| rows and points that arrived | {len(delays):,} of {rows:,}, {points:,} |")
    _say(f"| bytes a point, bytes a second | {received / points:.2f}, {received / seconds:,.0f} |")
    _say(f"| delay from write to batch: median, 95 % in ms | {middle:.0f}, {most:.0f} |")
    _say(
        f"| CPU there and here: % of a core | {100 * theirs / seconds:.1f}, "
        f"{100 * mine / seconds:.1f} |"
    )


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


def _append(log: Path, step: int, rng: np.random.Generator) -> None:
    values = rng.random(_TAGS).astype(np.float32)
    row = {f"actor/metric_{n}": float(v) for n, v in enumerate(values)}
    with log.open("a") as out:
        out.write(json.dumps({"step": step, "written": time.time(), **row}) + "\n")


def main() -> None:
    """Measure and print tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0, help="of following")
    parser.add_argument("--scale", type=float, default=0.2, help="of the logs that are read")
    parser.add_argument("--sets", default="a,b,j20", help="of benchmarks.data")
    options = parser.parse_args()
    with patch.object(ssh_reader, "CommandProcess", CountedLink):
        head = "log|points|MB|MB on the wire|bytes a point|factor|CPU s there|here|s|MiB there"
        _say(f"| {head.replace('|', ' | ')} |\n| --- |{' ---: |' * 9}")
        for name in filter(None, options.sets.split(",")):
            first_reading(name, options.scale)
        if options.seconds:
            _say(f"\n{_RUNS} runs, a row of {_TAGS + 1} tags each second\n")
            _say("| what | measured |\n| --- | ---: |")
            live(options.seconds)


if __name__ == "__main__":
    main()
