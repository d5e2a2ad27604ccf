"""Why a metric gets no tick although no rule has found anything yet.

A rule waits until it is certain; a tick that stays meanwhile would praise what is already wrong.
So a badge that would be ok is unsure as soon as the newest rows speak against it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from rltui.catalogue.model import Category, Infos, Question, TagInfo
from rltui.core.block import FloatArray, IntArray
from rltui.core.level import Direction, Level
from rltui.core.medians import median
from rltui.core.text import Names
from rltui.core.yaml_record import shipped_record
from rltui.health.detectors.signal import FEW
from rltui.health.judgement import is_outside, limit_of
from rltui.health.limits import COURSE_ROWS, MOST_PLACES
from rltui.health.model import FewRows, Finding, Judgement
from rltui.store import Series
from rltui.store.points import distinct

#: By which values are multiplied to rise where they get better.
_GAINS = {Direction.UP: 1.0, Direction.DOWN: -1.0}


class _Doubts(NamedTuple):
    """``data/badges.yaml``; see there for the meaning of each field."""

    least_rows: int
    chance: Mapping[str, float]
    shares: Names
    gains: Names
    lost: Mapping[str, float]
    fallen: Mapping[str, float]
    signals: Names
    vanished: float
    blind: Mapping[str, str]


def _doubts() -> _Doubts:
    """Reads the shipped document once. Raises DocumentError."""
    return shipped_record(_Doubts, "health", "data", "badges.yaml")


def too_few(rows: int) -> FewRows | None:
    """The rows of a run when they are too few for a tick; None when they are enough."""
    needed = _doubts().least_rows
    return FewRows(rows, needed) if rows < needed else None


def reading(info: TagInfo, series: Series, judgement: Judgement) -> Judgement:
    """A judgement as the newest rows of its tag leave it: unsure where they speak against a tick,
    or are outside the range that is shown. Cheap: reads a bounded number of rows."""
    if judgement.level >= Level.WATCH or not series.count:
        return judgement
    # one value is enough where no rule allows for it
    newest = median(series.values[-(FEW if judgement.rules else 1) :])
    beyond = None
    documented = None if info.own_range else info.healthy
    if documented is not None and is_outside(newest, *info.logged_limits(*documented)):
        unmeasured = newest == 0 and info.metric is not None and info.metric.zero
        beyond = None if unmeasured else limit_of(info, Level.UNKNOWN, *documented)
    reason = doubt(info, series, judgement)
    level = Level.UNSURE if reason or beyond else judgement.level
    reason = reason or judgement.doubt
    return replace(judgement, rows=series.count, level=level, doubt=reason, published=beyond)


def without_outcome(
    tags: Mapping[str, Judgement],
    infos: Infos,
    questions: Iterable[Question],
    found: Iterable[Finding],
) -> Mapping[str, Judgement]:
    """The judgements, without the ticks by which a run would learn although no outcome is known."""
    blind = _doubts().blind
    if not any(f.fires and f.rule == blind["rule"] for f in found):
        return tags
    keys = {key for q in questions if q.id == blind["question"] for key in q.keys}
    hidden = {
        t: replace(j, level=Level.UNSURE, doubt=blind["words"])
        for t, j in tags.items()
        if j.level is Level.OK and infos[t].key in keys and not _is_gain(infos[t])
    }
    return {**tags, **hidden}


def doubt(info: TagInfo, series: Series, judgement: Judgement) -> str:
    """Why the newest rows of a tag deserve no tick, for people; "" when nothing speaks against
    it, or no rule judged it."""
    last = float(series.values[-1])
    if judgement.level is Level.UNKNOWN:
        return ""
    if is_outside(last, judgement.low, judgement.high):
        return "the newest value is outside its range, not yet certain"
    if not math.isfinite(last):
        return "the newest value is not finite"
    if judgement.pending:
        return "its newest rows are beyond a limit, not yet certain"
    newest = sorted(series.values[-FEW:].tolist())
    now = newest[len(newest) // 2] * info.sign
    limits = _doubts()
    chance = limits.chance.get(info.key)
    left = vanished(info, series)
    reason = ""
    if chance is not None and now < chance:
        reason = f"below chance ({chance:g})"
    elif now <= 0 and info.key.startswith(limits.shares):
        reason = "not one is right"
    elif left is not None:
        reason = f"the signal has vanished: {left:.1%} of its start"
    elif info.direction in _GAINS and _is_gain(info):
        up = _GAINS[info.direction]
        recent = series.values[-1 - COURSE_ROWS :].astype(np.float64)
        thinned = series.values[_places(series.count)].astype(np.float64)
        thinned = thinned[np.isfinite(thinned)]
        reason = _lost_gain(thinned * info.sign * up, now * up, recent * info.sign * up)
    return reason


def _is_gain(info: TagInfo) -> bool:
    held_out = info.category is Category.VALIDATION
    return held_out or (info.direction is Direction.UP and info.key.startswith(_doubts().gains))


def vanished(info: TagInfo, series: Series, until: int | None = None) -> float | None:
    """Remains of a learning signal (spread, advantages, gradient) that has vanished, as a share of
    its start; None while it is there. ``until``: the last step that is read."""
    if not info.key.startswith(_doubts().signals):
        return None
    count = series.count if until is None else series.rows_until(until)
    start, now = (
        np.abs(series.values[:COURSE_ROWS]),
        np.abs(series.values[max(0, count - FEW) : count]),
    )
    if count < 2 * COURSE_ROWS or not (np.isfinite(start).all() and np.isfinite(now).all()):
        return None
    usual = median(start)
    share = median(now) / usual if usual > 0 else 1.0

    return share if share <= _doubts().vanished else None


@lru_cache(maxsize=16)
def _places(count: int) -> IntArray:
    return distinct(np.linspace(0, count - 1, min(count, MOST_PLACES)).astype(np.int64))


def _lost_gain(values: FloatArray, now: float, recent: FloatArray) -> str:
    """Whether ``now`` has lost most of what ``values`` (n,) had gained since their start, or the
    last of ``recent`` (m,) much of it at once."""
    if len(values) < COURSE_ROWS:
        return ""
    start = median(values[: max(FEW, len(values) // 10)])
    # np.quantile takes fifty times as long for few values
    best = float(np.interp(0.9 * (len(values) - 1), np.arange(len(values)), np.sort(values)))
    noise = median(np.abs(np.diff(values)))
    gain = best - start
    lost = best - now
    limits = _doubts()
    least = limits.lost["noises"] * noise
    if gain <= least:
        return ""
    if lost > max(limits.lost["share"] * gain, least):
        return f"it has lost {min(lost / gain, 9.99):.0%} of its gain"
    before = recent[:-1][np.isfinite(recent[:-1])]
    fallen = median(before) - float(recent[-1]) if len(before) else 0.0
    if fallen > max(limits.fallen["share"] * gain, least):
        return f"it has just lost {min(fallen / gain, 9.99):.0%} of its gain"

    return ""
