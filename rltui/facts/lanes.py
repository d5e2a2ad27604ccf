"""Who is busy and who waits where a run trains while it samples: its timers by lane.

All times are in
seconds, all shares of a step from 0 to 1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from rltui.catalogue.model import Category
from rltui.core.block import FloatArray
from rltui.facts import numbers
from rltui.facts.cache import per_version
from rltui.facts.timers import (
    SAMPLER,
    TRAINER,
    WAITING,
    gpus,
    is_asynchronous,
    lane_knowledge,
    lane_of,
    newest,
    scale_of,
)
from rltui.facts.timing import Anatomy, anatomy
from rltui.session import JudgedRun

#: From what is wanted to what is lost.
ORDER = (TRAINER, SAMPLER, "environment", "tools", WAITING)
#: The statistic at the end of a tag: ``processing_time/tp95``, ``duration_avg_s``.
_STAT = re.compile(r"[/_.:]t?(mean|avg|max|min|std|median|p\d\d)(_s)?$")
_MEANS = ("mean", "avg")
_MIDDLES = ("p50", "median")
_TAILS = ("p95", "p99", "p90")


class Timer(NamedTuple):
    """Duration of one thing: a stage of the trainer's step, or a sample, a call, a request."""

    tag: str
    now: float
    """Its mean, or what is logged of it instead."""
    share: float
    """Share of the step; NaN for what is no part of it."""
    middle: float
    """Median over samples; NaN where it is not logged, as the two below."""
    tail: float
    tail_name: str
    most: float


class Lane(NamedTuple):
    """One lane."""

    name: str
    busy: float
    """Share of the step; NaN where nothing tells it. Of the waiting lane that of the trainer."""
    idle: str
    """Tag that logs how idle it is; "" for none."""
    timers: tuple[Timer, ...]
    """The longest first."""


#: Lane and begin of the tags -> statistic -> tag.
_Families = Mapping[tuple[str, str], dict[str, str]]


@per_version
def lanes(run: JudgedRun) -> tuple[Lane, ...]:
    """The lanes of an asynchronous run that log a time; none for another run."""
    found = anatomy(run)
    if found is None or not is_asynchronous(run):
        return ()
    families = _families(run, found)
    out: list[Lane] = []
    for name in ORDER:
        lane = _lane(run, found, name, families)
        if name == WAITING:
            # lanes with nothing to do wait; a trainer does so only where its waits are not known
            waits = lane.busy
            shares = {
                other.idle: 1 - other.busy
                for other in out
                if other.idle and not (other.name == TRAINER and waits >= 0)
            }
            blank = np.nan, np.nan, "", np.nan
            idle = [
                Timer(tag, share * found.length, share, *blank) for tag, share in shares.items()
            ]
            lane = lane._replace(timers=(*lane.timers, *idle))
        if lane.timers or lane.idle:
            out.append(lane)
    return tuple(out)


def _families(run: JudgedRun, found: Anatomy) -> _Families:
    """The timers of each lane, with all statistics of one thing together."""
    families: dict[tuple[str, str], dict[str, str]] = {}
    inside = {found.total, *(s.tag for s in found.stages if s.depth)}
    for tag, info in run.infos.items():
        is_timer = info.category is Category.TIMING and info.unit != "ms/tok" and tag not in inside
        lane = lane_of(info) if is_timer and run.points.count(tag) else ""
        if lane:
            stat = _STAT.search(tag)
            stem = (lane, tag[: stat.start()] if stat else tag)
            families.setdefault(stem, {})[stat[1] if stat else "mean"] = tag
    return families


def _lane(run: JudgedRun, found: Anatomy, name: str, families: _Families) -> Lane:
    kind = next(k for k in lane_knowledge().lanes if k.lane == name)
    own = (_timer(run, found, tags) for (lane, _), tags in families.items() if lane == name)
    timers = sorted(own, key=lambda t: (-np.nan_to_num(t.share), -np.nan_to_num(t.now)))
    shares = [t.share for t in timers if np.isfinite(t.share)]
    idle = next(iter(run.tags_of_metrics((kind.idle,))), "") if kind.idle else ""
    busy = sum(shares) if shares else np.nan
    return Lane(name, 1 - newest(run, idle) if idle else busy, idle, tuple(timers))


def _timer(run: JudgedRun, found: Anatomy, tags: dict[str, str]) -> Timer:
    stage = next((s for s in found.parts if s.tag in tags.values()), None)

    def of(*stats: str) -> tuple[float, str]:
        at = next((s for s in stats if s in tags), "")
        return (newest(run, tags[at]) if at else np.nan), at

    tail, tail_name = of(*_TAILS)
    main = next((s for s in (*_MEANS, *_MIDDLES, *_TAILS) if s in tags), next(iter(tags)))
    share = found.share(stage) if stage else np.nan
    return Timer(tags[main], of(main)[0], share, of(*_MIDDLES)[0], tail, tail_name, of("max")[0])


def course(run: JudgedRun, found: Anatomy, lane: Lane) -> FloatArray:
    """(n,) seconds of each of the steps of ``found`` in which a lane is busy (the waiting one: in
    which the trainer waits): by how idle it is, else its stages, else its longest timer."""
    steps = found.steps
    if lane.idle:
        return np.asarray((1 - _held(run, lane.idle, steps)) * found.heights)
    tags = [t.tag for t in lane.timers]
    own = [n for n, stage in enumerate(found.parts) if stage.tag in tags]
    if own:
        return np.asarray(found.at(np.arange(len(steps)))[own].sum(axis=0))
    return _held(run, tags[0], steps)


def _held(run: JudgedRun, tag: str, steps: np.ndarray) -> FloatArray:
    """Forward-fill a tag at ``steps``; NaN before its first row."""
    series = run.series(tag)
    rows = np.searchsorted(series.steps, steps, "right") - 1
    values = series.values[np.maximum(rows, 0)].astype(np.float64) * scale_of(run, tag)
    return np.where(rows >= 0, values, np.nan)


class Waste(NamedTuple):
    """GPU time that a step wastes, in words; "" for what nothing tells."""

    idle: str = ""
    """ "wasted: trainer waits 69 %, sampler idles 2 %"."""
    gpu_hours: str = ""
    """ " = 0.45 GPU-hours a step"."""
    leaf: str = ""
    """ "; tool calls 79 % of a sample"."""


@per_version
def waste(run: JudgedRun) -> Waste:
    """Idle time of an asynchronous run."""
    found = anatomy(run)
    by_name = {lane.name: lane for lane in lanes(run)}
    if found is None or not by_name:
        return Waste()
    trainer, sampler, waiting = (by_name.get(x) for x in (TRAINER, SAMPLER, WAITING))
    waits = waiting.busy if waiting else np.nan
    idle = {
        "trainer waits": 1 - trainer.busy if trainer and trainer.idle else waits,
        "sampler idles": 1 - sampler.busy if sampler and sampler.idle else np.nan,
    }
    said = [f"{who} {numbers.percent(x, whole=True)}" for who, x in idle.items() if x > 0]
    if not said:
        return Waste()
    hours = np.nansum(np.multiply(list(idle.values()), gpus(run) or (0, 0))) * found.length / 3600
    hours_words = f" = {numbers.plain(hours)} GPU-hours a step" if hours > 0 else ""
    return Waste(f"wasted: {', '.join(said)}", hours_words, _most_of_a_sample(run))


def _most_of_a_sample(run: JudgedRun) -> str:
    """ "; tool calls 79 % of a sample"; "" where neither is logged."""
    known = lane_knowledge()
    whole = [newest(run, t) for t in run.tags_of_metrics((known.sample,))]
    parts = {t: newest(run, t) for t in run.tags_of_metrics(known.parts)}
    longest = max(parts, key=lambda t: np.nan_to_num(parts[t]), default="")
    if not whole or not longest or not 0 < parts[longest] <= whole[0]:
        return ""
    share = numbers.percent(parts[longest] / whole[0], whole=True)
    return f"; {run.infos[longest].title} {share} of a sample"
