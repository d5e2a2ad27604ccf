"""Jumps at the newest restart of a run: is it the same training that goes on?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rltui.catalogue.model import Category
from rltui.core.medians import usual_change
from rltui.facts import numbers
from rltui.facts.cache import per_version
from rltui.health.limits import movement
from rltui.session import JudgedRun

#: What is told, what matters most first; a restart may change how fast it is.
_TOLD = (
    *(Category.VALIDATION, Category.ACTOR, Category.LENGTH, Category.PREFERENCE),
    *(Category.REWARD_MODEL, Category.CRITIC, Category.TURNS, Category.ROLLOUT),
)


class Jump(NamedTuple):
    """A metric that is not what it was before a restart."""

    tag: str
    step: int
    """The first one after the restart."""
    before: float
    after: float


@per_version
def jumps(run: JudgedRun) -> tuple[Jump, ...]:
    """The metrics that jumped at the newest restart, those that matter most first."""
    newest = max(run.points.extent.restarts, default=None)
    if newest is None:
        return ()
    told = [tag for tag, info in run.infos.items() if info.metric and info.category in _TOLD]
    headline = run.headline()
    told.sort(key=lambda tag: (tag != headline, _TOLD.index(run.infos[tag].category)))
    found = [jump for tag in told if (jump := _jump(run, tag)) is not None and jump.step >= newest]

    return tuple(found[: movement().seam.most])


def seam_words(run: JudgedRun) -> str:
    """The table of these in one line; empty without any."""
    found = jumps(run)
    if not found:
        return ""
    told = (f"{run.infos[j.tag].title} {course_words(j)}" for j in found)
    return f"at the restart at {run.step_word} {numbers.step(found[0].step)}: {', '.join(told)}"


def course_words(jump: Jump) -> str:
    """The values before and after."""
    return f"{numbers.plain(jump.before)} → {numbers.plain(jump.after)}"


def _jump(run: JudgedRun, tag: str) -> Jump | None:
    info = run.infos[tag]
    limits = movement().seam
    series = run.shown(tag)
    if not len(series.restarts):
        return None
    steps, values = series.finite()
    at = int(np.searchsorted(steps, series.restarts[-1]))
    x = values.astype(np.float64) * info.scale
    if at < 2 * limits.rows or len(x) < at + limits.rows:
        return None
    before, after = (
        float(np.median(part)) for part in (x[at - limits.rows : at], x[at : at + limits.rows])
    )
    usual = usual_change(x[:at])
    least = max(limits.times * usual, limits.share * max(abs(before), abs(after)))

    return Jump(tag, int(steps[at]), before, after) if abs(after - before) > least else None
