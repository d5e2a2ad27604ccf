"""Success of a run: one answer from all of its measures, which levels, excuses and screens read.

A measure is known by the means of its first and last third, with the standard error of their
difference, so the answer may be asked for after every row: it asks for as many errors as that needs
(:data:`~rltui.health.detectors.trend.SUSPECTED`). The findings about success, which are kept until
the contrary is likely, outweigh it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np

from rltui.catalogue.model import Infos, TagInfo
from rltui.core.level import Direction
from rltui.core.text import Names
from rltui.core.yaml_record import shipped_record
from rltui.health.columns import lacking
from rltui.health.detectors.progress import is_solved
from rltui.health.detectors.trend import GAIN, SUSPECTED, gain_now
from rltui.health.model import Finding
from rltui.health.symptoms import Harm
from rltui.store import RunData

#: A longer log is read in even strides: it says the same, and costs no more at each new row.
_MOST_ROWS = 2_000


class Measures(NamedTuple):
    """Metrics that measure success: ``data/course.yaml``."""

    measures: Names
    """Metric keys of all of them, the best measure first."""
    shares: Names
    """Measures whose maximum is known, 1; that of a reward depends on its unit."""
    returns: Names
    """Measures of an environment: their maximum is where they come back to exactly."""
    rewards: Names
    """Rewards that are trained on, and may be hacked."""
    training: Names
    """Measures of each batch, without which nothing is learned."""


class Course(Enum):
    """Course of a measure of success."""

    OPEN = "open"
    """Not known yet."""
    RISES = "rises"
    """The last third is certainly above the first."""
    SOLVED = "solved"
    """It is at its maximum."""
    STANDS = "stands"
    """It has certainly gained no more than its noise."""
    FAILS = "fails"
    """A finding says that it fell, never rose, or is no measure."""


def measures_of(infos: Infos) -> list[str]:
    """Tags of the measures of success that a run logs, the best first. What is only guessed to be
    one is none: a guess excuses nothing."""
    rank = {key: at for at, key in enumerate(_known().measures)}
    own = [(rank[i.key], t) for t, i in infos.items() if i.key in rank and not i.guessed]
    return [tag for _, tag in sorted(own)]


def success_of(run: RunData, infos: Infos, firing: Sequence[tuple[Harm, Finding]] = ()) -> Course:
    """The answer for a run: that of its best measure that knows. It fails where a finding about
    success says so; a reward that may be hacked says nothing."""
    harms = {harm for harm, _ in firing}
    if Harm.OUTCOME in harms:
        return Course.FAILS
    doubted = _known().rewards if Harm.HACK in harms else ()
    own = (infos[tag] for tag in measures_of(infos))
    courses = (course_of(run, info) for info in own if info.key not in doubted)
    return next((course for course in courses if course is not Course.OPEN), Course.OPEN)


def is_measured(run: RunData, infos: Infos) -> bool:
    """Whether anything that measures success in training is a number in its newest row."""
    training = _known().training
    known = (tag for tag, info in infos.items() if info.key in training)
    return any(bool(np.isfinite(run.series(tag).values[-1:]).any()) for tag in known)


def _known() -> Measures:
    return shipped_record(Measures, "health", "data", "course.yaml")


def course_of(run: RunData, info: TagInfo) -> Course:
    """The course of one measure, by its rows alone."""
    known = _known()
    values = run.series(info.tag).values
    x = values[:: 1 + len(values) // _MOST_ROWS].astype(np.float64)
    x *= info.factor
    x = lacking(x) if info.direction is Direction.DOWN else x
    change, error = gain_now(x)
    now = x[np.isfinite(x)]
    share = info.key in known.shares
    if (share or info.key in known.returns) and is_solved(now, share=share):
        return Course.SOLVED
    if change - SUSPECTED * error >= GAIN:
        return Course.RISES
    return Course.STANDS if change + SUSPECTED * error < GAIN else Course.OPEN
