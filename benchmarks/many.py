"""A list of many runs: ``python -m benchmarks.many``.

``rltui watch`` over 10,000 small runs (20 tags, 50 steps, all of them old) and over 100, in turns,
in a pseudo terminal of 160x45, see :mod:`benchmarks.live`. Measured are

- the search: CPU of finding the runs, in a process of its own;
- first paint: from the start of the process until a run of the list stands on the screen; less the
  search it is to be much the same for 100 and for 10,000 runs;
- all judged: CPU and time until every run has been read and judged, and it has come to rest;
- memory: of the whole process at rest, and for a run;
- keys: from a key until the app has written something, and CPU with what follows the key;
- idle: CPU per minute when nothing grows, and when 50 runs get a row every 10 seconds.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.data import NAME, START, append_step, curves, encode, file_header, scalar, tag_names
from benchmarks.live import DOWN, STEP, watch
from benchmarks.machine import median, parser_of, percentile, print_report, short
from benchmarks.read import directory_of
from benchmarks.terminal import Program

Row = tuple[str, str, str]

_TAGS, _STEPS, _FEW = 20, 50, 100
_GROWING, _EVERY_S = 50, 10.0
_SEARCH = """
import sys, time
from pathlib import Path
from rltui.session import Session
session = Session([Path(sys.argv[1])])
began = time.process_time()
session.scan()
print(time.process_time() - began)
"""
_PAGE_DOWN, _END, _HOME, _BACK = b"\x1b[6~", b"G", b"g", b"\x7f"
#: What is pressed, in groups; the filter is typed letter by letter and taken away again.
_KEYS: dict[str, tuple[bytes, ...]] = {
    "down": (DOWN,) * 20,
    "page down": (_PAGE_DOWN,) * 20,
    "first and last": (_END, _HOME) * 10,
    "filter": (b"/", b"r", b"u", b"n", b"_", b"0", b"9", *(_BACK,) * 6, b"\r") * 2,
    "order": (b"o",) * 9,
    "choose a column": (b"a", *(bytes([c]) for c in b"response_length/mean.best"), b"\r"),
    "order, also by the column": (b"o", b"o", b"o", b"O", b"o") * 2,
}


def make_runs(root: Path, count: int, tags: int = _TAGS, rows: int = _STEPS) -> Path:
    """``count`` runs of so many tags and steps, a minute apart and months old."""
    kinds = [scalar(tag) for tag in tag_names(tags)]
    steps, which = np.repeat(np.arange(rows), tags), np.tile(np.arange(tags), rows)
    for run in range(count):
        path = root / f"sweep_{run // 100:03d}" / f"run_{run:05d}" / NAME
        if path.exists():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        walls = START + 60 * run + 9.0 * steps
        values = curves(np.random.default_rng(run), tags, 0, rows, rows).ravel()
        path.write_bytes(file_header() + encode(kinds, which, steps, walls, values))
        os.utime(path, (walls[-1], walls[-1]))
    return root


def search_cpu(root: Path) -> float:
    """CPU seconds of one search in a fresh process."""
    command = [sys.executable, "-c", _SEARCH, str(root)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def start(directory: Path, many: Path, few: Path, rounds: int) -> Iterator[Row]:
    """Search and first paint, many and few in turns."""
    found: dict[Path, list[tuple[float, float, float]]] = {many: [], few: []}
    for number in range(rounds + 1):
        for root, times in found.items():
            searched = search_cpu(root)
            with watch(directory, root) as program:
                seconds = program.until(STEP.search, 120)
                if number:
                    times.append((searched, program.cpu_at_write, seconds))
    for root, times in found.items():
        name = f"{_count(root):,} runs"
        yield f"{name}, search: CPU s", short(median(t[0] for t in times)), ""
        cpu, wall = median(t[1] for t in times), median(t[2] for t in times)
        yield f"{name}, first paint: CPU s / s", f"{short(cpu)} / {short(wall)}", ""
    (less, least) = (median(cpu - search for search, cpu, _ in found[root]) for root in (many, few))
    yield "first paint less the search, many against few", short(less / least), "1.5"


def _count(root: Path) -> int:
    return sum(1 for _ in root.rglob(NAME))


def judged(program: Program, root: Path, used: dict[int, float]) -> Iterator[Row]:
    """Until all is read and judged; memory then, against fewer runs in ``used``."""
    program.rest(0.05, 1200)
    count = _count(root)
    took = f"{short(program.cpu)} / {short(time.perf_counter() - program.started)}"
    yield f"{count:,} runs, all judged: CPU s / s", took, ""
    used[count] = program.memory
    yield f"{count:,} runs, whole process: MiB", short(program.memory), ""
    if len(used) > 1:
        few = min(used)
        each = (used[count] - used[few]) * 2**20 / (count - few) / 1000
        yield "memory of a run: kB", short(each), "60"


def keys(program: Program, root: Path) -> Iterator[Row]:
    """Keys of the list, once all has been judged."""
    for name, pressed in _KEYS.items():
        took: list[float] = []
        spent: list[float] = []
        for key in pressed:
            while program.pump(0.15):
                pass
            cpu, began = program.cpu, time.perf_counter()
            program.send(key)
            if program.pump(1.0):
                took.append(1000 * (time.perf_counter() - began))
            while program.pump(0.1):
                pass
            spent.append(1000 * (program.cpu - cpu))
        what = f"{_count(root):,} runs, {name}, {len(took)} of {len(pressed)} keys: ms"
        yield f"{what}, median / 95 %", _both(took), "16 / 40"
        yield f"{what} of CPU, median / 95 %", _both(spent), ""


def _both(values: Sequence[float]) -> str:
    return f"{short(median(values))} / {short(percentile(values, 0.95))}"


def idle(program: Program, root: Path, seconds: float) -> Iterator[Row]:
    """Nothing grows, then some runs do."""
    name = f"{_count(root):,} runs"
    yield f"{name}, idle: CPU s per minute", short(60 * _spent(program, seconds)), "0.6"
    with _growing(root) as (paths, grow):
        cpu, begun = program.cpu, time.perf_counter()
        for step in range(max(1, round(seconds / _EVERY_S))):
            for path in paths:
                grow(path, step)
                program.run(_EVERY_S / len(paths))
        share = (program.cpu - cpu) / (time.perf_counter() - begun)
    yield f"{name}, {len(paths)} of them grow: CPU s per minute", short(60 * share), ""


@contextmanager
def _growing(root: Path) -> Iterator[tuple[list[Path], Callable[[Path, int], None]]]:
    """Some logs, and what appends a row to one; in the end they are as they were."""
    paths = sorted(root.rglob(NAME))[:_GROWING]
    before = {path: path.stat() for path in paths}
    kinds, now = [scalar(t) for t in tag_names(_TAGS)], time.time()

    def grow(path: Path, step: int) -> None:
        with path.open("ab") as file:
            append_step(file, kinds, _STEPS + step, now + _EVERY_S * step, 0.5)

    try:
        yield paths, grow
    finally:
        for path, known in before.items():
            os.truncate(path, known.st_size)
            os.utime(path, (known.st_mtime, known.st_mtime))


def _spent(program: Program, seconds: float) -> float:
    """Share of a core."""
    cpu, began = program.cpu, time.perf_counter()
    program.run(seconds)
    return (program.cpu - cpu) / (time.perf_counter() - began)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = parser_of("many", __doc__, "runs")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=60.0, help="idle and growing, each")
    parser.add_argument("--rounds", type=int, default=5, help="of the first paint")
    parser.add_argument("--only", help="start, judged, keys, idle; with commas")
    chosen = parser.parse_args(arguments)
    only = chosen.only.split(",") if chosen.only else ("start", "judged", "keys", "idle")
    rows: list[Row] = []
    used: dict[int, float] = {}
    with directory_of(chosen.data) as directory:
        many = make_runs(directory / f"many-{chosen.runs}", chosen.runs)
        few = make_runs(directory / f"many-{_FEW}", _FEW)
        if "start" in only:
            rows += start(directory, many, few, chosen.rounds)
        for root in (few, many) if set(only) - {"start"} else ():
            with watch(directory, root) as program:
                program.until(STEP.search, 120)
                rows += judged(program, root, used)
                rows += keys(program, root) if "keys" in only else ()
                rows += idle(program, root, chosen.seconds) if "idle" in only else ()
    print_report(parser, arguments, rows)


if __name__ == "__main__":
    main()
