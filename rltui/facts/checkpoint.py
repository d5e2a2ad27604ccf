"""The checkpoint to go back to when a run went wrong, and what was spent since."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rltui.core.level import Level
from rltui.core.text import counted
from rltui.facts import numbers
from rltui.facts.cache import per_version
from rltui.facts.findings import diagnosed_in
from rltui.facts.timers import gpus
from rltui.health.model import Diagnosis
from rltui.health.symptoms import Harm
from rltui.session import JudgedRun


class LastGood(NamedTuple):
    """The newest checkpoint from before the worst story of a run began."""

    step: int
    """Its step."""
    steps_since: int
    """Steps from it to the newest row."""
    gpus: int | None
    """Number of GPUs in the configuration; None where it does not say."""
    gpu_hours: float | None
    """Cost of the steps since the checkpoint; None where GPUs or times are not known."""


def _story(run: JudgedRun) -> list[Diagnosis]:
    """The worst story, where it is bad and does harm to the weights; else nothing."""
    story = next(iter(diagnosed_in(run).stories()), [])
    harm = (d for d in story if d.symptom.harm is not Harm.COST and d.level is Level.BAD)
    return story if any(not d.is_over for d in harm) else []


@per_version
def last_good_checkpoint(run: JudgedRun) -> LastGood | None:
    """None without a bad story, or where no checkpoint is known from before it."""
    began = [d.since_step for d in _story(run) if d.since_step is not None]
    newest = run.data.last_step
    tags = run.tags_of_metrics((run.catalogue.roles.checkpoint,))
    saved = [run.shown(t) for t in tags if t not in run.points.off_axis]
    # trainers that log the time in every step log 0 where nothing is saved
    good = [s.steps[(s.steps < min(began)) & (s.values > 0)] for s in saved] if began else []
    step = max((int(steps[-1]) for steps in good if len(steps)), default=None)
    if step is None or newest is None:
        return None
    count = gpus(run)
    total = None if count is None else sum(count)
    seconds = _seconds(run, step, newest)
    hours = None if total is None or seconds is None else seconds * total / 3600
    return LastGood(step, newest - step, total, hours)


def checkpoint_fields(run: JudgedRun) -> dict[str, float | None] | None:
    """:func:`last_good_checkpoint` by the names of its fields."""
    found = last_good_checkpoint(run)
    return None if found is None else found._asdict()


def _seconds(run: JudgedRun, begin: int, end: int) -> float | None:
    """Seconds that the steps after ``begin`` took: by the step times, else by the clock of the
    rows."""
    for tag in run.tags_of_metrics((run.catalogue.roles.step_time,)):
        series = run.shown(tag)
        values = series.values[(series.steps > begin) & np.isfinite(series.values)]
        if len(values):
            return float(values.mean()) * run.infos[tag].scale * (end - begin)
    for tag in run.infos:
        series = run.shown(tag)
        rows = np.searchsorted(series.steps, (begin, end))
        if series.count and tuple(series.steps[rows.clip(0, series.count - 1)]) == (begin, end):
            seconds = float(np.diff(series.wall_times[rows])[0])
            return seconds if seconds >= 0 else None  # not where it is NaN
    return None


def checkpoint_words(run: JudgedRun, found: LastGood | None) -> str:
    """ "checkpoint step 80; 47 steps × 64 GPUs = 12.4 GPU-hours since"; "" for None."""
    if found is None:
        return ""
    since = f"{numbers.step(found.steps_since)} {run.step_word}{'s' * (found.steps_since != 1)}"
    if found.gpus is not None:
        since += f" × {counted(found.gpus, 'GPU')}"
    if found.gpu_hours is not None:
        since += f" = {numbers.plain(found.gpu_hours)} GPU-hours"
    return f"checkpoint {run.step_word} {numbers.step(found.step)}; {since} since"
