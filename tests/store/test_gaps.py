"""NaN between two measurements is a gap; NaN that lasts, or comes once in a while, was logged."""

import math

import numpy as np

from rltui.core.batch import RunKey
from rltui.store import RunData
from rltui.store.points import measured
from tests.builders import LOGDIR, a_batch, steps
from tests.tables import cases

NAN = math.nan


def kept(text: str) -> str:
    """The rows that stay, of one letter each: a value ``v`` or ``n`` for NaN."""
    mask = measured(np.array([1.0 if letter == "v" else NAN for letter in text]))
    rows = text if mask is None else [c for c, keep in zip(text, mask, strict=True) if keep]
    return "".join(rows)


@cases(__file__, "gaps")
def test_gaps(rows: str, left: str) -> None:
    assert kept(rows) == left


def test_a_series_that_grows_without_its_gaps_stays_the_same_series() -> None:
    run = RunData(RunKey(0, "."), LOGDIR)
    values = [0.5 if n % 10 == 0 else NAN for n in range(60)]
    seen = []
    for n, value in enumerate(values):
        run.apply(a_batch(steps(n, {"eval": [value]})))
        seen.append((run.series("eval").epoch, run.series("eval").count))
    assert run.series("eval").steps.tolist() == [0, 10, 20, 30, 40, 50]
    settled = seen[11:]
    assert len({epoch for epoch, _ in settled}) == 1
    assert settled[-1][1] == 6
