"""Harm before alarm: whether a run gets better decides how bad its technical signs are.

One question is answered first for every run: does what measures success there rise? While it
does, a sign such as a high KL or a low entropy is no more than worth a look; where it does not, or
nothing is known of it, the sign keeps its level.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rltui.catalogue.model import TagInfo
from rltui.core.level import Level
from rltui.core.yaml_record import shipped_record
from rltui.health.detectors.progress import gain_now, wanted
from rltui.health.judge import Outcome
from rltui.health.model import Finding, FindingState
from rltui.health.rule import Harm
from rltui.store import RunData


class Course(NamedTuple):
    """What measures success: ``data/course.yaml``."""

    measures: tuple[str, ...]
    """Metric keys of what measures success, the best measure first."""


def gets_better(run: RunData, infos: Mapping[str, TagInfo], found: Iterable[Finding]) -> bool:
    """Whether the best measure of success that the run logs has risen with certainty, and no
    finding of ``found``, those about success, says otherwise."""
    if any(f.state is FindingState.FIRING for f in found):
        return False
    course = shipped_record(Course, "health", "data", "course.yaml")
    gain, certainty = wanted(sure=False)
    rank = {key: at for at, key in enumerate(course.measures)}
    known = [
        (rank[i.metric.key], t)
        for t, i in infos.items()
        if i.metric and i.metric.key in rank and not i.guessed  # a guess excuses nothing
    ]
    for _, tag in sorted(known):
        change, error = gain_now(run.series(tag).values.astype(np.float64))
        if change - certainty * error >= gain:
            return True
        if change + certainty * error < gain:
            return False  # a better measure than the next one, and it does not rise
    return False


def tempered(outcome: Outcome, harm: Harm) -> Outcome:
    """The answer of a technical sign while the run gets better: at most WATCH."""
    if harm is not Harm.SIGN or (outcome.judgement.level < Level.BAD and not outcome.findings):
        return outcome
    findings = tuple(_milder(f) for f in outcome.findings)
    level = min(outcome.judgement.level, Level.WATCH)
    return replace(outcome, findings=findings, judgement=replace(outcome.judgement, level=level))


def _milder(finding: Finding) -> Finding:
    worst = min(finding.evidence.worst or finding.level, Level.WATCH)
    return finding._replace(
        level=min(finding.level, Level.WATCH), evidence=replace(finding.evidence, worst=worst)
    )
