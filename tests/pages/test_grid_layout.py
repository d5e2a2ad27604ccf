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


def test_a_cell_of_the_screen_leads_to_its_chart() -> None:
    layout = grid_layout(160, 41, 22)
    top, left = layout.heights[0], layout.pitch
    assert layout.place_at(0, 0) == 0
    assert layout.place_at(left - 1, top - 1) == 0
    assert layout.place_at(left, top) == layout.columns + 1
    assert layout.place_at(159, 0) is None, "right of the last column"
    assert layout.place_at(0, 40) is None, "on the x axis"


def test_scrolling_is_by_rows_and_no_more_than_needed() -> None:
    layout = grid_layout(80, 20, 40)
    assert (layout.columns, layout.rows) == (2, 3)
    assert layout.scrolled(0, 5, 40) == 0
    assert layout.scrolled(0, 6, 40) == 1
    assert layout.scrolled(9, 39, 40) == 17
    assert layout.scrolled(17, 10, 40) == 5
    assert layout.scrolled(17, 0, 3) == 0, "the filter left few charts"
