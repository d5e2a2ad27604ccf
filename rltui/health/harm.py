"""Harm before alarm: whether a run gets better decides how bad its technical signs are.

One question is answered first for every run: does what measures success there rise? While it
does, a sign such as a high KL or a low entropy is no more than worth a look; where it does not, or
nothing is known of it, the sign keeps its level.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import Enum
from typing import NamedTuple

import numpy as np

from rltui.catalogue.model import Infos
from rltui.core.level import Direction, Level
from rltui.core.yaml_record import shipped_record
from rltui.health.columns import lacking
from rltui.health.detectors.progress import is_solved
from rltui.health.detectors.trend import GAIN, SUSPECTED, gain_now
from rltui.health.judge import Outcome
from rltui.health.model import Finding
from rltui.health.symptoms import Harm
from rltui.store import RunData

#: A longer log is read in even strides: it says the same, and costs no more at each new row.
_MOST_ROWS = 2_000


class Course(NamedTuple):
    """Measures of success: ``data/course.yaml``."""

    measures: tuple[str, ...]
    """Metric keys of what measures success, the best measure first."""
    shares: tuple[str, ...]
    """Measures whose maximum is known, 1; that of a reward depends on its unit."""
    returns: tuple[str, ...]
    """Measures of an environment: their maximum is where they come back to exactly."""
    rewards: tuple[str, ...]
    """Rewards that are trained on, and may be hacked."""
    training: tuple[str, ...]
    """Measures of each batch, without which nothing is learned."""


class Success(Enum):
    """Success of a run, as far as it is known."""

    UNKNOWN = "unknown"
    BETTER = "better"
    SOLVED = "solved"
    """It is at its maximum."""


def success_of(run: RunData, infos: Infos, firing: Iterable[tuple[Harm, Finding]] = ()) -> Success:
    """Success by the best measure that the run logs: has it risen with certainty? Unknown where a
    finding about success says otherwise; the reward says nothing where its rise is in doubt."""
    harms = {harm for harm, _ in firing}
    if Harm.OUTCOME in harms:
        return Success.UNKNOWN
    course = shipped_record(Course, "health", "data", "course.yaml")
    measures, shares, returns = course.measures, course.shares, course.returns
    doubted = course.rewards if Harm.HACK in harms else ()
    rank = {key: at for at, key in enumerate(measures)}
    known = [
        (rank[i.key], t)
        for t, i in infos.items()
        if i.key in rank and i.key not in doubted and not i.guessed  # a guess excuses nothing
    ]
    for _, tag in sorted(known):
        values = run.series(tag).values
        x = values[:: 1 + len(values) // _MOST_ROWS].astype(np.float64)
        x = x * infos[tag].factor
        x = lacking(x) if infos[tag].direction is Direction.DOWN else x
        change, error = gain_now(x)
        key, now = infos[tag].key, x[np.isfinite(x)]
        if key in (*shares, *returns) and is_solved(now, share=key in shares):
            return Success.SOLVED
        if change - SUSPECTED * error >= GAIN:
            return Success.BETTER
        if change + SUSPECTED * error < GAIN:
            break  # a better measure than the next one, and it does not rise
    return Success.UNKNOWN


def is_measured(run: RunData, infos: Infos) -> bool:
    """Whether anything that measures success in training is a number in its newest row."""
    training = shipped_record(Course, "health", "data", "course.yaml").training
    known = (tag for tag, info in infos.items() if info.key in training)
    return any(bool(np.isfinite(run.series(tag).values[-1:]).any()) for tag in known)


#: The highest level of what does such harm, by the success of the run; no entry: its own.
_CEILING = {
    (Harm.HINDRANCE, Success.SOLVED): Level.WATCH,
    (Harm.HACK, Success.BETTER): Level.WATCH,
    (Harm.HACK, Success.SOLVED): Level.WATCH,
    (Harm.SIGN, Success.BETTER): Level.WATCH,
    (Harm.SIGN, Success.SOLVED): Level.WATCH,
    (Harm.EXHAUSTED, Success.BETTER): Level.WATCH,
    (Harm.EXHAUSTED, Success.SOLVED): Level.OK,
}


def tempered(said: Outcome, harm: Harm, success: Success) -> Outcome:
    """The answer of a technical sign in a run that does well: at most WATCH, and nothing where it
    is the consequence of having solved the task."""
    ceiling = _CEILING.get((harm, success))
    return said if ceiling is None else limited(said, ceiling)


def limited(said: Outcome, ceiling: Level) -> Outcome:
    """The answer with no level above a ceiling."""
    level = min(said.judgement.level, ceiling)
    if ceiling is Level.OK:
        waits = said.judgement.level > Level.OK
        judged = replace(said.judgement, level=level, pending=waits)
        return said._replace(findings=(), judgement=judged)
    findings = tuple(_milder(f) for f in said.findings)
    return said._replace(findings=findings, judgement=replace(said.judgement, level=level))


#: Harm that tells why nothing is gained where it is bad; what is exhausted tells so at any level.
_REASONS = (Harm.FATAL, Harm.DEFECT, Harm.HINDRANCE, Harm.SIGN)


def is_explained(firing: Iterable[tuple[Harm, Finding]]) -> bool:
    """Whether something that fires, but for success itself, tells why success is missing."""
    return any(
        harm is Harm.EXHAUSTED or (harm in _REASONS and f.level is Level.BAD) for harm, f in firing
    )


def confirmed(said: Outcome) -> Outcome:
    """The answer about missing success where another question agrees: no longer a suspicion."""
    findings = tuple(
        f._replace(level=Level.BAD, evidence=replace(f.evidence, worst=Level.BAD)) if f.fires else f
        for f in said.findings
    )
    if not any(f.fires for f in findings):
        return said
    return said._replace(findings=findings, judgement=replace(said.judgement, level=Level.BAD))


def _milder(finding: Finding) -> Finding:
    """The finding as one of WATCH at most, with the limit of that level."""
    evidence = finding.evidence
    evidence = replace(evidence, worst=min(evidence.worst or finding.level, Level.WATCH))
    threshold = evidence.facts.get(Level.WATCH.word)
    if finding.level > Level.WATCH and isinstance(threshold, float):
        row = dict(evidence.row)
        if row.get("threshold") == evidence.threshold:
            row["threshold"] = threshold
        evidence = replace(evidence, threshold=threshold, row=row)
    return finding._replace(level=min(finding.level, Level.WATCH), evidence=evidence)
