"""How ``rltui watch`` behaves in a pseudo terminal: ``python -m benchmarks.live``.

The app runs as a user would run it (160x45, UTF-8, no settings), and a small terminal emulator
reads its screen. CPU is that of the whole process, to the nanosecond. Measured are

- first paint: seconds and CPU from the start of the process until a step or a curve of the log
  stands on the screen, over set a; in turns with it, CPU until an empty Textual app shows a word;
- memory per point: resident memory once set a is read, less that over a log of one step;
- append to screen: seconds from the end of the write of one step of 20 tags until its number
  stands on the screen, at least 1.1 s apart, with inotify and with polling alone;
- idle: CPU per minute and bytes written with 1,000 runs of 10 small files, nothing growing;
- live: share of one core and bytes per second with 200 tags at 2 steps a second;
- stream: 2 rows a second of a JSON-lines log of 60 tags: seconds from the end of a write until its
  step, or a later one, stands on the screen, and share of one core; the same of 20 such runs, with
  the times a second at which something is written to the terminal;
- grown: CPU per row of a live run of 60 tags, and memory per point, when few and when many rows
  are stored (a JSON-lines log, 2 rows a second);
- key to paint: seconds from a key until the last byte of the answer, over sets b and c;
- grid: the last two with 24 charts of 200 tags on the screen (160x53).

Idle, live, keys and memory are measured from when the program has come to rest; byte code is kept
between starts, as that of an installed program is, and the first start of each is not counted.

Sizes and durations shrink with ``--scale`` and ``--seconds``; the command stands above the table.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.data import NAME, append_step, encode_steps, file_header, make, scalar, tag_names
from benchmarks.machine import median, parser_of, percentile, print_report, short
from benchmarks.read import directory_of
from benchmarks.terminal import Program, quiet_home
from rltui.demo.course import Course
from rltui.demo.scenario import SCENARIOS
from rltui.demo.verl_tags import step_row

Row = tuple[str, str, str]

_EMPTY_APP = """
from textual.app import App
from textual.widgets import Static
class Empty(App):
    def compose(self):
        yield Static("ready")
Empty().run()
"""
#: A step, a sparkline or a curve: something that was logged is on the screen.
STEP = re.compile(r"step \d|[▁-█⠁-⣿]{3}")
_FIRST = 1000
_GRID = re.compile(r"\d–\d+ of 20\d")
DOWN = b"\x1b[B"
#: Rows of the log that grows.
_STORED = 1_000, 100_000
#: After the last byte of an answer nothing is written for this long.
_ANSWERED_S = 0.1
#: Before each append nothing is written for this long.
_QUIET_S = 1.0


@contextmanager
def watch(
    directory: Path, *logdirs: Path, inotify: bool = True, rows: int = 45
) -> Iterator[Program]:
    """``rltui watch`` over some logdirs."""
    config = directory / "config.yaml"
    config.write_text(f"watch:\n  inotify: {str(inotify).lower()}\n")
    command = [sys.executable, "-m", "rltui", "watch", "--config", str(config)]
    with Program([*command, *map(str, logdirs)], quiet_home(directory), rows) as program:
        yield program


def new_log(directory: Path, tags: int, steps: int = 5) -> Path:
    """A log of its own with some steps that were just written."""
    shutil.rmtree(directory, ignore_errors=True)
    path = directory / "run" / NAME
    path.parent.mkdir(parents=True)
    kinds = [scalar(t) for t in tag_names(tags)]
    now = time.time()
    with path.open("wb") as file:
        file.write(file_header())
        for step in range(steps):
            append_step(file, kinds, _FIRST + step, now - steps + step, 0.5)
    return path


def first_paint(directory: Path, scale: float, rounds: int) -> Iterator[Row]:
    """Start over set a, against an empty app."""
    made = make(directory, "a", scale)
    ours: list[tuple[float, float]] = []
    empty: list[float] = []
    for number in range(rounds + 1):
        command = [sys.executable, "-c", _EMPTY_APP]
        with Program(command, quiet_home(directory)) as program:
            program.until(lambda text: "ready" in text)
            cpu = program.cpu_at_write
        with watch(directory, made.root) as program:
            seconds = program.until(STEP.search)
            found = (seconds, program.cpu_at_write)
            if not number:  # what is shipped is kept for the next starts once the screen stands
                program.rest()
        if number:
            ours.append(found)
            empty.append(cpu)
    ratio = median(cpu / other for (_, cpu), other in zip(ours, empty, strict=True))
    yield f"first paint, {made.points:,} points: s", short(median(s for s, _ in ours)), ""
    yield "first paint: CPU s", short(median(c for _, c in ours)), ""
    yield "empty Textual app: CPU s", short(median(empty)), ""
    yield "first paint: CPU as a multiple of the empty app", short(ratio), "2"


def memory_per_point(directory: Path, scale: float) -> Iterator[Row]:
    """Resident memory over set a and over almost nothing."""
    made = make(directory, "a", scale)
    found = []
    for root, last in (
        (new_log(directory / "small", 200, 1).parent, _FIRST),
        (made.root, made.steps - 1),
    ):
        with watch(directory, root) as program:
            program.until(_shows(last), 120)
            program.rest()
            found.append(program.memory)
    yield f"whole process, {made.points:,} points: MiB", short(found[1]), "200"
    yield "memory per point: bytes", short((found[1] - found[0]) * 2**20 / made.points), "6"


def _shows(step: int) -> Callable[[str], bool]:
    pattern = re.compile(rf"step {step:,}(?![\d,])")
    return lambda text: pattern.search(text) is not None


def append_to_screen(directory: Path, appends: int) -> Iterator[Row]:
    """From a write to its number on the screen."""
    rng = random.Random(1)
    for inotify, goal in ((True, "0.030 / 0.100"), (False, "/ 0.300")):
        path = new_log(directory / "append", 20)
        kinds = [scalar(t) for t in tag_names(20)]
        took = []
        with watch(directory, path.parent, inotify=inotify) as program, path.open("ab", 0) as file:
            program.until(STEP.search)
            program.settle(_QUIET_S, 10)
            for number in range(appends):
                program.run(_QUIET_S + 0.1 + 0.5 * rng.random())
                step = _FIRST + 100 + number
                append_step(file, kinds, step, time.time(), rng.random())
                took.append(program.until(_shows(step), 20))
        name = "with inotify" if inotify else "polled"
        value = f"{short(median(took))} / {short(percentile(took, 0.95))}"
        yield f"append to screen, {name}, {appends} appends: s, median / 95 %", value, goal


def idle(directory: Path, scale: float, seconds: float) -> Iterator[Row]:
    """Many runs of which none grows."""
    root, runs = directory / "idle", max(1, round(1000 * scale))
    shutil.rmtree(root, ignore_errors=True)
    kinds = [scalar(t) for t in tag_names(5)]
    contents = [
        file_header() + encode_steps(kinds, range(_FIRST + 5 * n, _FIRST + 5 * n + 5))
        for n in range(10)
    ]
    for run in range(runs):
        (root / f"run_{run:04d}").mkdir(parents=True)
        for number, content in enumerate(contents):
            (root / f"run_{run:04d}" / f"events.out.tfevents.{number}.x").write_bytes(content)
    with watch(directory, root) as program:
        program.until(STEP.search, 120)
        program.rest()
        cpu, written, began = program.cpu, program.written, time.perf_counter()
        program.run(seconds)
        took = time.perf_counter() - began
        spent, sent = program.cpu - cpu, program.written - written
    name = f"idle, {runs:,} runs, {10 * runs:,} files, {short(took)} s"
    yield f"{name}: CPU s per minute", short(60 * spent / took), "0.36"
    yield "idle: bytes per second", short(sent / took), ""


def live(directory: Path, seconds: float) -> Iterator[Row]:
    """200 tags at 2 steps a second."""
    path = new_log(directory / "live", 200)
    with watch(directory, path.parent) as program:
        program.until(STEP.search)
        steps, core, sent = _appended(program, path, seconds)
    yield f"live, 200 tags, {steps} steps at 2/s: % of a core", short(core), "1.5"
    yield "live: bytes per second to the terminal", short(sent), "1,000"


def _appended(program: Program, path: Path, seconds: float) -> tuple[int, float, float]:
    """Steps appended at 2 a second, share of a core in per cent, bytes per second."""
    kinds, rng = [scalar(t) for t in tag_names(200)], random.Random(2)
    program.rest()
    steps = max(2, round(2 * seconds))
    with path.open("ab", 0) as file:
        cpu, written, began = program.cpu, program.written, time.perf_counter()
        for number in range(steps):
            append_step(file, kinds, _FIRST + 50 + number, time.time(), rng.random())
            program.run(began + 0.5 * (number + 1) - time.perf_counter())
        took = time.perf_counter() - began
    return steps, 100 * (program.cpu - cpu) / took, (program.written - written) / took


def grown(directory: Path, scale: float, seconds: float) -> Iterator[Row]:
    """What a row costs when few and when many rows are stored."""
    found = []
    for stored in (_STORED[0], max(2 * _STORED[0], round(_STORED[1] * scale))):
        path = directory / f"grown-{stored}" / "run" / "metrics.jsonl"
        lines = json_lines(path, stored, round(2 * seconds))
        with watch(directory, path.parent.parent) as program, path.open("ab", 0) as file:
            program.until(_shows(stored), 120)
            program.rest(0.1)
            cpu, memory, began = program.cpu, program.memory, time.perf_counter()
            for number, line in enumerate(lines):
                file.write(line)
                program.run(began + 0.5 * (number + 1) - time.perf_counter())
            took = time.perf_counter() - began
            found.append((stored, program.cpu - cpu, took, memory))
        name = f"live, 60 tags, {stored:,} rows stored"
        per_row = 1000 * found[-1][1] / len(lines)
        yield (
            f"{name}: % of a core, CPU ms a row",
            f"{short(100 * found[-1][1] / took)}, {short(per_row)}",
            "",
        )
    (few, little, short_s, small), (many, much, long_s, large) = found
    yield "live: many rows stored against few", short(much / long_s / (little / short_s)), "1.4"
    per_point = (large - small) * 2**20 / (60 * (many - few))
    yield "memory per point, JSON lines: bytes", short(per_point), "12"


def stream(directory: Path, seconds: float) -> Iterator[Row]:
    """2 rows a second, of one run and of 20."""
    for runs in (1, 20):
        root = directory / f"stream-{runs}"
        shutil.rmtree(root, ignore_errors=True)
        paths = [root / f"run_{n:02d}" / "metrics.jsonl" for n in range(runs)]
        more = [json_lines(path, _STORED[0], round(2 * seconds)) for path in paths]
        took, waiting, paints = list[float](), dict[int, float](), 0
        with watch(directory, root) as program:
            program.until(_shows(_STORED[0]) if runs == 1 else STEP.search, 120)
            program.rest()
            cpu, began = program.cpu, time.perf_counter()
            for number in range(len(more[0])):
                for at, path in enumerate(paths):
                    with path.open("ab", 0) as file:
                        file.write(more[at][number])
                    waiting[_STORED[0] + 1 + number] = time.perf_counter()
                    due = began + 0.5 * (number + (at + 1) / runs)
                    while (left := due - time.perf_counter()) > 0:
                        if program.pump(left):
                            paints, now, shown = paints + 1, time.perf_counter(), _step(program)
                            took += [now - waiting.pop(n) for n in list(waiting) if n <= shown]
            spent = time.perf_counter() - began
            core = short(100 * (program.cpu - cpu) / spent)
        name = f"stream, 60 tags, {2 * spent:.0f} rows at 2/s"
        if runs == 1:
            value = f"{short(median(took))} / {short(percentile(took, 0.95))}"
            yield f"{name}: append to screen, s, median / 95 %", value, "0.25 /"
            yield f"{name}: % of a core", core, "4"
        else:
            yield f"{name}, {runs} runs: % of a core", core, ""
            yield f"{name}, {runs} runs: writes to the terminal a second", short(paints / spent), ""


def _step(program: Program) -> int:
    """The step that the head of the screen names."""
    found = re.search(r"step ([\d,]+)", program.screen.text)
    return int(found[1].replace(",", "")) if found else -1


def json_lines(path: Path, stored: int, more: int) -> list[bytes]:
    """Write a log of ``stored`` rows as verl's file logger does, unless it is there; returns
    the lines that follow."""
    course, rng = Course(SCENARIOS["healthy"], 1, 2 * stored), np.random.default_rng(1)
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    for step in range(1, stored + more + 1):
        row = step_row(course.at(step), rng)
        data = {tag: float(row[tag]) for tag in list(row)[-60:]}
        lines.append(json.dumps({"step": step, "data": data}).encode() + b"\n")
    path.write_bytes(b"".join(lines[:stored]))
    return lines[stored:]


def key_to_paint(directory: Path, scale: float, presses: int) -> Iterator[Row]:
    """Keys up and down, tabs, and the list of runs."""
    roots = [make(directory, name, scale).root for name in ("b", "c")]
    keys = (DOWN, DOWN, b"\x1b[A", b"\r", b"2", DOWN, b"3", b"r")
    with watch(directory, *roots) as program:
        program.until(STEP.search, 120)
        program.rest()
        found, value = pressed(program, keys, presses)
    yield f"key to paint, {found} of {presses} keys: ms, median / 95 %", value, "10 / 16"


def pressed(program: Program, keys: Sequence[bytes], presses: int) -> tuple[int, str]:
    """How many of the keys were answered, and in which time to the last byte of the answer."""
    took = []
    for number in range(presses):
        program.settle(0.15)
        began = last = time.perf_counter()
        program.send(keys[number % len(keys)])
        answered = program.pump(1.0)
        while answered:
            last = time.perf_counter()
            if not program.pump(_ANSWERED_S):
                break
        if answered:
            took.append(last - began)
    value = f"{short(1000 * median(took))} / {short(1000 * percentile(took, 0.95))}"
    return len(took), value


def grid(directory: Path, scale: float, seconds: float, presses: int) -> Iterator[Row]:
    """24 charts: a live run, and keys in a run with 200 tags of many steps."""
    path = new_log(directory / "grid", 200)
    with watch(directory, path.parent, rows=53) as program:
        program.until(STEP.search)
        _open_grid(program)
        steps, core, sent = _appended(program, path, seconds)
    yield f"grid, live, 200 tags, {steps} steps at 2/s: % of a core", short(core), "4"
    yield "grid, live: bytes per second to the terminal", short(sent), "3,000"
    made = make(directory, "a", scale)
    keys = (DOWN, b"\x1b[C", b".", b"\x1b[6~", DOWN, b".", b"3", b"\x1b[C", b"0", b"g")
    with watch(directory, made.root, rows=53) as program:
        program.until(_shows(made.steps - 1), 120)
        _open_grid(program)
        program.rest()
        found, value = pressed(program, keys, presses)
    yield f"grid, key to paint, {found} of {presses} keys: ms, median / 95 %", value, "10 / 18"


def _open_grid(program: Program) -> None:
    """All tags as charts."""
    for key in (b"0", b"v"):
        program.send(key)
        program.run(0.5)
    program.until(_GRID.search)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = parser_of("live", __doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="of sets a, b, c and the runs")
    parser.add_argument("--seconds", type=float, default=60.0, help="idle and live, each")
    parser.add_argument("--rounds", type=int, default=9, help="of the first paint")
    parser.add_argument("--appends", type=int, default=20)
    parser.add_argument("--keys", type=int, default=200)
    parser.add_argument(
        "--only", help="first, memory, append, idle, live, stream, grown, key, grid; with commas"
    )
    chosen = parser.parse_args(arguments)
    only = chosen.only.split(",") if chosen.only else None
    with directory_of(chosen.data) as directory:
        parts: dict[str, Callable[[], Iterator[Row]]] = {
            "first": lambda: first_paint(directory, chosen.scale, chosen.rounds),
            "memory": lambda: memory_per_point(directory, chosen.scale),
            "append": lambda: append_to_screen(directory, chosen.appends),
            "idle": lambda: idle(directory, chosen.scale, chosen.seconds),
            "live": lambda: live(directory, chosen.seconds),
            "stream": lambda: stream(directory, chosen.seconds),
            "grown": lambda: grown(directory, chosen.scale, chosen.seconds),
            "key": lambda: key_to_paint(directory, chosen.scale, chosen.keys),
            "grid": lambda: grid(directory, chosen.scale, chosen.seconds, chosen.keys),
        }
        rows: list[Row] = []
        for name, part in parts.items():
            if only is None or name in only:
                try:
                    rows += part()
                except (TimeoutError, RuntimeError) as problem:
                    rows.append((name, "failed: " + str(problem).splitlines()[0], ""))
                    sys.stderr.write(f"{name}: {problem}\n")
    print_report(parser, arguments, rows)


if __name__ == "__main__":
    main()
