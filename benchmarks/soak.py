"""A monitor that stays open: ``python -m benchmarks.soak --hours 2 --factor 12``.

100 trainings write event files, JSON lines, CSV tables and console logs, a row of 50 tags every
10 seconds each. Every 20 seconds one of them restarts from a checkpoint, has its log rotated or
written anew, or loses its directory, which comes back later. ``rltui watch`` stays open in a pseudo
terminal, and now and then somebody opens a run, its tabs and its charts. ``--factor`` makes all of
that so many times faster.

Measured over the whole time are CPU, memory, file descriptors and threads. The slope of the
resident memory by points written, of the later three quarters, is compared with what the same
program holds per point when it is started afresh on the logs as they are in the end, with every
directory back. What the slope has more than that is the price of the history of the logs (branches
that were superseded) and whatever is never freed. With ``--calm`` logs only grow: then both should
be the same.
"""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.data import append_step, file_header, scalar, tag_names
from benchmarks.live import STEP, watch
from benchmarks.machine import parser_of, print_report, short
from benchmarks.read import directory_of
from benchmarks.readers import memory
from benchmarks.terminal import Program
from rltui.core.batch import Batch, RunKey, SourceInfo
from rltui.core.block import Block
from rltui.store import RunData

_TAGS = tag_names(50)
_KINDS = [scalar(tag) for tag in _TAGS]
_ROW_S = 10.0
_ACCIDENT_S = 20.0
_VISIT_S = 120.0
_SAMPLE_S = 60.0
#: Rows of an hour, and how many lie between two restarts.
_HOUR_ROWS = 7_200
_EVERY = 60
#: A point may take so many times what it took after half an hour.
_FLAT = 1.1
#: Rows that a training has written when the monitor starts.
_BEGUN = 20
#: Opens a run, its tabs, its charts and findings, and goes back to the list.
_VISIT = (b"\r", b"2", b"3", b"v", b"v", b"\x1b[B", b"\r", b"\x1b", b"f", b"\x1b", b"r", b"\x1b[B")
_NAMES = ("events.out.tfevents.{}.host", "metrics.jsonl", "progress.csv", "train.log")


class Training:
    """One run that writes its log; knows how many points it wrote."""

    def __init__(self, logdir: Path, number: int) -> None:
        self._directory = logdir / f"run_{number:03d}"
        self._name = _NAMES[number % len(_NAMES)]
        self._files = 0
        self._step = 0
        self._rng = random.Random(number)
        self._directory.mkdir(parents=True)
        self.points = 0
        for _ in range(_BEGUN):
            self.write_row()

    @property
    def _path(self) -> Path:
        return self._directory / self._name.format(self._files)

    @property
    def _away(self) -> Path:
        return self._directory.parent.parent / "away" / self._directory.name

    def write_row(self) -> None:
        """Append one row, wherever the file is now."""
        path = self._away / self._path.name if self._away.exists() else self._path
        value, step = self._rng.random() + 1 / (1 + self._step), self._step
        with path.open("ab", 0) as file:
            if "tfevents" in self._name:
                if not file.tell():
                    file.write(file_header())
                append_step(file, _KINDS, step, time.time(), value)
            elif self._name.endswith("jsonl"):
                row = {"step": step, "data": dict.fromkeys(_TAGS, value)}
                file.write(json.dumps(row).encode() + b"\n")
            elif self._name.endswith("csv"):
                head = b"" if file.tell() else ",".join(["step", *_TAGS]).encode() + b"\n"
                file.write(head + f"{step}{f',{value:.6f}' * len(_TAGS)}\n".encode())
            else:
                cells = " - ".join(f"{tag}:{value:.6f}" for tag in _TAGS)
                file.write(f"step:{step} - {cells}\n".encode())
        self._step += 1
        self.points += len(_TAGS)

    def come_back(self) -> bool:
        """Put the directory back where it was; returns whether it was away."""
        if not self._away.exists():
            return False
        self._away.rename(self._directory)
        return True

    def accident(self) -> None:
        """What happens to logs in the course of weeks."""
        if self.come_back():
            return
        if not self._path.exists():  # nothing written since the last accident
            return
        match self._rng.randrange(4):
            case 0:  # resumed from a checkpoint
                self._step = int(self._step * self._rng.uniform(0.5, 1.0))
                self._files += 1
            case 1:  # rotated: the file is moved, and the writer opens it anew
                self._path.rename(self._away.parent / f"{self._directory.name}.{self._step}")
            case 2:  # started again from step 0 with the same name
                self._step = 0
                self._path.unlink()
            case _:
                self._directory.rename(self._away)


@dataclass(frozen=True)
class Sample:
    """The process at one moment."""

    points: int
    memory: float
    """Resident MiB."""
    descriptors: int
    threads: int

    @classmethod
    def of(cls, program: Program, points: int) -> Sample:
        proc = Path(f"/proc/{program.process}")
        counts = [len(list((proc / name).iterdir())) for name in ("fd", "task")]
        return cls(points, program.memory, *counts)


class Soak:
    """Trainings that write for some real seconds while a program watches them."""

    def __init__(
        self, directory: Path, runs: int, factor: float, record: Path | None, *, calm: bool = False
    ) -> None:
        self.logdir = directory / "logs"
        shutil.rmtree(self.logdir, ignore_errors=True)
        shutil.rmtree(directory / "away", ignore_errors=True)
        (directory / "away").mkdir()
        self._trainings = [Training(self.logdir, n) for n in range(runs)]
        self._factor = factor
        self._accident_s = math.inf if calm else _ACCIDENT_S
        self._rng = random.Random(0)
        self._record = record
        self.samples: list[Sample] = []

    @property
    def points(self) -> int:
        """Points written so far."""
        return sum(t.points for t in self._trainings)

    def go_on(self, program: Program, seconds: float) -> None:
        """Write, and watch the watcher."""
        began = time.perf_counter()
        written = accidents = visits = 0
        while (now := time.perf_counter() - began) < seconds:
            due = now * self._factor
            while written < due / _ROW_S * len(self._trainings):
                self._trainings[written % len(self._trainings)].write_row()
                written += 1
            while accidents < due / self._accident_s:
                self._rng.choice(self._trainings).accident()
                accidents += 1
            if visits < due / _VISIT_S:
                visit(program)
                visits += 1
            if now * self._factor >= _SAMPLE_S * len(self.samples):
                self._take_sample(program)
            program.run(0.05)
        for training in self._trainings:
            training.come_back()

    def _take_sample(self, program: Program) -> None:
        self.samples.append(Sample.of(program, self.points))
        if self._record is not None:
            with self._record.open("a") as file:
                file.write(json.dumps(asdict(self.samples[-1])) + "\n")


def visit(program: Program) -> None:
    """Somebody opens the run at the cursor, and goes back to the list."""
    for key in _VISIT:
        program.send(key)
        program.run(0.25)


def points_in(logdir: Path) -> int:
    """Points in the logs as they are."""
    found = 0
    for path in logdir.rglob("*.*"):
        data = path.read_bytes()
        if "tfevents" in path.name:
            found += data.count(_TAGS[0].encode() + b"\x15") * len(_TAGS)
        else:
            found += (data.count(b"\n") - path.name.endswith("csv")) * len(_TAGS)
    return found


def slope(samples: Sequence[Sample]) -> float:
    """Bytes of resident memory for each point written, least squares over the later samples."""
    later = samples[len(samples) // 4 :]
    points, memory = ([getattr(s, name) for s in later] for name in ("points", "memory"))
    return float(np.polyfit(points, memory, 1)[0]) * 2**20


def rested(program: Program, points: int) -> Sample:
    """The process after a visit, once nothing grows any more."""
    program.until(STEP.search, 120)
    program.rest()
    for _ in range(3):
        visit(program)
    program.rest()
    return Sample.of(program, points)


def measured(soak: Soak, directory: Path, seconds: float) -> list[tuple[str, str, str]]:
    """Rows of the table."""
    with watch(directory, soak.logdir) as program:  # compiles: not counted
        rested(program, soak.points)
    with watch(directory, soak.logdir) as program:
        before = rested(program, soak.points)
        cpu, written = program.cpu, program.written
        soak.go_on(program, seconds)
        spent, sent = program.cpu - cpu, program.written - written
        after = rested(program, soak.points)
    stored = points_in(soak.logdir)
    with watch(directory, soak.logdir) as program:
        fresh = rested(program, stored)
    lost = slope(soak.samples)
    anew = (fresh.memory - before.memory) * 2**20 / (stored - before.points)
    rows = after.points - before.points
    rest = (after.memory - before.memory) * 2**20 / rows
    most = [max(getattr(s, n) for s in soak.samples) for n in ("descriptors", "threads")]
    return [
        ("points written", f"{rows:,}", ""),
        ("resident, before and after: MiB", f"{short(before.memory)}, {short(after.memory)}", ""),
        ("memory by points written: bytes a point", short(lost), ""),
        (f"started afresh on {stored:,} points: bytes a point", short(anew), ""),
        ("slope against a fresh start", short(lost / anew), "1.2"),
        (
            "at rest, before to after: bytes a point, against a fresh start",
            f"{short(rest)}, {short(rest / anew)}",
            "",
        ),
        (
            "file descriptors before, most, after",
            f"{before.descriptors}, {most[0]}, {after.descriptors}",
            f"{before.descriptors}",
        ),
        (
            "threads before, most, after",
            f"{before.threads}, {most[1]}, {after.threads}",
            f"{before.threads}",
        ),
        (
            "CPU: % of a core, ms a row",
            f"{short(100 * spent / seconds)}, {short(1000 * spent * len(_TAGS) / rows)}",
            "",
        ),
        ("bytes per second to the terminal", short(sent / seconds), ""),
    ]


def restarts() -> Iterator[tuple[str, str, str]]:
    """Resident bytes a point of runs that restart often, at each sixth of an hour."""
    tags = tuple(tag_names(200))
    for name, files in (("a new file", True), ("the same file", False)):
        runs = [RunData(RunKey(0, f"{name} {n}"), Path("/logs")) for n in range(3)]
        values = np.random.default_rng(0)
        began, found = memory("VmRSS", os.getpid()), list[float]()
        for row in range(_HOUR_ROWS):
            step, file = row - 10 * (row // _EVERY), (row // _EVERY) * files
            source = SourceInfo(Path(f"/logs/{file}"), "jsonl", file, 0, 0, row, 0.0)
            for run in runs:
                cells = values.random((1, len(tags)))
                block = Block(tags, np.array([step]), np.array([1e9 + row / 2]), cells)
                run.apply(Batch(run.key, run.path, source, (block,)))
                if not row % 4:
                    assert all(run.series(tag).count for tag in tags)
            if not (row + 1) % (_HOUR_ROWS // 6):
                points = len(runs) * (row + 1) * len(tags)
                held = sum(run.table.nbytes for run in runs)
                found.append((memory("VmRSS", os.getpid()) - began) * 2**20 / points)
                yield f"{name}, {points:,} points: bytes a point", short(found[-1]), "10"
        yield f"{name}: bytes a point in arrays", short(held / points), ""
        flat = max(found[2:]) <= _FLAT * found[2]
        yield f"{name}: memory a point", "flat" if flat else "**grows**", "flat"


def main(arguments: Sequence[str] | None = None) -> None:
    """Soak and print."""
    parser = parser_of("soak", __doc__, "logs")
    parser.add_argument("--hours", type=float, default=2.0, help="of the trainings")
    parser.add_argument("--factor", type=float, default=12.0, help="how much faster they go")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--samples", type=Path, help="append every sample to this file")
    parser.add_argument("--restarts", action="store_true", help="only runs that restart often")
    parser.add_argument("--calm", action="store_true", help="logs only grow")
    chosen = parser.parse_args(arguments)
    if chosen.restarts:
        print_report(parser, arguments, restarts())
        return
    with directory_of(chosen.data) as directory:
        soak = Soak(directory, chosen.runs, chosen.factor, chosen.samples, calm=chosen.calm)
        rows = measured(soak, directory, 3600 * chosen.hours / chosen.factor)
    print_report(parser, arguments, rows)


if __name__ == "__main__":
    main()
