"""Why a metric gets no tick although no rule has found anything yet.

A rule waits until it is certain; a tick that stays meanwhile would praise what is already wrong.
So a badge that would be ok stays open as soon as the newest rows speak against it.
"""

from __future__ import annotations

import numpy as np

from rltui.catalogue.model import Category, TagInfo
from rltui.core.block import FloatArray
from rltui.core.level import Direction
from rltui.health.model import Judgement
from rltui.store import Series

#: Accuracies of choices between two: a coin reaches a half.
_CHANCE = {
    "dpo.accuracy": 0.5,
    "rm.accuracy": 0.5,
    "val.dpo.accuracy": 0.5,
    "val.rm.accuracy": 0.5,
}
#: Rising metrics that training is for: all of validation, and these.
_GAINS = ("reward.", "episode_return.", "success_rate", "accuracy.", "dpo.", "rm.")
#: Rows whose median is the present level, and the fewest that show a gain at all.
_NOW, _LEAST = 3, 8
#: Rows that are read, evenly over the run: the cost does not grow with it.
_MOST = 256
#: A gain is lost when this share of it is gone ...
_LOST = 0.5
#: ... and it is this many times the usual difference between neighbours.
_NOISES = 4.0


def doubt(info: TagInfo, series: Series, judgement: Judgement) -> str:
    """Why the newest rows of a tag deserve no tick, for people; "" when nothing speaks against
    it. Cheap: reads a bounded number of rows."""
    if not series.count:
        return ""
    if not np.isfinite(series.values[-1]):
        return "the newest value is not finite"
    if judgement.pending:
        return "the newest value is outside its range, not for long enough to be a finding"
    now = float(np.median(series.values[-_NOW:])) * info.sign
    chance = _CHANCE.get(info.metric.key) if info.metric else None
    if chance is not None and now < chance:
        return f"below chance ({chance:g})"
    if info.direction is Direction.UP and _is_gain(info):
        return _lost_gain(_thinned(series) * info.sign, now)
    return ""


def _is_gain(info: TagInfo) -> bool:
    key = info.metric.key if info.metric else ""
    return info.category is Category.VALIDATION or key.startswith(_GAINS)


def _thinned(series: Series) -> FloatArray:
    rows = np.unique(np.linspace(0, series.count - 1, min(series.count, _MOST)).astype(np.int64))
    values = series.values[rows].astype(np.float64)
    return values[np.isfinite(values)]


def _lost_gain(values: FloatArray, now: float) -> str:
    """Whether ``now`` has lost most of what ``values`` (n,) had gained since their start."""
    if len(values) < _LEAST:
        return ""
    start = float(np.median(values[: max(_NOW, len(values) // 10)]))
    best = float(np.quantile(values, 0.9))
    noise = float(np.median(np.abs(np.diff(values))))
    gain, lost = best - start, best - now
    if gain <= _NOISES * noise or lost <= max(_LOST * gain, _NOISES * noise):
        return ""
    return f"it has lost {min(lost / gain, 9.99):.0%} of its gain"
