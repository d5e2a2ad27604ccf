"""The real program over logs that are spoiled in every way while it watches them.

``rltui watch`` in a pseudo terminal and ``rltui check --follow --json`` run while random things
happen to a directory of real files. In the end every log is written anew, whole: both must then say
what a fresh ``rltui check --json`` says, and what was written, and hold open what they held in the
beginning. File systems that fail are those of ``tests/sources/test_fault_machine.py``.

``RLTUI_OUTSIDE_STEPS=2000`` goes on for longer, ``RLTUI_OUTSIDE_SEED`` takes another course.
"""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.terminal import Program, quiet_home
from tests.clock import ManualClock
from tests.sources.faulty_logs import FORMS, DiskTime, Log, Point
from tests.sources.faulty_stores import StoreLog, Trackio

STEPS = int(os.environ.get("RLTUI_OUTSIDE_STEPS", "40"))
SEED = int(os.environ.get("RLTUI_OUTSIDE_SEED", "1"))
TAGS = ("actor/entropy", "critic/score/mean", "response_length/mean", "actor/grad_norm")
RUNS = ("tfevents", "jsonl", "csv", "console", "logs/wandb", "swanlab", "proj")
ROWS = 120
#: What a busy machine may take to notice everything.
PATIENCE_S = 90.0


def environment(home: Path) -> dict[str, str]:
    """Looks follow each other soon."""
    watch = {"FAST_S": "0.05", "SLOW_S": "0.2", "RESCAN_S": "0.5"}
    return quiet_home(home) | {f"RLTUI_WATCH_{name}": value for name, value in watch.items()}


class RealTime(DiskTime):
    """The files have the times that the file system gives them."""

    def __init__(self) -> None:
        super().__init__(ManualClock(), 0)

    def stamp(self, path: Path) -> None:
        pass


class TrainingMixin(Log):
    """Rows of a training whose entropy collapses or does not."""

    collapses = False

    def _next_points(self) -> list[Point]:
        self._uid += 1
        self.step += 1
        step = self.step - 1
        entropy = 0.8 + 0.001 * (step % 7) + 1e-9 * self._uid
        if self.collapses and step > 70:
            entropy *= 0.8 ** (step - 70)
        values = (entropy, 0.2 + step * entropy / 400, 300.0 + step % 5, 0.3 + (step % 3) / 100)
        return [(tag, step, value) for tag, value in zip(TAGS, values, strict=True)]


class Training(TrainingMixin):
    pass


class StoredTraining(TrainingMixin, StoreLog):
    pass


def begun(logdir: Path) -> list[TrainingMixin]:
    """A log of each format."""
    logs: list[TrainingMixin] = [Training(f(TAGS), logdir, RealTime()) for f in FORMS]
    logs.append(StoredTraining(Trackio(TAGS), logdir, RealTime()))
    for log in logs:
        log.begin(0, 30)
    return logs


class Vandal:
    """Does what happens to files."""

    def __init__(self, rng: random.Random, aside: Path) -> None:
        self._rng = rng
        self._aside = aside
        aside.mkdir()
        self._hidden: list[Path] = []
        self._moved = 0

    def strike(self, log: Log) -> None:
        """Let one thing happen to a log."""
        if not log.existing:
            log.begin(self._rng.randrange(40), self._rng.randrange(20))
            return
        rng, form = self._rng, log.form
        deeds: tuple[Callable[[], object], ...] = (
            lambda: log.append(rng.randrange(1, 8)),
            lambda: log.append(rng.randrange(1, 8)),
            lambda: log.tear(rng.random()),
            lambda: log.spoil(rng.choice((form.garbage, bytes(rng.randrange(1, 9000))))),
            lambda: log.cut(rng.randrange(4000)),
            lambda: log.begin(rng.randrange(40), rng.randrange(30)),
            lambda: self._replace(log),
            lambda: self._rotate(log),
            lambda: self._hide(log),
            *(log.crash, log.recover, log.delete),
        )
        rng.choice(deeds)()

    def _replace(self, log: Log) -> None:
        if self._rng.random() < 0.5 and log.size and not log.content.headless:
            log.replace_by_copy(self._aside)
        else:
            log.replace_by_other(self._aside, self._rng.randrange(40))

    def _rotate(self, log: Log) -> None:
        self._moved += 1
        log.move(self._aside / str(self._moved))
        log.begin(log.step, self._rng.randrange(10))

    def _hide(self, log: Log) -> None:
        """The directory goes away, is a file, or cannot be read; for a moment."""
        log.crash()
        directory, away = log.path.parent, self._aside / f"dir-{log.form.name}"
        directory.rename(away)
        kind = self._rng.randrange(3)
        if kind == 1:
            directory.write_bytes(b"no directory\n")
        elif kind == 2:
            directory.mkdir(mode=0)
        self._hidden.append(directory)

    def restore(self) -> None:
        """Bring a hidden directory back."""
        for directory in self._hidden:
            away = self._aside / f"dir-{directory.name}"
            if directory.is_file():
                directory.unlink()
            elif directory.is_dir():
                directory.rmdir()
            away.rename(directory)
        self._hidden.clear()


@contextmanager
def following(logdir: Path, home: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """``rltui check --follow --json``, and the file of its events."""
    out = home / "events.jsonl"
    command = [sys.executable, "-m", "rltui", "check", "--follow", "--json", str(logdir)]
    with out.open("wb") as file, (home / "errors").open("wb") as errors:
        process = subprocess.Popen(command, stdout=file, stderr=errors, env=environment(home))
        try:
            yield process, out
        finally:
            process.kill()
            process.wait()


def firing(events: Path) -> set[tuple[str, str]]:
    """(run, rule) of the findings that fire according to the events so far."""
    found: dict[tuple[str, str], int] = {}
    for line in events.read_bytes().splitlines(keepends=True):
        if line.endswith(b"\n"):
            event = json.loads(line)
            key = event["run"], event["rule"]
            change = {"fired": 1, "resolved": -1}.get(event["event"], 0)
            if event["state"] == "firing" or key in found:
                found[key] = max(0, found.get(key, 0) + change)
    return {key for key, count in found.items() if count}


def checked(logdir: Path, home: Path) -> dict[str, Any]:
    """What a fresh ``rltui check --json`` says of each run."""
    command = [sys.executable, "-m", "rltui", "check", "--json", str(logdir)]
    done = subprocess.run(command, capture_output=True, check=False, env=environment(home))
    assert done.returncode == 1, done.stderr
    return {run["run"]: run for run in json.loads(done.stdout)["runs"]}


def held(process: int) -> tuple[int, int]:
    """Open descriptors and threads of a process."""
    proc = Path(f"/proc/{process}")
    return len(list((proc / "fd").iterdir())), len(list((proc / "task").iterdir()))


def rows_of(screen: str, names: Sequence[str]) -> dict[str, tuple[str, int]]:
    """Badge and step of each run in the list of runs, which may shorten names."""
    found = {}
    for line in screen.splitlines():
        for name in names:
            shown = re.escape(name.partition("/")[0]) + r"(?:/\S*)?"
            rest = r"(\d+)  (?: *\d+ [smhd]  )? *(?:reward +)?\d\."
            if match := re.search(rf"(\S) {shown} .*? {rest}", line):
                found[name] = match[1], int(match[2])
    return found


def waited(program: Program, reached: Any) -> bool:
    """Let the program go on until something is so; whether it is within a while."""
    end = time.monotonic() + PATIENCE_S
    while not reached():
        if time.monotonic() > end:
            return False
        program.run(0.2)
    return True


def steady(program: Program, other: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """What both processes hold, once that has not changed for a second."""
    seen = []
    while len(seen) < 5 or len(set(seen[-5:])) > 1:
        program.run(0.2)
        seen.append((held(program.process), held(other)))
    return seen[-1]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
def test_what_is_shown_in_the_end_is_what_is_there(tmp_path: Path) -> None:
    logdir, home = tmp_path / "logs", tmp_path / "home"
    logdir.mkdir()
    home.mkdir()
    logs = begun(logdir)
    rng = random.Random(SEED)
    vandal = Vandal(rng, tmp_path / "aside")
    command = [sys.executable, "-m", "rltui", "watch", str(logdir)]
    with (
        Program(command, environment(home)) as program,
        following(logdir, home) as (process, events),
    ):
        program.until(lambda text: len(rows_of(text, RUNS)) == len(logs), PATIENCE_S)
        before = steady(program, process.pid)
        for step in range(STEPS):
            vandal.strike(rng.choice(logs))
            program.run(0.05 * rng.random())
            vandal.restore()
            if step % 10 == 0:
                program.run(0.6)  # both look at what is there
        for number, log in enumerate(logs):
            log.collapses = number % 2 == 0
            log.begin(0, ROWS)
        fresh = checked(logdir, home)
        marks = {r["name"]: "✖" if r["level"] == "bad" else "✔" for r in fresh.values()}
        expected = {name: (mark, ROWS - 1) for name, mark in marks.items()}
        assert set(expected) == set(RUNS)
        assert {r["last_step"] for r in fresh.values()} == {ROWS - 1}
        agreed = waited(program, lambda: rows_of(program.screen.text, RUNS) == expected)
        assert agreed, (expected, program.screen.text)
        finds = {
            (name, f["rule"])
            for name, run in fresh.items()
            for f in run["findings"]
            if f["state"] == "firing"
        }
        assert {name for name, rule in finds if rule == "entropy_collapse"}
        assert waited(program, lambda: firing(events) == finds), (finds, firing(events))
        assert waited(program, lambda: steady(program, process.pid) == before)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 1
        assert (home / "errors").read_bytes() == b""
