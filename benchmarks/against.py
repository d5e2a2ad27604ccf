"""What is slower than another commit: ``python -m benchmarks.against COMMIT``.

The program of that commit and the one of this checkout are measured in turns, on the same logs, by
the same interpreter and packages; a first round, which compiles, does not count. A figure is the
median of the rounds. One that is 10 % worse, and by more than its own spread, is an error (exit 1).
Run it on an idle machine: figures in milliseconds are of the wall clock.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks import live
from benchmarks.data import NAME, START, encode, file_header, make, scalar
from benchmarks.machine import describe, median, parser_of, short, table
from benchmarks.read import directory_of
from benchmarks.start import cpu_ms
from benchmarks.terminal import TREE, quiet_home
from tests.places import FIXTURES

#: A figure may be this many times that of the other commit.
WORST = 1.1
#: A run with a finding, in the order of its files.
_SMALL = FIXTURES / "jsonl"
_RUNS, _ROWS = 1_000, 300
_TAGS = ("reward/mean", "reward/std", "policy/loss", "value/loss", "policy/entropy", "policy/kl")
_NUMBER = re.compile(r"\d[\d,]*\.?\d*(?:e[-+]?\d+)?")

#: What is measured -> its figures in one round.
Figures = dict[str, float]


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """The files of a commit, in a work tree that goes when it is done."""
    here = Path(__file__).resolve().parent.parent
    git = ["git", "-C", str(here), "worktree"]
    with tempfile.TemporaryDirectory(prefix="rltui-against-") as directory:
        tree = Path(directory) / "tree"
        subprocess.run([*git, "add", "-q", "--detach", str(tree), commit], check=True)
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


@contextmanager
def program_of(tree: Path) -> Iterator[None]:
    """What is started runs the program of a checkout."""
    before = Path.cwd()
    os.environ[TREE] = str(tree)
    os.chdir(tree)  # Python looks for modules there first
    try:
        yield
    finally:
        os.chdir(before)
        del os.environ[TREE]


def many_small_runs(directory: Path) -> Path:
    """Event files of 1,000 runs of 300 rows of 15 tags."""
    root = directory / f"small-{_RUNS}"
    tags = [f"{name}{n}" for n in ("", "_a", "_b") for name in _TAGS][:15]
    kinds = [scalar(tag) for tag in tags]
    steps = np.repeat(np.arange(_ROWS), len(tags))
    which = np.tile(np.arange(len(tags)), _ROWS)

    for number in range(0 if root.exists() else _RUNS):
        path = root / f"run_{number:04d}" / NAME
        path.parent.mkdir(parents=True)
        values = np.sqrt(steps + 1) + np.random.default_rng(number).normal(0, 1, len(steps))
        path.write_bytes(file_header() + encode(kinds, which, steps, START + steps, values))

    return root


def commands(directory: Path) -> Iterator[tuple[str, float]]:
    """CPU of whole commands; small ones as multiples of importing Textual."""
    environment = quiet_home(directory)
    rltui = [sys.executable, "-m", "rltui"]
    textual = cpu_ms([sys.executable, "-c", "import textual.app"], environment)
    small = {
        "check of a small run": ["check", str(_SMALL)],
        "explain NAME": ["explain", "kl"],
        "brief": ["brief", str(_SMALL)],
    }
    for name, words in small.items():
        spent = cpu_ms([*rltui, *words], environment)
        yield f"{name}: CPU as a multiple of `import textual.app`", spent / textual
    made = make(directory, "a", 1.0)
    spent = cpu_ms([*rltui, "snapshot", str(made.root)], environment)
    yield f"snapshot of {made.points:,} points: CPU s", spent / 1000
    spent = cpu_ms([*rltui, "check", str(many_small_runs(directory))], environment)
    yield f"check of {_RUNS:,} runs x {_ROWS} rows x 15 tags: CPU s", spent / 1000


def of_rows(rows: Iterator[live.Row]) -> Iterator[tuple[str, float]]:
    """The numbers in the rows of a table; several in one cell are told apart."""
    for name, measured, _ in rows:
        numbers = _NUMBER.findall(measured)
        for n, number in enumerate(numbers, 1):
            part = f" ({n} of {len(numbers)})" if len(numbers) > 1 else ""
            yield name + part, float(number.replace(",", ""))


def parts(directory: Path, seconds: float, keys: int) -> dict[str, Callable[[], Figures]]:
    """What can be measured, by the word that chooses it."""
    appends = max(4, keys // 10)
    rows: dict[str, Callable[[], Iterator[live.Row]]] = {
        "first": lambda: live.first_paint(directory, 1.0, 2),
        "memory": lambda: live.memory_per_point(directory, 1.0),
        "append": lambda: live.append_to_screen(directory, appends),
        "key": lambda: live.key_to_paint(directory, 1.0, keys),
        "grid": lambda: live.grid(directory, 1.0, seconds, keys),
        "live": lambda: live.live(directory, seconds),
        "stream": lambda: live.stream(directory, seconds),
        "grown": lambda: live.grown(directory, 0.2, seconds),
        "idle": lambda: live.idle(directory, 1.0, seconds),
    }
    found: dict[str, Callable[[], Figures]] = {"commands": lambda: dict(commands(directory))}
    for name, part in rows.items():
        found[name] = lambda part=part: dict(of_rows(part()))  # type: ignore[misc]
    return found


def is_worse(before: Sequence[float], now: Sequence[float]) -> bool:
    """Whether a figure is 10 % above that of the other commit, and above all of its rounds."""
    return median(now) > WORST * median(before) and min(now) > max(before)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 when something is slower."""
    parser = parser_of("against", __doc__ or "", "logs")
    parser.add_argument("commit", metavar="COMMIT")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each live log")
    parser.add_argument("--keys", type=int, default=80)
    parser.add_argument("--only", help="commands, first, memory, append, key, grid, live ...")
    chosen = parser.parse_args(arguments)
    here = Path(__file__).resolve().parent.parent
    measured: dict[str, dict[Path, list[float]]] = {}

    with directory_of(chosen.data) as data, checkout(chosen.commit) as there:
        found = parts(data.resolve(), chosen.seconds, chosen.keys)
        for name in chosen.only.split(",") if chosen.only else found:
            for turn in range(chosen.rounds + 1):
                for tree in (there, here):
                    with program_of(tree):
                        figures = found[name]()
                    for what, value in figures.items() if turn else ():
                        measured.setdefault(what, {}).setdefault(tree, []).append(value)
    rows = []
    slower = []
    for what, rounds in measured.items():
        before = rounds.get(there, [])
        now = rounds.get(here, [])
        if before and now and is_worse(before, now):
            slower.append(what)
        ratio = median(now) / median(before) if before and now and median(before) else float("nan")
        mark = "**worse**" if what in slower else ""
        rows.append([what, short(median(before)), short(median(now)), short(ratio), mark])

    given = sys.argv[1:] if arguments is None else arguments
    command = f"Command: `python -m benchmarks.against {' '.join(given)}`"
    head = ["what", chosen.commit, "this checkout", "ratio", ""]
    sys.stdout.write("\n".join([command, "", *describe(), "", *table(head, rows)]) + "\n")
    return int(bool(slower))


if __name__ == "__main__":
    sys.exit(main())
