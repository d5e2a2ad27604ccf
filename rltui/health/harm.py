"""Harm before alarm: whether a run gets better decides how bad its technical signs are.

One question is answered first for every run, see :mod:`rltui.health.success`: does what measures
success there rise? While it does, a sign such as a high KL or a low entropy is no more than worth a
look; where it does not, or nothing is known of it, the sign keeps its level.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from rltui.core.level import Level
from rltui.health.judge import Outcome
from rltui.health.model import Finding
from rltui.health.success import Course
from rltui.health.symptoms import Harm

#: The highest level of what does such harm, by what success does; no entry: its own.
_CEILING = {
    (Harm.HINDRANCE, Course.SOLVED): Level.WATCH,
    (Harm.HACK, Course.RISES): Level.WATCH,
    (Harm.HACK, Course.SOLVED): Level.WATCH,
    (Harm.SIGN, Course.RISES): Level.WATCH,
    (Harm.SIGN, Course.SOLVED): Level.WATCH,
    (Harm.EXHAUSTED, Course.RISES): Level.WATCH,
    (Harm.EXHAUSTED, Course.SOLVED): Level.OK,
}


def tempered(said: Outcome, harm: Harm, course: Course) -> Outcome:
    """The answer of a technical sign in a run that does well: at most WATCH, and nothing where it
    is the consequence of having solved the task."""
    ceiling = _CEILING.get((harm, course))
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


#: Harm that tells why nothing is gained at any level: no part of training is left to gain by.
_REASONS = (Harm.FATAL, Harm.EXHAUSTED)
#: Harm that does so where it is bad.
_BAD_REASONS = (Harm.DEFECT, Harm.HINDRANCE, Harm.SIGN)


def reason_in(firing: Iterable[tuple[Harm, Finding]]) -> str:
    """Title of what fires, but for success itself, and tells why success is missing; "" for
    none."""
    reasons = (
        f for h, f in firing if h in _REASONS or (h in _BAD_REASONS and f.level is Level.BAD)
    )
    return max(((f.level, f.title) for f in reasons), default=(Level.OK, ""))[1]


def confirmed(said: Outcome, reason: str) -> Outcome:
    """The answer about missing success where another question agrees: no longer a suspicion."""
    if said.judgement.level is not Level.WATCH:
        return said
    *over, now = said.findings
    known = replace(now.evidence, worst=Level.BAD, row=now.evidence.row | {"beside": reason})
    now = now._replace(level=Level.BAD, evidence=known)
    judged = replace(said.judgement, level=Level.BAD)
    return said._replace(findings=(*over, now), judgement=judged)


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
