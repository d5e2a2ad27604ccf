"""Points gathered in columns: piece by piece as all at once, and cheap when little is new."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rltui.draw.spark import Digest, empty_digest

values = st.one_of(
    st.floats(-1e6, 1e6), st.sampled_from([float("nan"), float("inf"), float("-inf"), 0.0])
)


def state(digest: Digest) -> list[object]:
    arrays = (digest.high, digest.low, digest.newest, digest.count, digest.good)
    return [*(a.tolist() for a in arrays), digest.middle]


@given(
    y=st.lists(values, min_size=1, max_size=60),
    gaps=st.lists(st.integers(0, 5), min_size=60, max_size=60),
    cuts=st.lists(st.integers(0, 60), max_size=4),
    width=st.integers(1, 12),
)
def test_piece_by_piece_is_as_all_at_once(
    y: list[float], gaps: list[int], cuts: list[int], width: int
) -> None:
    x = np.cumsum(gaps[: len(y)])
    last = int(x[-1])
    whole = empty_digest(0, last, last, width)
    whole.extend(x, np.array(y), last)
    parts = empty_digest(0, last, last, width)
    for cut in sorted(cuts):
        parts.extend(x[:cut], np.array(y)[:cut], last)
    parts.extend(x, np.array(y), last)
    np.testing.assert_equal(state(parts), state(whole))
