"""How far seeds differ: quantiles as printed, intervals that hold, and their width."""

import numpy as np
import pytest

from rltui.core.level import Direction
from rltui.facts.prediction import expected, student
from tests.tables import cases


@cases(__file__, "of_printed_tables")
def test_the_quantiles_of_student(freedom: int, chance: float, value: float) -> None:
    assert student(chance, freedom) == pytest.approx(value, abs=6e-4)


@pytest.mark.parametrize("draw", ["normal", "lognormal"])
def test_months_of_good_runs_stay_inside(draw: str) -> None:
    random = np.random.default_rng(1)
    quiet = 0
    for _ in range(400):
        runs = getattr(random, draw)(0.0, 0.3, 38)
        low, high = expected(runs[:8], Direction.NONE, 1)
        quiet += bool(((runs[8:] >= low) & (runs[8:] <= high)).all())
    assert quiet >= 0.95 * 400


def test_fewer_runs_and_more_conditions_make_it_wider() -> None:
    x = np.array([1.0, 1.1, 0.9, 1.0, 1.05, 0.95, 1.02, 0.98])
    widths = [expected(v, Direction.UP, n)[0] or 0.0 for v, n in ((x, 1), (x, 40), (x[:3], 40))]
    assert widths == sorted(widths, reverse=True)
    assert expected(x, Direction.UP, 1)[1] is expected(x, Direction.DOWN, 1)[0] is None
    assert expected(np.array([1e300, 2e300, -1e300]), Direction.NONE, 1) == (None, None)
