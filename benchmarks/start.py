"""What small commands cost: ``python -m benchmarks.start LOGDIR --rounds 50``.

CPU of whole processes, in turns with that of the bare interpreter, as a status bar or a shell
starts them: compiled, and by the console script where it is installed.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.machine import median, parser_of, print_report, short

#: CPU ms of a kept line.
_GOAL_MS = 30


def commands_of(logdir: Path) -> dict[str, list[str]]:
    """What is started, by the words of the table."""
    python = sys.executable
    line = ["check", str(logdir), "--format", "line", "--max-age", "86400"]
    found = {
        "python -c pass": [python, "-c", "pass"],
        "python -c 'import argparse'": [python, "-c", "import argparse"],
        "a kept line": [python, "-m", "rltui", *line],
        "--version": [python, "-m", "rltui", "--version"],
        "check --help": [python, "-m", "rltui", "check", "--help"],
        "--help": [python, "-m", "rltui", "--help"],
    }
    script = shutil.which("rltui", path=str(Path(python).parent))
    if script is not None:
        found["a kept line, console script"] = [script, *line]
    return found


def cpu_ms(command: Sequence[str], environment: dict[str, str]) -> float:
    """User and system CPU of one process, in milliseconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    null = subprocess.DEVNULL
    subprocess.run(command, env=environment, stdout=null, stderr=null, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return 1000 * spent


def measure(logdir: Path, rounds: int, cache: Path) -> dict[str, list[float]]:
    """CPU of every round, in milliseconds; a first round, which compiles, does not count."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "PYTHONPYCACHEPREFIX": str(cache)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    commands = commands_of(logdir)
    found: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(rounds + 1):
        for name, command in commands.items():
            spent = cpu_ms(command, environment)
            if turn:
                found[name].append(spent)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a table."""
    parser = parser_of("start", __doc__ or "", "compiled modules")
    parser.add_argument("logdir", type=Path, metavar="LOGDIR")
    parser.add_argument("--rounds", type=int, default=50)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        found = measure(options.logdir, options.rounds, options.data or Path(temporary))
    rows = [
        (
            f"{name}: CPU ms, median / lowest",
            f"{short(median(spent))} / {short(min(spent))}",
            str(_GOAL_MS) if name.startswith("a kept line") else "",
        )
        for name, spent in found.items()
    ]
    print_report(parser, arguments, rows)


if __name__ == "__main__":
    main()
