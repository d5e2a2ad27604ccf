"""Time and memory of hostile files: ``python -m benchmarks.hostile [WORD ...]``.

Each kind of file of ``tests.formats.hostile`` is decoded in three sizes, each in a process of its
own and in the pieces that the reader takes. Exits with 1 when CPU per byte grows more than
``--growth`` times, or when memory exceeds 8 bytes a byte and 64 MiB.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rltui.sources.follow.reader import BUDGET_BYTES
from tests.formats.hostile import SHAPES, Shape, size_of

_PER_BYTE, _BASE = 8, 64 << 20
#: CPU below this is noise, in seconds and in microseconds per byte.
_LEAST_S, _LEAST_US = 0.3, 0.02


@dataclass(frozen=True)
class Cost:
    """Of one file."""

    size: int
    """Bytes, unpacked."""
    cpu: float
    peak: int
    """Bytes by which the resident memory grew."""

    @property
    def us(self) -> float:
        """Microseconds of CPU per byte."""
        return self.cpu / self.size * 1e6


def decode(shape: Shape, data: bytes) -> Cost:
    """Decode a file in this process, as the reader does: results are dropped piece by piece."""
    shape.form.decoder(None, Path(shape.path)).feed(shape.make(1000))  # imports, tables of words
    decoder = shape.form.decoder(None, Path(shape.path))
    Path("/proc/self/clear_refs").write_text("5")
    before, began = _status("VmRSS"), time.process_time()
    for at in range(0, len(data), BUDGET_BYTES):
        decoder.feed(data[at : at + BUDGET_BYTES], more=at + BUDGET_BYTES < len(data))
    while decoder.holds_row:
        decoder.feed(b"")
    return Cost(size_of(data), time.process_time() - began, _status("VmHWM") - before)


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))


def _measure(index: int, size: int) -> Cost:
    shape = SHAPES[index]
    return decode(shape, shape.make(size))


def verdict(costs: Sequence[Cost], growth: float) -> str:
    """What is wrong with the costs of growing files; empty when nothing is."""
    first, last = costs[0], costs[-1]
    if last.cpu > _LEAST_S and last.us > growth * max(first.us, _LEAST_US):
        return "not linear"
    hungry = any(cost.peak > _PER_BYTE * cost.size + _BASE for cost in costs)
    return "hungry" if hungry else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each kind of file; 1 when one is over a limit."""
    parser = argparse.ArgumentParser(prog="benchmarks.hostile", description=__doc__)
    parser.add_argument("words", nargs="*", help="only kinds with one of these in their name")
    parser.add_argument("--size", type=int, default=1 << 18, help="bytes of the smallest file")
    parser.add_argument("--growth", type=float, default=2.5)
    options = parser.parse_args(arguments)
    wrong = 0
    with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        for index, shape in enumerate(SHAPES):
            if options.words and not any(word in shape.name for word in options.words):
                continue
            sizes = [options.size, 4 * options.size, 16 * options.size]
            costs = [pool.apply(_measure, (index, size)) for size in sizes]
            found = verdict(costs, options.growth)
            wrong += bool(found)
            rates = " ".join(f"{cost.us:6.3f}" for cost in costs)
            peaks = " ".join(f"{cost.peak >> 20:4}" for cost in costs)
            sys.stdout.write(f"{shape.name:44} us/byte {rates}  MiB {peaks}  {found}\n")
            sys.stdout.flush()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
