"""Windows that grow with the log."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rltui.health.detectors.extent import Extent
from rltui.health.detectors.windows import rolling_count, rolling_extreme, rolling_median
from rltui.health.judge import spans

_EXTENTS = st.builds(
    lambda least, more, share: Extent(least + more, share, least),
    st.integers(1, 8),
    st.integers(0, 30),
    st.sampled_from([0.02, 0.04, 0.1, 0.15, 0.3, 1.0]),
)


@given(size=_EXTENTS, rows=st.integers(0, 400))
def test_pieces_cover_all_rows_with_the_size_of_each(size: Extent, rows: int) -> None:
    pieces = list(size.pieces(rows))
    assert [p[0] for p in pieces[1:]] == [p[1] for p in pieces[:-1]]
    assert (pieces[0][0], pieces[-1][1]) == (0, rows) if rows else not pieces
    np.testing.assert_array_equal(size.sizes(rows), [size.at(i + 1) for i in range(rows)])
    assert all(size.least <= s <= size.most for s in size.sizes(rows))


@given(size=_EXTENTS, seed=st.integers(0, 99), rows=st.integers(1, 150))
def test_windows_of_growing_size(size: Extent, seed: int, rows: int) -> None:
    x = np.random.default_rng(seed).standard_normal(rows)
    parts = [x[max(0, i + 1 - size.at(i + 1)) : i + 1] for i in range(rows)]
    np.testing.assert_allclose(rolling_median(x, size), [np.median(p) for p in parts])
    np.testing.assert_array_equal(rolling_extreme(x, size, least=True), [p.min() for p in parts])
    np.testing.assert_array_equal(rolling_count(x > 0, size), [(p > 0).sum() for p in parts])


@given(hold=_EXTENTS, flags=st.lists(st.booleans(), min_size=1, max_size=120))
def test_an_episode_fires_at_the_same_row_while_the_log_grows(
    hold: Extent, flags: list[bool]
) -> None:
    beyond = np.array(flags)
    whole = {(s.first, s.sure) for s in spans(beyond, hold, 3)}
    for rows in range(1, len(beyond) + 1):
        for span in spans(beyond[:rows], hold, 3):
            assert (span.first, span.sure) in whole
            assert span.sure - span.first + 1 == hold.at(span.sure + 1)
