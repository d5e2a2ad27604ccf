"""Comparing runs in a pseudo terminal: ``python -m benchmarks.compare``.

The app runs as in :mod:`benchmarks.live` (160x45). Measured are

- opening: seconds from the key until the comparison of 50 runs of 10,000 rows and 20 tags stands
  on the screen, for the first time and again;
- key to paint with marked runs: seconds from a key until the app has written something, over sets
  b and c with 20 marked runs: in the list of runs, the comparison, a run with its charts, and the
  grid; and the CPU that a key takes in all, which does not depend on what else the machine does.

Sizes shrink with ``--scale``; the command stands above the table.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.data import NAME, START, encode, file_header, make, scalar
from benchmarks.live import DOWN, STEP, Row, pressed, watch
from benchmarks.machine import median, parser_of, print_report, short
from benchmarks.read import directory_of
from benchmarks.terminal import Program
from rltui.demo.course import Course
from rltui.demo.scenario import SCENARIOS
from rltui.demo.verl_tags import step_row

_UP, _LEFT, _RIGHT, _ESCAPE = b"\x1b[A", b"\x1b[D", b"\x1b[C", b"\x1b"
_RUNS, _STEPS, _TAGS = 50, 10_000, 20
_MARKED = 20


def runs_of_a_sweep(directory: Path, scale: float) -> Path:
    """Event files of 50 runs with real tags."""
    root, steps = directory / f"sweep-{scale:g}", max(100, round(_STEPS * scale))
    row = step_row(Course(SCENARIOS["healthy"], 1, 100).at(1), np.random.default_rng(1))
    wanted = ("actor/", "critic/", "response_length/")
    kinds = [scalar(t) for t in [t for t in row if t.startswith(wanted)][:_TAGS]]
    for number in range(0 if root.exists() else _RUNS):
        path = root / f"lr{1 + number % 5}e-6_s{number // 5}" / NAME
        path.parent.mkdir(parents=True)
        step = np.repeat(np.arange(steps), len(kinds))
        rng = np.random.default_rng(number)
        values = np.sqrt(step) * (1 + number % 5) + rng.normal(0, 5, len(step))
        which = np.tile(np.arange(len(kinds)), steps)
        path.write_bytes(file_header() + encode(kinds, which, step, START + step, values))
    return root


def opening(directory: Path, scale: float, times: int) -> Iterator[Row]:
    """From the key to the comparison of all runs."""
    root = runs_of_a_sweep(directory, scale)
    took = []
    with watch(directory, root) as program:
        program.until(STEP.search, 120)
        program.rest()
        for _ in range(times + 1):
            began = time.perf_counter()
            program.send(b"C")
            program.until(lambda text: text.lstrip().startswith("Compare"))
            took.append(time.perf_counter() - began)
            program.settle(0.3)
            program.send(_ESCAPE)
            program.settle(0.5)
    name = f"opening the comparison of {_RUNS} runs"
    yield f"{name}, first: ms", short(1000 * took[0]), "150"
    yield f"{name}, again, {times} times: ms, median", short(1000 * median(took[1:])), "150"


def keys_with_marks(directory: Path, scale: float, presses: int) -> Iterator[Row]:
    """Keys with 20 marked runs."""
    roots = [make(directory, name, scale).root for name in ("b", "c")]
    goal = "10 / 18"
    with watch(directory, *roots) as program:
        program.until(STEP.search, 120)
        program.rest()
        for _ in range(_MARKED):
            program.send(b" ")
            program.settle(0.2)
        parts = (
            ("list of runs", (DOWN, DOWN, _UP), ()),
            ("comparison", (DOWN, _RIGHT, DOWN, _LEFT, _UP), (b"C",)),
            ("a run", (DOWN, _UP, b"3", DOWN, b"2", b"4"), (_ESCAPE, b"\r")),
            ("grid", (DOWN, b"3", _RIGHT, b".", b"0", b"\x1b[6~", DOWN, b"2"), (b"0", b"v")),
        )
        for name, keys, before in parts:
            _press(program, before)
            cpu = program.cpu
            found, value = pressed(program, keys, presses)
            spent = 1000 * (program.cpu - cpu) / presses
            title = f"{_MARKED} marked runs, {name}, {found} of {presses} keys"
            yield f"{title}: ms, median / 95 %", value, goal
            yield f"{title}: CPU ms a key, with what follows it", short(spent), ""


def _press(program: Program, keys: Sequence[bytes]) -> None:
    for key in keys:
        program.send(key)
        program.settle(0.5)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = parser_of("compare", __doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="of the sets")
    parser.add_argument("--times", type=int, default=7, help="openings after the first")
    parser.add_argument("--keys", type=int, default=100)
    chosen = parser.parse_args(arguments)
    with directory_of(chosen.data) as directory:
        rows = list(opening(directory, chosen.scale, chosen.times))
        rows += keys_with_marks(directory, chosen.scale, chosen.keys)
    print_report(parser, arguments, rows)


if __name__ == "__main__":
    main()
