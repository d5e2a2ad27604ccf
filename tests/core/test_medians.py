import math

import numpy as np
import pytest

from rltui.core.medians import median, row_medians


@pytest.mark.parametrize("rows", [1, 2, 5, 6])
def test_medians_are_those_of_numpy(rows: int) -> None:
    x = np.random.default_rng(rows).normal(size=(7, rows))
    assert row_medians(x).tolist() == np.median(x, axis=1).tolist()
    assert [median(row) for row in x] == np.median(x, axis=1).tolist()


def test_a_median_of_nan_is_nan_and_leaves_the_values_as_they_are() -> None:
    x = np.array([3, math.nan, 1], np.float32)
    assert math.isnan(median(x))
    assert x[0] == 3
    assert median(np.array([math.inf, 1.0, 3.0])) == 3
