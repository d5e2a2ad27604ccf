"""Where the time of a step goes: its stages, what they took, and what they usually take.

Which tags are stages, which contain which, and what counts their tokens is knowledge of the
catalogue (``part_of``, ``per_token``, ``tokens``). All times are in seconds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rltui.catalogue.model import Metric, TagInfo
from rltui.core.block import BoolArray, FloatArray, IntArray, ValueArray
from rltui.core.medians import row_medians
from rltui.facts.cache import per_version
from rltui.facts.timers import median_of, newest, runs_beside, scale_of
from rltui.session.limits import session_limits
from rltui.session.run import JudgedRun

#: Rows that are read at once.
_READ = 1024


class Stage(NamedTuple):
    """One stage of a step, or something that happens inside one."""

    tag: str
    depth: int
    """0 for a stage of the step itself."""
    within: str = ""
    """Tag of the stage that contains it."""
    per_token: str = ""
    """Tag of the same per token, if that is logged."""
    tokens: str = ""
    """Tag that counts the tokens it handles per step, if that is logged."""


class Cost(NamedTuple):
    """Seconds of a stage, or of the whole step."""

    now: float
    """Median of its newest rows; NaN when none of them is finite."""
    usual: float
    """Median of the rows after the first few; NaN with too few of them."""
    every: float = 1.0
    """How many steps pass between two rows of it."""

    @property
    def per_step(self) -> float:
        """Its part in the average step."""
        return self.now / self.every

    @property
    def drift(self) -> float:
        """Ratio of now to usual; NaN when one is missing or usual is zero."""
        return self.now / self.usual if self.usual > 0 else np.nan


class Anatomy:
    """The stages of the steps of a run, as of one version of it."""

    def __init__(self, run: JudgedRun, total: str, stages: tuple[Stage, ...]) -> None:
        """``total``: tag of the seconds of a whole step, "" when that is not logged."""
        self._run = run
        self.total = total
        self.stages = stages
        """In the order of the catalogue, each followed by what happens inside it."""

    @property
    def parts(self) -> list[Stage]:
        """The stages that make up a step; nothing is in two of them."""
        return [s for s in self.stages if not s.depth]

    @cached_property
    def costs(self) -> dict[str, Cost]:
        """Cost of each stage, by tag."""
        rows = len(self.steps)
        return {s.tag: cost_of(self._run, s.tag, rows) for s in self.stages}

    @cached_property
    def _known(self) -> list[Cost]:
        return [c for s in self.parts if np.isfinite((c := self.costs[s.tag]).now)]

    @cached_property
    def whole(self) -> Cost:
        """Cost of one step: as logged, else the stages of every step together. A stage whose usual
        time is unknown counts as unchanged."""
        if self.total:
            return cost_of(self._run, self.total, len(self.steps))
        regular = [c for c in self._known if c.every == 1.0]
        now = sum(c.now for c in regular)
        if not any(np.isfinite(c.usual) for c in regular):
            return Cost(now, np.nan)
        return Cost(now, sum(c.usual if np.isfinite(c.usual) else c.now for c in regular))

    @cached_property
    def steps(self) -> IntArray:
        """(n,) the steps, ascending."""
        tags = [self.total] if self.total else [s.tag for s in self.parts]
        return max((self._run.series(tag) for tag in tags), key=lambda s: s.count).steps

    @cached_property
    def heights(self) -> FloatArray:
        """(n,) seconds of each step: the logged total, or the sum of the stages where that is
        missing, or shorter because the trainer does not count an occasional stage."""
        if not self.total:
            return np.asarray(self.at(np.arange(len(self.steps))).sum(axis=0))
        values = self._run.series(self.total).values
        heights = values.astype(np.float64) * scale_of(self._run, self.total)
        rows = np.flatnonzero(self.is_rare)
        heights[rows] = np.fmax(heights[rows], self.at(rows).sum(axis=0))
        return heights

    @cached_property
    def is_rare(self) -> BoolArray:
        """(n,) whether an occasional stage took place in each of the steps."""
        rare = [self._run.series(s.tag).steps for s in self.parts if self.costs[s.tag].every > 1]
        return np.isin(self.steps, np.concatenate([np.empty(0, np.int64), *rare]))

    def at(self, rows: IntArray) -> FloatArray:
        """(parts, n) seconds of each of :attr:`parts` in some rows (n,) of :attr:`steps`; 0 where
        it is not logged or not finite."""
        found = []
        for stage in self.parts:
            series = self._run.series(stage.tag)
            places = rows
            there = True
            if stage.tag not in self._aligned:
                steps = self.steps[rows]
                places = np.maximum(np.searchsorted(series.steps, steps, "right") - 1, 0)
                there = series.steps[places] == steps
            values = series.values[places].astype(np.float64) * scale_of(self._run, stage.tag)
            found.append(np.where(there & np.isfinite(values), values, 0.0))
        return np.array(found)

    @cached_property
    def _aligned(self) -> set[str]:
        """Stages that are logged in every step."""
        steps = self.steps
        return {s.tag for s in self.parts if np.array_equal(self._run.series(s.tag).steps, steps)}

    @cached_property
    def other(self) -> float:
        """Seconds of the average step that no stage accounts for; 0 without a logged total."""
        rest = self.whole.now - sum(c.now for c in self._known if c.every == 1.0)
        return max(0.0, rest) if self.total and np.isfinite(rest) else 0.0

    @cached_property
    def length(self) -> float:
        """Seconds of the average step: what the shares are shares of."""
        return sum(c.per_step for c in self._known) + self.other

    def share(self, stage: Stage) -> float:
        """The share of a stage in the average step, 0 to 1; NaN when unknown."""
        return self.costs[stage.tag].per_step / self.length if self.length > 0 else np.nan

    def per_token(self, stage: Stage) -> tuple[float, bool]:
        """Milliseconds per token now, and whether that was logged; else it is worked out from
        the tokens of the step. NaN when neither is logged."""
        if stage.per_token:
            return newest(self._run, stage.per_token), True
        tokens = newest(self._run, stage.tokens) if stage.tokens else np.nan
        return (1000 * self.costs[stage.tag].now / tokens if tokens > 0 else np.nan), False

    @cached_property
    def usual_steps(self) -> tuple[int, int] | None:
        """First and last step of the rows that are the usual ones; None with too few of them."""
        part = _usual_rows(len(self.steps))
        return None if part is None else (int(self.steps[part][0]), int(self.steps[part][-1]))

    def leaf(self, stage: Stage) -> Stage:
        """Part that takes most of a stage: the one that takes more than half, and so on down."""
        inside = [s for s in self.stages if s.within == stage.tag]
        longest = max(inside, key=lambda s: np.nan_to_num(self.costs[s.tag].now), default=None)
        if longest is None or not 2 * self.costs[longest.tag].now > self.costs[stage.tag].now:
            return stage
        return self.leaf(longest)

    def _told(self) -> int | None:
        """The onset of the story about a slow step that goes on: one slowdown has one onset."""
        tags = {self.total, *(s.tag for s in self.stages)}
        found = self._run.report.diagnosed.diagnoses if self._run.report else ()
        about = (d for d in found if not d.is_over and any(f.tag in tags for f in d.findings))
        return next((d.since_step for d in about), None)

    @cached_property
    def slowed(self) -> tuple[Stage, int] | None:
        """The stage that lengthened the step most, or what takes most of it, and the step since
        which it does; None when the step takes about as long as usual."""
        slower = session_limits().stages.slower
        if not self.whole.drift > slower:
            return None
        grown = [(c.now - c.usual, s) for s in self.parts if (c := self.costs[s.tag]).usual > 0]
        stage = max(grown, key=lambda found: found[0], default=(0.0, None))[1]
        if stage is None or not (cost := self.costs[stage.tag]).drift > slower:
            return None
        if self.costs[self.leaf(stage).tag].drift > slower:
            stage, cost = self.leaf(stage), self.costs[self.leaf(stage).tag]
        if (told := self._told()) is not None:
            return stage, told
        series = self._run.series(stage.tag)
        scale = scale_of(self._run, stage.tag)
        since = _since(series.values, (cost.now + cost.usual) / 2 / scale)

        return stage, int(series.steps[since])


@per_version
def cost_of(run: JudgedRun, tag: str, rows: int) -> Cost:
    """Cost of a stage in a run of ``rows`` steps. Reads few of its points."""
    series = run.series(tag)
    count = series.count
    every = rows / count if 0 < count < session_limits().stages.occasional * rows else 1.0
    part = None if every > 1 else _usual_rows(count)
    usual = np.nan if part is None else median_of(series.values[part]) * scale_of(run, tag)
    return Cost(newest(run, tag), usual, every)


def _usual_rows(count: int) -> slice | None:
    """The rows that are the usual ones of ``count``; None when there are hardly others."""
    limits = session_limits().stages
    first = min(limits.warm_up, count // 10)
    last = min(first + limits.usual, count - limits.recent)
    return slice(first, last) if last - first >= limits.smooth else None


def _since(values: ValueArray, limit: float) -> int:
    """The row since which the median of a few rows stays above ``limit``. Reads backwards, no
    further than to that row."""
    end = len(values)
    smooth = session_limits().stages.smooth
    while end > smooth:
        begin = max(0, end - _READ)
        windows = np.lib.stride_tricks.sliding_window_view(values[begin:end], smooth)
        known = ~np.isnan(windows).any(axis=1)
        below = np.flatnonzero((row_medians(windows) <= limit) & known)
        if len(below):
            return min(begin + int(below[-1]) + smooth // 2 + 1, len(values) - 1)
        end = begin + smooth - 1
    return 0


@per_version
def anatomy(run: JudgedRun) -> Anatomy | None:
    """The stages of the steps of a run; None when a single time is logged, none in every step, or
    only timers of something shorter."""
    parts = {t: i for t, i in run.infos.items() if i.part_of and run.points.count(t)}
    logged = {t: i for t, i in parts.items() if not runs_beside(run, i)}
    if not logged:
        return None
    total = _tag_of(run, run.catalogue.roles.step_time)
    ordered = sorted(logged, key=lambda t: (logged[t].order, logged[t].title, t))
    firsts: dict[str, str] = {}
    for tag in ordered:
        metric = logged[tag].metric
        if metric is not None and logged[tag].part_of != metric.key:
            firsts.setdefault(metric.key, tag)

    found = {t: _container(run, logged[t], firsts) for t in ordered}

    stages: list[Stage] = []

    def add(tag: str, within: str, depth: int) -> None:
        metric = run.infos[tag].metric
        per_token = tokens = ""
        if metric is not None and not depth:
            per_token = _tag_of(run, metric.per_token)
            tokens = _tag_of(run, metric.tokens)
        stages.append(Stage(tag, depth, within, per_token, tokens))
        for other, container in found.items():
            if container == tag and all(s.tag != other for s in stages):
                add(other, tag, depth + 1)

    tops = _fitting(run, total, [t for t in ordered if found[t] == ""])
    for tag in tops:
        add(tag, "", 0)

    if not tops or len(tops) + bool(total) < 2:
        return None
    anatomy = Anatomy(run, total, tuple(stages))
    regular = any(anatomy.costs[s.tag].every == 1.0 for s in anatomy.parts)
    related = anatomy.other <= session_limits().stages.unrelated * anatomy.length

    return anatomy if regular and related else None


def _tag_of(run: JudgedRun, key: str) -> str:
    """The first tag of a metric; "" without one."""
    return next(iter(run.tags_of_metrics((key,))), "") if key else ""


def _container(run: JudgedRun, info: TagInfo, firsts: Mapping[str, str]) -> str | None:
    """Tag of the stage that contains a timing, "" for the step itself. Where that stage is not
    logged, what contains it counts. None for a statistic over workers or samples."""
    if info.stat is not None:
        return None
    key = info.part_of
    seen = {""}
    while key != run.catalogue.roles.step_time:
        if key in firsts and firsts[key] != info.tag:
            return firsts[key]
        metric = run.catalogue.metrics.get(key)
        seen.add(key)
        if metric is None or metric.part_of in seen:
            return None
        key = metric.part_of

    return ""


def _fitting(run: JudgedRun, total: str, tags: list[str]) -> list[str]:
    """``tags`` without those that the catalogue does not know by name, if all together are longer
    than the step: the largest of them are then parts of others, or contain others."""
    if not total:
        return tags
    rows = run.series(total).count
    costs = {t: cost_of(run, t, rows) for t in tags}
    room = session_limits().stages.fits * cost_of(run, total, rows).now
    kept = [t for t in tags if np.isfinite(costs[t].now)]
    regular = [t for t in kept if costs[t].every == 1.0]

    for tag in sorted(kept, key=lambda t: -costs[t].now):
        metric = run.infos[tag].metric
        if metric is not None and metric.key != run.catalogue.roles.stage:
            continue
        if sum(costs[t].now for t in regular) <= room:
            break
        kept.remove(tag)
        regular = [t for t in regular if t != tag]

    return kept


class Load(NamedTuple):
    """The load of the least, the average and the most loaded rank: medians of the newest rows."""

    tag: str
    """Tag of the fullest one."""
    title: str
    low: float
    mean: float
    """Mean as logged, else the middle of low and high."""
    high: float
    wait: float
    """Seconds of a step in which the average rank waits for the fullest; NaN when unknown."""

    @property
    def excess(self) -> float:
        """How much fuller the fullest one is than the average: 0.1 for 10 %; NaN for no load."""
        return self.high / self.mean - 1 if self.mean > 0 else math.nan


@per_version
def loads(run: JudgedRun) -> list[Load]:
    """The loads that a run logs, in the order of the catalogue."""
    found: dict[str, Load] = {}

    for tag, info in sorted(run.infos.items(), key=lambda item: item[1].order):
        spread = info.metric.spread if info.metric else None
        if info.metric is None or spread is None or not run.points.count(tag):
            continue
        low_tag = _tag_of(run, spread.low)
        mean_tag = _tag_of(run, spread.mean)
        high = newest(run, tag)
        low = newest(run, low_tag) if low_tag else math.nan
        if math.isnan(low) or math.isnan(high):
            continue
        mean = newest(run, mean_tag) if mean_tag else math.nan
        mean = (low + high) / 2 if math.isnan(mean) else mean
        wait = high - mean if info.metric.unit == "s" else _wait(run, info.metric, mean, high)
        found.setdefault(spread.title, Load(tag, spread.title, low, mean, high, wait))

    return list(found.values())


def _wait(run: JudgedRun, metric: Metric, mean: float, high: float) -> float:
    """Seconds of the stages that last as long as the fullest rank needs, in which the others
    have nothing to do. NaN where another metric is the load of these stages."""
    waits = []
    found = anatomy(run)
    for stage in found.parts if found else ():
        of_stage = run.infos[stage.tag].metric
        chosen = run.tags_of_metrics((of_stage.waits,)) if of_stage and of_stage.waits else ()
        if found and high > 0 and any(run.infos[t].metric == metric for t in chosen):
            waits.append(found.costs[stage.tag].per_step * (1 - mean / high))
    return sum(waits) if waits else math.nan
