"""Timers: what they took lately, whose they are, and whether a run trains while it samples.

Which timer belongs to which lane is knowledge of ``catalogue/data/lanes.yaml``.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from rltui.catalogue.model import Category, TagInfo
from rltui.catalogue.settings import GpuCount, gpus_of
from rltui.core.block import ValueArray
from rltui.core.medians import median
from rltui.core.text import Names
from rltui.core.yaml_record import shipped_record
from rltui.facts.cache import per_version
from rltui.session import JudgedRun
from rltui.session.limits import session_limits

TRAINER = "trainer"
SAMPLER = "sampler"
WAITING = "waiting"
_SAYS_SO = re.compile(r"wait|idle")


class LaneKind(NamedTuple):
    """Which timers belong to a lane."""

    lane: str
    names: re.Pattern[str] = re.compile(r"(?!)")
    metrics: Names = ()
    idle: str = ""


class Lanes(NamedTuple):
    """``data/lanes.yaml``; see there."""

    sample: str
    parts: Names
    signs: Names
    lag: Names
    lanes: tuple[LaneKind, ...]


def gpus(run: JudgedRun) -> GpuCount | None:
    """The GPUs of a run by its configuration."""
    return gpus_of({**run.facts.settings, **run.hyperparameters.values})


def scale_of(run: JudgedRun, tag: str) -> float:
    """Factor from logged values of a tag to values of its metric."""
    return run.infos[tag].factor


def newest(run: JudgedRun, tag: str) -> float:
    """Median of the newest finite values of a tag, in the unit of its metric; NaN without any."""
    return median_of(run.series(tag).values[-session_limits().stages.recent :]) * scale_of(run, tag)


def median_of(values: ValueArray) -> float:
    """Median of the finite values; NaN without any."""
    finite = values[np.isfinite(values)]
    return median(finite) if len(finite) else np.nan


def lane_knowledge() -> Lanes:
    """Reads the shipped document once. Raises DocumentError."""
    return shipped_record(Lanes, "catalogue", "data", "lanes.yaml")


def lane_of(info: TagInfo) -> str:
    """The lane of a timer; "" for none."""
    key = info.key
    for kind in lane_knowledge().lanes:
        of_metric = any(key == m or key.startswith(f"{m}.") for m in kind.metrics)
        if of_metric or kind.names.search(info.tag):
            return kind.lane
    return TRAINER if info.part_of else ""


@per_version
def is_asynchronous(run: JudgedRun) -> bool:
    """Whether a run samples while it trains."""
    known = lane_knowledge()
    step = run.catalogue.roles.step_time
    signs = [run.infos[t] for t in run.tags_of_metrics(known.signs)]
    waits = [i for i in signs if i.category is not Category.TIMING or i.part_of == step]
    lags = any(newest(run, t) > 0 for t in run.tags_of_metrics(known.lag))
    inside = {i.key: i.tag for i in waits if i.key}
    for tag, info in run.infos.items():
        if info.part_of in inside and lane_of(info) == SAMPLER and run.points.count(tag):
            return newest(run, tag) > session_limits().stages.fits * newest(
                run, inside[info.part_of]
            )
    return bool(waits) or lags


def runs_beside(run: JudgedRun, info: TagInfo) -> bool:
    """Whether a timer that is a stage elsewhere goes on beside the trainer's steps."""
    return is_asynchronous(run) and lane_of(info) not in (TRAINER, WAITING)


def title_of(run: JudgedRun, tag: str) -> str:
    """The title of a timer; of a wait for what it is called after ("wait, generate")."""
    info = run.infos[tag]
    is_wait = is_asynchronous(run) and lane_of(info) == WAITING
    return f"wait, {info.title}" if is_wait and not _SAYS_SO.search(info.title) else info.title
