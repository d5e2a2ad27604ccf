"""How evenly the work lies on ranks and workers, and what waiting for the fullest one costs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rltui.catalogue.model import Metric
from rltui.core.medians import median
from rltui.facts.anatomy import Anatomy
from rltui.session.limits import stage_limits
from rltui.session.run import RunView


@dataclass(frozen=True, slots=True)
class Load:
    """The load of the emptiest, the average and the fullest rank: medians of the newest rows."""

    tag: str
    """That of the fullest one."""
    title: str
    low: float
    mean: float
    """As logged, else the middle of low and high."""
    high: float
    wait: float
    """Seconds of a step in which the average rank waits for the fullest; NaN when unknown."""

    @property
    def excess(self) -> float:
        """How much fuller the fullest one is than the average: 0.1 for 10 %; NaN for no load."""
        return self.high / self.mean - 1 if self.mean > 0 else math.nan


def loads_of(run: RunView, anatomy: Anatomy | None) -> list[Load]:
    """The loads that a run logs, in the order of the catalogue."""
    found: list[Load] = []
    for tag, info in sorted(run.infos.items(), key=lambda item: item[1].order):
        metric = info.metric
        if metric is not None and metric.spread is not None and run.points.count(tag):
            load = _load(run, tag, metric, anatomy)
            if load is not None and all(load.title != other.title for other in found):
                found.append(load)
    return found


def _load(run: RunView, tag: str, metric: Metric, anatomy: Anatomy | None) -> Load | None:
    spread = metric.spread
    assert spread is not None
    high, low = _newest(run, tag), _newest_of(run, spread.low)
    if math.isnan(low) or math.isnan(high):
        return None
    mean = _newest_of(run, spread.mean) if spread.mean else math.nan
    mean = (low + high) / 2 if math.isnan(mean) else mean
    if metric.unit == "s":
        wait = high - mean
    else:
        wait = math.nan if anatomy is None else _wait(run, metric, mean, high, anatomy)
    return Load(tag, spread.title, low, mean, high, wait)


def _wait(run: RunView, metric: Metric, mean: float, high: float, anatomy: Anatomy) -> float:
    """Seconds of the stages that last as long as the fullest rank needs, in which the others
    have nothing to do. NaN where another metric is the load of these stages."""
    waiting = math.nan
    for stage in anatomy.parts:
        of_stage = run.infos[stage.tag].metric
        chosen = run.tags_of_metrics((of_stage.waits,)) if of_stage and of_stage.waits else []
        loads = [run.infos[t].metric for t in chosen]
        if metric in loads and high > 0:
            cost = anatomy.costs[stage.tag].per_step * (1 - mean / high)
            waiting = cost if math.isnan(waiting) else waiting + cost
    return waiting


def _newest_of(run: RunView, key: str) -> float:
    tag = next(iter(run.tags_of_metrics((key,))), None)
    return math.nan if tag is None else _newest(run, tag)


def _newest(run: RunView, tag: str) -> float:
    values = run.series(tag).values[-stage_limits().recent :]
    finite = values[np.isfinite(values)]
    return median(finite) * run.infos[tag].scale if len(finite) else math.nan
