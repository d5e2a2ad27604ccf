"""How often the rules speak on noise: ``python -m benchmarks.verdicts.noise [--write]``.

Each variant judges simulated series without any trend or change: AR(1) noise with a memory of 0,
0.5 and 0.9 from row to row, of 50, 300 and 2,000 rows. Its centre is 1 with a spread of 0.2 (0.05
for evaluations); where the variant has an upper limit alone, half of that limit with a spread of a
tenth of it. Other metrics that it reads are independent noise of the same kind. Printed is the
share of the series, in percent, with a finding of any level at any time. ``--write`` keeps the
result for docs/detectors.md.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from benchmarks.machine import table
from rltui.core.block import FloatArray
from rltui.core.level import Level
from rltui.health.detectors.signal import Rows
from rltui.health.judge import episodes
from rltui.health.rule import Variant
from rltui.health.rules import load_rules

MEMORIES = (0.0, 0.5, 0.9)
LENGTHS = (50, 300, 2000)
RESULT = Path(__file__).with_name("noise.csv")
_UPPER = ("high", "floor", "amount")


def noise(random: np.random.Generator, rows: int, memory: float) -> FloatArray:
    """(rows,) AR(1) noise with mean 0 and spread 1."""
    fresh = random.standard_normal(rows)
    out = np.empty(rows)
    out[0] = fresh[0]
    scale = float(np.sqrt(1 - memory * memory))
    for row in range(1, rows):
        out[row] = memory * out[row - 1] + scale * fresh[row]
    return out


def speaks(variant: Variant, rows: Rows) -> bool:
    """Whether the variant reports anything, at any time."""
    found = {level: variant.detector.run(rows, **given) for level, given in variant.levels.items()}
    return bool(episodes(found)[0])


def share(variant: Variant, rows: int, memory: float, series: int) -> float:
    """The share of the series in which the variant reports something."""
    random = np.random.default_rng(rows)
    centre, spread = _scale(variant)
    found = 0
    for _ in range(series):
        x = centre + spread * noise(random, rows, memory)
        # an exploration rate of 1 would excuse all: these series do not act at random
        roles = [r for r in variant.roles if r != "exploration"]
        others = {r: centre + spread * noise(random, rows, memory) for r in roles}
        found += speaks(variant, Rows(x, np.arange(rows), others))
    return found / series


def _scale(variant: Variant) -> tuple[float, float]:
    parameters: Mapping[str, object] = variant.levels.get(Level.WATCH) or variant.levels[Level.BAD]
    for name in _UPPER:
        value = parameters.get(name)
        if isinstance(value, (int, float)) and np.isfinite(value) and "low" not in parameters:
            return 0.5 * value, 0.1 * abs(value)
    return 1.0, 0.05 if variant.metrics[0].startswith("val.") else 0.2


def _measure(job: tuple[Variant, int]) -> list[str]:
    variant, series = job
    shares = [share(variant, n, memory, series) for memory in MEMORIES for n in LENGTHS]
    return [variant.id, variant.detector.name, *(f"{100 * s:.0f}" for s in shares)]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.verdicts.noise",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--series", type=int, default=100, help="simulated series per figure")
    parser.add_argument("--only", default="", help="variants whose id contains this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--write", action="store_true", help=f"keep the result in {RESULT.name}")
    options = parser.parse_args()
    variants = [v for r in load_rules() for v in r.variants if options.only in v.id]
    with ProcessPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(_measure, [(v, options.series) for v in variants]))
    head = ("variant", "detector", *(f"{m:g}: {n}" for m in MEMORIES for n in LENGTHS))
    if options.write:
        with RESULT.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([head, *rows])
    sys.stdout.write("\n".join(table(head, rows)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
