"""Values of a log that are no numbers: histograms, pictures, curves."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from rltui.core.block import FloatArray

#: Bins of a histogram that are kept; more are merged until all hold about as much.
_MOST_BINS = 64
#: Largest count and edge, and least share of a bin: what is computed of them stays finite.
_MOST = 1e200
_LEAST_SHARE = 1e-12


class Histogram(NamedTuple):
    """How values are spread: finite, ascending edges (n + 1,) and counts (n,), n at most 64."""

    edges: FloatArray
    counts: FloatArray

    def quantiles(self, shares: FloatArray) -> FloatArray:
        """The values below which these shares of all lie; within a bin all lie evenly."""
        whole = np.concatenate(([0.0], np.cumsum(self.counts)))
        found: FloatArray = np.interp(shares * whole[-1], whole, self.edges)
        return found


class PrecisionRecall(NamedTuple):
    """Precision and recall (n,) at thresholds that rise evenly from 0 to 1."""

    precision: FloatArray
    recall: FloatArray


#: The encoded images of one step, or the files that hold them: at least one.
Pictures = tuple[bytes | Path, ...]
Media = Histogram | PrecisionRecall | Pictures


def histogram(edges: FloatArray, counts: FloatArray) -> Histogram | None:
    """A histogram of at most 64 bins; None when it counts nothing or its edges are no numbers.
    Counts that are no numbers count as none."""
    if len(edges) != len(counts) + 1:
        return None
    counts = np.minimum(np.where(np.isfinite(counts) & (counts > 1 / _MOST), counts, 0.0), _MOST)
    counts[counts < counts.sum() * _LEAST_SHARE] = 0
    edges = np.clip(edges, -_MOST, _MOST)  # keeps NaN
    used = np.flatnonzero(counts)
    if not len(used) or not np.isfinite(edges).all():
        return None
    first = int(used[0])
    last = int(used[-1]) + 1
    edges = np.maximum.accumulate(edges[first : last + 1])
    counts = counts[first:last]
    if len(counts) > _MOST_BINS:
        whole = np.concatenate(([0.0], np.cumsum(counts / counts.sum())))
        cuts = np.unique(np.searchsorted(whole, np.linspace(0, 1, _MOST_BINS + 1)[1:-1]))
        cuts = np.unique(np.concatenate(([0], cuts, [len(counts)])))
        edges = edges[cuts]
        counts = np.add.reduceat(counts, cuts[:-1])

    return Histogram(edges, counts)
