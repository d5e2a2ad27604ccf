"""What was measured on what: arguments, the lines above every table, small words for tables."""

from __future__ import annotations

import argparse
import os
import platform
import re
import statistics
import sys
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path

_PACKAGES = [
    "rltui",
    "numpy",
    "orjson",
    "textual",
    "watchdog",
    "tensorboard",
    "tensorboard-data-server",
    "tbparse",
]


def describe() -> list[str]:
    """Machine and versions as Markdown list lines."""
    found = [f"{name} {_version(name)}" for name in _PACKAGES]
    return [
        f"- Machine: {_processor()}, {os.cpu_count()} CPUs, {_memory()}, "
        f"{platform.system()} {platform.release()}",
        f"- Versions: Python {platform.python_version()}, {', '.join(found)}",
    ]


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "(not installed)"


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        text = ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found.group(1).strip() if found else platform.machine()


def _memory() -> str:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return f"{pages / 2**30:.0f} GiB"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table; the first column is left-aligned, the others right."""
    lines = ["| " + " | ".join(head) + " |"]
    lines.append("| --- |" + " ---: |" * (len(head) - 1))
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return lines


def parser_of(name: str, doc: str, kept: str = "sets") -> argparse.ArgumentParser:
    """The arguments that benchmarks share; ``kept`` is what they make in their directory."""
    parser = argparse.ArgumentParser(prog=f"benchmarks.{name}", description=doc.splitlines()[0])
    about = f"keep the {kept} here; default: a temporary place"
    parser.add_argument("--data", type=Path, help=about)
    return parser


def print_report(
    parser: argparse.ArgumentParser,
    arguments: Sequence[str] | None,
    rows: Iterable[Sequence[str]],
) -> None:
    """Print :func:`report` with the ``arguments`` that the parser got."""
    given = " ".join(sys.argv[1:] if arguments is None else arguments)
    sys.stdout.write(report(f"python -m {parser.prog} {given}", rows))


def report(command: str, rows: Iterable[Sequence[str]]) -> str:
    """What a benchmark prints: its command, the machine, and (what, measured, goal) rows."""
    head = [f"Command: `{command.strip()}`", "", *describe(), ""]
    return "\n".join([*head, *table(["what", "measured", "goal"], rows)]) + "\n"


def median(values: Iterable[float]) -> float:
    """The median; NaN of nothing."""
    found = list(values)
    return statistics.median(found) if found else float("nan")


def percentile(values: Iterable[float], share: float) -> float:
    """The nearest-rank percentile; NaN of nothing."""
    found = sorted(values)
    if not found:
        return float("nan")
    return found[min(len(found) - 1, int(share * len(found)))]


def short(value: float, digits: int = 3) -> str:
    """A number with that many significant digits and no exponent."""
    if value != value:  # noqa: PLR0124 - NaN
        return ""
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"
