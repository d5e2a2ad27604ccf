"""How many charts fit, and where they stand."""

from __future__ import annotations

import pytest

from rltui.pages.run.grid import grid_layout

SIZES = [
    (20, 3),
    (40, 8),
    (78, 21),
    (80, 20),
    (120, 32),
    (160, 41),
    (200, 46),
    (240, 56),
    (400, 116),
]


@pytest.mark.parametrize(
    ("width", "columns"), [(40, 1), (80, 2), (109, 2), (110, 3), (150, 4), (190, 5), (240, 6)]
)
def test_as_many_columns_as_fit(width: int, columns: int) -> None:
    assert grid_layout(width, 40, 500).columns == columns


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_charts_fill_the_body_and_stay_in_it(width: int, height: int) -> None:
    for count in (1, 2, 3, 5, 8, 13, 22, 200):
        layout = grid_layout(width, height, count)
        assert sum(layout.heights) + layout.axis == height
        assert layout.columns * layout.pitch <= width
        assert max(layout.heights) - min(layout.heights) <= 1
