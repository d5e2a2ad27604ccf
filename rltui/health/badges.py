"""Why a metric gets no tick although no rule has found anything yet.

A rule waits until it is certain; a tick that stays meanwhile would praise what is already wrong.
So a badge that would be ok stays open as soon as the newest rows speak against it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from rltui.catalogue.model import Category, TagInfo
from rltui.core.block import FloatArray
from rltui.core.level import Direction
from rltui.core.shipped import shipped
from rltui.core.yaml_document import read_document
from rltui.health.model import Judgement
from rltui.store import Series

#: Rows whose median is the present level, and the fewest that show a gain at all.
_NOW, _LEAST = 3, 8
#: Rows that are read, evenly over the run: the cost does not grow with it.
_MOST = 256
#: First rows that give the level at the start.
_START = 8


@dataclass(frozen=True, slots=True)
class _Doubts:
    """``data/badges.yaml``; see there for the meaning of each field."""

    chance: Mapping[str, float]
    gains: tuple[str, ...]
    lost_share: float
    lost_noises: float
    signals: tuple[str, ...]
    vanished: float


@cache
def _doubts() -> _Doubts:
    """Reads the shipped document once. Raises DocumentError."""
    table = read_document(shipped("health", "data", "badges.yaml")).table()
    table.need("schema").integer()
    lost = table.need("lost").table()
    found = _Doubts(
        chance={key: node.number() for key, node in table.need("chance").table().pairs()},
        gains=table.need("gains").texts(),
        lost_share=lost.need("share").number(),
        lost_noises=lost.need("noises").number(),
        signals=table.need("signals").texts(),
        vanished=table.need("vanished").number(),
    )
    lost.finish()
    table.finish()
    return found


def doubt(info: TagInfo, series: Series, judgement: Judgement) -> str:
    """Why the newest rows of a tag deserve no tick, for people; "" when nothing speaks against
    it. Cheap: reads a bounded number of rows."""
    if not series.count:
        return ""
    if not math.isfinite(series.values[-1]):
        return "the newest value is not finite"
    if judgement.pending or _outside(float(series.values[-1]), judgement):
        return "the newest value is outside its range, not for long enough to be a finding"
    newest = sorted(series.values[-_NOW:].tolist())
    now = newest[len(newest) // 2] * info.sign
    reason = _below_chance(info, now) or _no_signal(info, series)
    if not reason and info.direction is Direction.UP and _is_gain(info):
        reason = _lost_gain(_thinned(series) * info.sign, now)
    return reason


def _outside(value: float, judgement: Judgement) -> bool:
    low, high = judgement.low, judgement.high
    return (low is not None and value < low) or (high is not None and value > high)


def _below_chance(info: TagInfo, now: float) -> str:
    chance = _doubts().chance.get(info.metric.key) if info.metric else None
    return f"below chance ({chance:g})" if chance is not None and now < chance else ""


def _no_signal(info: TagInfo, series: Series) -> str:
    left = vanished(info, series)
    return "" if left is None else f"the signal has vanished: {left:.1%} of its start"


def _is_gain(info: TagInfo) -> bool:
    key = info.metric.key if info.metric else ""
    return info.category is Category.VALIDATION or key.startswith(_doubts().gains)


def vanished(info: TagInfo, series: Series, until: int | None = None) -> float | None:
    """What is left of a learning signal (spread, advantages, gradient) that has vanished, as a
    share of its start; None while it is there. ``until``: the last step that is read."""
    if info.metric is None or not info.metric.key.startswith(_doubts().signals):
        return None
    count = series.count
    if until is not None:
        count = int(np.searchsorted(series.steps, until, "right"))
    start, now = np.abs(series.values[:_START]), np.abs(series.values[max(0, count - _NOW) : count])
    if count < 2 * _START or not (np.isfinite(start).all() and np.isfinite(now).all()):
        return None
    usual = float(np.median(start))
    share = float(np.median(now)) / usual if usual > 0 else 1.0
    return share if share <= _doubts().vanished else None


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
    gain, lost, limits = best - start, best - now, _doubts()
    least = limits.lost_noises * noise
    if gain <= least or lost <= max(limits.lost_share * gain, least):
        return ""
    return f"it has lost {min(lost / gain, 9.99):.0%} of its gain"
