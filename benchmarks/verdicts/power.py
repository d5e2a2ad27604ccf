"""Power and false alarms of the two answers: ``python -m benchmarks.verdicts.power``.

Does what measures success rise, stand or fall, and does the policy move? Each is asked after every
row of simulated series: percent of them in which the answer is given at any row, so that the rate
of what is wrong is one of many looks, and at the last one. A slow rise is none yet in its first
rows: what is said of these is withdrawn. The noise is AR(1) with a memory of 0, 0.5 and 0.9 from
row to row; sizes are in its standard deviations.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.machine import table
from benchmarks.verdicts.noise import MEMORIES, noise
from rltui.core.block import BoolArray, FloatArray
from rltui.health.detectors.progress import fell, never_rose, stays
from rltui.health.detectors.signal import Rows

ROWS = (50, 300)
SERIES = 200
#: Share of its usual value that an entropy scatters by.
_SCATTER = 0.003

Course = Callable[[int], FloatArray]
Asked = Callable[[FloatArray], BoolArray]


def flat(x: FloatArray, *, sure: bool) -> BoolArray:
    """(n,) whether it is said that the rows so far gained nothing."""
    return never_rose(Rows(x, np.arange(len(x))), sure=sure).beyond


def fallen(x: FloatArray, *, sure: bool) -> BoolArray:
    """(n,) whether it is said that the rows so far fell."""
    return fell(Rows(x, np.arange(len(x))), sure=sure).beyond


def still(x: FloatArray) -> BoolArray:
    """(n,) whether it is said that a policy does not move, by its entropy."""
    entropy = 1.0 + _SCATTER * x
    rows = Rows(np.zeros(len(x)), np.arange(len(x)), {"policy": entropy})
    return stays(rows, "policy")


def rise(size: float) -> Course:
    """A steady rise by ``size`` standard deviations."""
    return lambda rows: np.linspace(0.0, size, rows)


def drop(size: float) -> Course:
    """A rise of eight standard deviations in half of the rows, of which ``size`` are lost at once
    after three quarters."""

    def course(rows: int) -> FloatArray:
        risen: FloatArray = np.minimum(np.linspace(0.0, 16.0, rows), 8.0)
        lost = size * (np.arange(rows) >= 3 * rows // 4)
        return risen - lost

    return course


def asked() -> Iterator[tuple[str, str, Asked, Course]]:
    """What is said, of which series, the question, and the series without noise."""
    for size in (0.0, 1.0, 2.0, 4.0, 8.0):
        what = f"a rise of {size:g} sd" if size else "no change"
        yield "it never rose, watch", what, lambda x: flat(x, sure=False), rise(size)
        yield "it never rose, bad", what, lambda x: flat(x, sure=True), rise(size)
    for size in (0.0, 2.0, 4.0, 6.0, 8.0):
        what = f"a loss of {size:g} of 8 sd" if size else "a rise of 8 sd, then a plateau"
        yield "it fell, watch", what, lambda x: fallen(x, sure=False), drop(size)
        yield "it fell, bad", what, lambda x: fallen(x, sure=True), drop(size)
    for size in (0.0, 3.0, 7.0, 33.0):
        what = f"a change of {_SCATTER * size:.0%}" if size else "no change"
        yield "the policy does not move", what, still, rise(size)


def shares(question: Asked, course: Course, rows: int, memory: float) -> str:
    """Percent of series in which the answer is given at any row, and at the last one."""
    random = np.random.default_rng(rows)
    plain = course(rows)
    given = [question(plain + noise(random, rows, memory)) for _ in range(SERIES)]
    ever, last = (np.mean([pick(x) for x in given]) for pick in (np.any, lambda x: x[-1]))
    return f"{100 * ever:.0f}, {100 * last:.0f}"


def main() -> None:
    """Print one line per answer and kind of series."""
    found = []
    for said, what, question, course in sorted(asked(), key=lambda one: one[0]):
        cells = (shares(question, course, n, m) for m in MEMORIES for n in ROWS)
        found.append((said, what, *cells))
    head = ("said", "of", *(f"{memory:g}: {rows}" for memory in MEMORIES for rows in ROWS))
    sys.stdout.write("\n".join(table(head, found)) + "\n")


if __name__ == "__main__":
    main()
