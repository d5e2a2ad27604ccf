"""Reading time and memory of rltui and its peers: ``python -m benchmarks.read``.

What is measured: CPU seconds (user and system) of a fresh process from its start until all
scalars of a set are in memory, and its peak resident memory. rltui is its reader alone
(interpreter, numpy, find, read, decode, blocks kept); ``rltui, store`` is the reader into the
store of the app. Peers: TensorBoard's EventAccumulator with all points kept, TensorBoard's data
server (rustboard) with all points and with its default of 1,000 points a tag, tbparse,
``orjson.loads`` of every line, plain ``read()``, and one pass in C (``floor.c``, when there is a
compiler). What is not installed is named under the table.

How: every reader runs once per round, in rounds, with a warm page cache (the first round is
thrown away) and OPENBLAS_NUM_THREADS=1. Figures are medians; ratios are medians of the ratios
within a round. EventAccumulator and tbparse take minutes for 10 million scalars: they read a
smaller copy of sets beyond 1.2 million scalars, in fewer rounds, and ``~`` marks their figures,
which are multiplied up in proportion to the scalars (their start is not multiplied).
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.data import SHAPES, Made, make
from benchmarks.machine import describe, median, parser_of, short, table
from benchmarks.readers import command

RLTUI = "rltui"
FLOOR = "one pass in C"
_EVENTS = (
    RLTUI,
    "rltui, store",
    "rustboard, keep all",
    "rustboard, default",
    "EventAccumulator",
    "tbparse",
    FLOOR,
    "read()",
)
_SERVERS = ("rustboard, keep all", "rustboard, default")
_LINES = (RLTUI, "rltui, store", "orjson.loads", "read()")
_SLOW = ("EventAccumulator", "tbparse")
_NEEDS = {
    "rustboard, keep all": "tensorboard_data_server",
    "rustboard, default": "tensorboard_data_server",
    "EventAccumulator": "tensorboard",
    "tbparse": "tbparse",
}
#: Scalars that a slow peer reads at most.
SLOW_POINTS = 1_200_000


@dataclass(slots=True)
class Cell:
    """What the rounds of one reader over one set brought."""

    rounds: list[dict[str, Any]] = field(default_factory=list)
    factor: float = 1.0
    """Times as many scalars in the full set as in what was read."""

    def cpu(self) -> list[float]:
        """CPU seconds per round, multiplied up to the full set."""
        return [r["start_cpu"] + (r["cpu"] - r["start_cpu"]) * self.factor for r in self.rounds]

    @property
    def peak(self) -> float:
        """MiB, of what was read."""
        return median(r["peak"] for r in self.rounds)

    @property
    def mark(self) -> str:
        """``~`` for a figure that was multiplied up."""
        return "~" if self.factor != 1 else ""


@dataclass(slots=True)
class Result:
    """One set and its readers."""

    made: Made
    cells: dict[str, Cell] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    """reader -> why it has no figures."""


def environment() -> dict[str, str]:
    """What the readers run with; byte code is kept, as that of installed programs is."""
    root = str(Path(__file__).resolve().parent.parent)
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    cache = str(Path(tempfile.gettempdir()) / f"rltui-benchmarks-{os.getuid()}")
    found = {"PYTHONPATH": root, "PYTHONPYCACHEPREFIX": cache}
    return {**kept, **found, "OPENBLAS_NUM_THREADS": "1"}


def run(name: str, made: Made, floor: Path | None) -> dict[str, Any]:
    """One reader in a fresh process."""
    if name == FLOOR:
        return _run_floor(floor, made)
    done = subprocess.run(
        list(command(name, made.root)),
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        if name.startswith(RLTUI):
            raise SystemExit(f"{name} failed on {made.root}:\n{done.stderr}")
        return {"failed": reason}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _run_floor(floor: Path | None, made: Made) -> dict[str, Any]:
    assert floor is not None
    with subprocess.Popen([floor, *made.files], stdout=subprocess.DEVNULL) as process:
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
    spent = usage.ru_utime + usage.ru_stime
    return {"cpu": spent, "start_cpu": 0.0, "peak": usage.ru_maxrss / 1024}


def build_floor(directory: Path) -> Path | None:
    """The pass in C, compiled; None without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    target = directory / "floor"
    source = Path(__file__).with_name("floor.c")
    done = subprocess.run(
        [compiler, "-O3", "-march=native", str(source), "-o", str(target)],
        capture_output=True,
        check=False,
    )
    return target if done.returncode == 0 else None


def readers_of(made: Made, floor: Path | None, chosen: Sequence[str] | None) -> Iterator[str]:
    """The readers that can read a set here."""
    for name in _EVENTS if SHAPES[made.name].events else _LINES:
        needed = _NEEDS.get(name)
        if needed is not None and find_spec(needed) is None:
            continue
        if name == FLOOR and (floor is None or made.name in "tw"):
            continue  # the pass in C knows records of one simple value only
        if chosen is None or name in chosen:
            yield name


def measure(
    sets: Sequence[tuple[Made, Made]],
    rounds: int,
    slow_rounds: int,
    floor: Path | None,
    chosen: Sequence[str] | None = None,
) -> list[Result]:
    """Interleaved rounds over pairs of a set and its copy for slow readers."""
    results = [Result(made) for made, _ in sets]
    for number in range(rounds + 1):
        for result, (made, small) in zip(results, sets, strict=True):
            for name in readers_of(made, floor, chosen):
                slow = name in _SLOW
                if slow and not 0 < number <= slow_rounds:
                    continue
                read = small if slow else made
                found = run(name, read, floor)
                if "failed" in found:
                    result.failed[name] = found["failed"]
                    continue
                if number:
                    factor = made.points / read.points
                    result.cells.setdefault(name, Cell(factor=factor)).rounds.append(found)
                sys.stderr.write(f"round {number} {made.name} {name}: {found['cpu']:.3f} s\n")
    return results


def cpu_table(results: Sequence[Result]) -> list[str]:
    """CPU seconds (and peak MiB) of every reader."""
    names = [n for n in dict.fromkeys((*_EVENTS, *_LINES)) if any(n in r.cells for r in results)]
    rows = []
    for result in results:
        row = [result.made.name, f"{result.made.points:,}"]
        for name in names:
            cell = result.cells.get(name)
            row.append(
                f"{cell.mark}{short(median(cell.cpu()))} ({short(cell.peak)})" if cell else ""
            )
        rows.append(row)
    return table(["set", "scalars", *names], rows)


def ratio_table(results: Sequence[Result]) -> list[str]:
    """How many times as much CPU every other reader takes as rltui."""
    names = [n for n in dict.fromkeys((*_EVENTS, *_LINES)) if any(n in r.cells for r in results)]
    names = [n for n in names if not n.startswith(RLTUI)]
    rows = []
    for result in results:
        ours = result.cells.get(RLTUI)
        if ours is None:
            continue
        row = [result.made.name]
        for name in names:
            cell = result.cells.get(name)
            if cell is None:
                row.append("")
                continue
            pairs = zip(cell.cpu(), ours.cpu(), strict=False)
            row.append(cell.mark + short(median(a / b for a, b in pairs)))
        rows.append(row)
    return table(["set", *names], rows)


def _net(cell: Cell) -> list[float]:
    """CPU seconds per round without the start of the process."""
    return [r["cpu"] - r["start_cpu"] for r in cell.rounds]


def cost_table(results: Sequence[Result]) -> list[str]:
    """rltui without its start, per scalar and against the least that is possible; memory."""
    rows = []
    for result in results:
        ours, store = result.cells.get(RLTUI), result.cells.get("rltui, store")
        if ours is None:
            continue
        points = result.made.points
        row = [
            result.made.name,
            short(median(r["start_cpu"] for r in ours.rounds)),
            short(1e6 * median(_net(ours)) / points),
        ]
        for name in ("read()", FLOOR, "orjson.loads", *_SERVERS):
            cell = result.cells.get(name)
            pairs = zip(_net(ours), _net(cell) if cell else [], strict=False)
            row.append(short(median(a / b for a, b in pairs)))
        row.append(short(ours.rounds[0]["kept"] / points))
        row.append(short(2**20 * (ours.peak - ours.rounds[0]["before"]) / points))
        for key in ("after", "peak"):
            grown = median(r[key] - r["before"] for r in store.rounds) if store else float("nan")
            row.append(short(2**20 * grown / points))
        rows.append(row)
    head = ["set", "start, CPU s", "us/scalar", "x read()", f"x {FLOOR}", "x orjson"]
    head += ["x rustboard all", "x rustboard default"]
    head += ["bytes/point kept", "at the peak", "in the store", "at its peak"]
    return table(head, rows)


def report(results: Sequence[Result], floor: Path | None, arguments: str) -> str:
    """The whole result as Markdown."""
    command_line = f"python -m benchmarks.read {arguments}".strip()
    lines = [f"Command: `{command_line}`", "", *describe()]
    for result in results:
        made = result.made
        lines.append(
            f"- Set {made.name}: {SHAPES[made.name].about}, {made.steps:,} steps: "
            f"{made.points:,} scalars, {made.size / 1e6:,.1f} MB"
        )
    missing = sorted({module for module in _NEEDS.values() if find_spec(module) is None})
    if missing:
        lines.append(f"- Skipped, not installed: {', '.join(missing)}")
    if floor is None:
        lines.append(f"- Skipped, no C compiler: {FLOOR}")
    for result in results:
        failed = result.failed.items()
        lines += [f"- {name} failed on set {result.made.name}: {why}" for name, why in failed]
        for name, cell in result.cells.items():
            if cell.factor != 1:
                lines.append(
                    f"- ~ {name} read 1/{short(cell.factor)} of set {result.made.name} "
                    f"({len(cell.rounds)} rounds); its peak is that of the part"
                )
    lines += ["", "CPU seconds until all scalars are in memory (peak resident MiB):", ""]
    lines += cpu_table(results)
    lines += ["", "CPU of the others as a multiple of rltui's reader:", ""]
    lines += ratio_table(results)
    lines += [
        "",
        "rltui's reader without the start of its process (Python, numpy), others likewise: CPU per",
        "scalar, as a multiple of others, and memory (resident growth, not counted objects):",
        "",
    ]
    lines += cost_table(results)
    return "\n".join(lines) + "\n"


@contextlib.contextmanager
def directory_of(chosen: Path | None) -> Iterator[Path]:
    """The data directory; a temporary one is removed afterwards."""
    if chosen is not None:
        chosen.mkdir(parents=True, exist_ok=True)
        yield chosen
        return
    with tempfile.TemporaryDirectory(prefix="rltui-bench-") as name:
        yield Path(name)


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the sets, measure, print."""
    parser = parser_of("read", __doc__)
    parser.add_argument("sets", nargs="*", default=list(SHAPES), help="default: all of them")
    parser.add_argument("--scale", type=float, default=1.0, help="times the usual steps")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--slow-rounds", type=int, default=3, help="of EventAccumulator, tbparse")
    parser.add_argument("--readers", help="only these, separated by semicolons")
    given = sys.argv[1:] if arguments is None else list(arguments)
    chosen = parser.parse_args(given)
    for name in chosen.sets:
        if name not in SHAPES:
            parser.error(f"no set {name!r}; there are {' '.join(SHAPES)}")
    readers = chosen.readers.split(";") if chosen.readers else None
    with directory_of(chosen.data) as directory:
        sets = []
        for name in chosen.sets:
            made = make(directory, name, chosen.scale)
            part = min(1.0, SLOW_POINTS / made.points)
            small = made if part == 1 else make(directory, name, chosen.scale * part * 0.8)
            sets.append((made, small))
        floor = build_floor(directory)
        results = measure(sets, chosen.rounds, chosen.slow_rounds, floor, readers)
        sys.stdout.write(report(results, floor, " ".join(given)))


if __name__ == "__main__":
    main()
