"""Runs drawn at random, of metrics that rules read."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from rltui.catalogue import load_catalogue
from rltui.core.block import FloatArray
from rltui.health.rules import load_rules

RULES = load_rules()
#: Metrics of the catalogue that a rule reads.
READ = sorted(
    key
    for key in load_catalogue().metrics
    if any(v.reads(key) is not None and not v.remaining for r in RULES for v in r.variants)
)

#: Metrics that rules read, as a run of some rows; what is not drawn is not logged.
Logged = dict[str, FloatArray]
_PARTS = st.tuples(
    st.sampled_from([0.0, 1e-9, 1e-3, 0.02, 0.1, 0.3, 0.9, 1.0, 2.0, 30.0, -0.5, -20.0]),
    st.integers(1, 40),
    st.sampled_from([0.0, 0.01, 0.5]),
)


@st.composite
def series(draw: st.DrawFn, most: int = 6) -> FloatArray:
    """Pieces of different levels and noise."""
    parts = draw(st.lists(_PARTS, min_size=1, max_size=most))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    return np.concatenate([v + s * abs(v) * rng.standard_normal(n) for v, n, s in parts])


@st.composite
def logged(draw: st.DrawFn, rows: int = 120) -> Logged:
    """Some rows of a few metrics that rules read."""
    keys = draw(st.lists(st.sampled_from(READ), min_size=3, max_size=9, unique=True))
    return {key: np.resize(draw(series(5)), rows) for key in keys}
