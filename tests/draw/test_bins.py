"""Points gathered in columns: piece by piece as all at once, and cheap when little is new."""

from __future__ import annotations

import time

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


def test_new_points_of_a_series_of_a_million_cost_nothing() -> None:
    x, y = np.arange(1_000_010), np.random.default_rng(1).random(1_000_010, dtype=np.float32)
    digest = empty_digest(0, 1_000_010, 1_048_576, 60)
    digest.extend(x[:1_000_000], y[:1_000_000], 1_000_010)
    took = []
    for end in range(1_000_001, 1_000_011):
        began = time.process_time()
        digest.extend(x[:end], y[:end], 1_000_010)
        took.append(time.process_time() - began)
    assert min(took) < 1e-3
