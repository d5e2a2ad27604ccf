"""The findings of a run as rows of a list, its diagnoses in words, and what is to come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rltui.core.level import Level
from rltui.facts import numbers, sentences
from rltui.facts.cache import per_version
from rltui.facts.metrics import overview_sections
from rltui.facts.x_axis import has_own_axis
from rltui.health.model import NOTHING_DIAGNOSED, Diagnosed, Finding, Move, Skipped, Suspect
from rltui.session import JudgedRun

if TYPE_CHECKING:
    from rltui.facts.projection import Projection


class FindingId(NamedTuple):
    """Names a row, also when its evidence comes from another tag or an earlier step later on."""

    rule: str
    title: str
    episode: int
    """Its place among the rows of this rule and title, in order of time."""


class FindingRow(NamedTuple):
    """One fact: its newest episode."""

    id: FindingId
    finding: Finding
    earlier: tuple[Finding, ...] = ()
    """Other episodes of the same fact, the newest first."""

    @property
    def times(self) -> int:
        """How many episodes it has had."""
        return max(1 + len(self.earlier), self.finding.evidence.episodes if self.earlier else 1)

    @property
    def is_firing(self) -> bool:
        """Whether it holds now."""
        return self.finding.fires


@per_version
def finding_rows(run: JudgedRun) -> Sequence[FindingRow]:
    """The rows in the order of the report: firing first, causes before effects."""
    return _rows(run, run.findings)


@per_version
def muted_rows(run: JudgedRun) -> Sequence[FindingRow]:
    """The rows of what the user muted."""
    return _rows(run, run.report.muted if run.report else ())


def _rows(run: JudgedRun, findings: Iterable[Finding]) -> list[FindingRow]:
    """One row for each fact; tags of different axes are different facts."""
    facts: dict[tuple[str, str, str | None], list[Finding]] = {}
    for finding in findings:
        is_apart = finding.tag in run.points.off_axis or finding.error is not None
        name = finding.rule, finding.title, finding.tag if is_apart else None
        facts.setdefault(name, []).append(finding)
    for same in facts.values():
        same.sort(key=_time, reverse=True)

    ids: dict[tuple[str, str, str | None], FindingId] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for name in sorted(facts, key=lambda name: _time(facts[name][0])):
        ids[name] = FindingId(*name[:2], counts[name[:2]])
        counts[name[:2]] += 1

    return [FindingRow(ids[name], newest, tuple(e)) for name, (newest, *e) in facts.items()]


def _time(finding: Finding) -> tuple[bool, int]:
    """The order in time of findings of one title: what fires is the newest."""
    return finding.fires, finding.since_step or 0


@per_version
def marks(run: JudgedRun) -> Counter[Level]:
    """How many marks of each level from watch on stand for what is wrong now: rows that fire,
    settings that are the cause and still set so, and how the run ended."""
    found = [r.finding.level for r in finding_rows(run) if r.is_firing]
    found += [*diagnosed_in(run).blamed.values(), run.verdict.exit_level]
    return Counter(level for level in found if level >= Level.WATCH)


def marks_words(run: JudgedRun) -> str:
    """ "3 bad, 2 watch"; "" for none."""
    found = marks(run)
    return ", ".join(f"{found[x]} {x.word}" for x in (Level.BAD, Level.WATCH) if found[x])


def diagnosed_in(run: JudgedRun) -> Diagnosed:
    """The findings of a run as stories; empty before it is judged."""
    report = run.report
    return report.diagnosed if report else NOTHING_DIAGNOSED


def onset_of(run: JudgedRun, tag: str) -> Finding | None:
    """The first finding about a metric, else the first one of the run, that began at a step of its
    axis."""
    own_axis = has_own_axis(run, tag)
    found = run.findings
    known = [f for f in found if f.since_step is not None and f.tag is not None]
    known = [f for f in known if has_own_axis(run, f.tag or "") == own_axis]
    return next((f for f in known if f.is_about(tag)), next(iter(known), None))


def why_skipped(run: JudgedRun, skipped: Skipped) -> str:
    """Why a rule could not judge, with the titles of the metrics that it lacks; the key of one
    that the catalogue does not have."""
    found = {key: run.catalogue.metrics.get(key) for key in skipped.missing}
    names = dict.fromkeys(key if m is None else m.title for key, m in found.items())
    return sentences.why_skipped(skipped, sentences.listed(names))


def change_words(move: Move) -> str:
    """ "× 200"; where a factor says nothing, "0 → 1"."""
    if move.factor is None:
        return f"{numbers.plain(move.before)} → {numbers.plain(move.after)}"
    return numbers.factor(move.factor)


def course_words(move: Move) -> str:
    """ "1e-6 → 1e-4 (× 100)", "0.5 → 0.3 by 140"."""
    course = f"{numbers.plain(move.before)} → {numbers.plain(move.after)}"
    by = "" if move.until is None else f" by {numbers.step(move.until)}"
    factor = numbers.factor(move.factor or 1.0)
    return f"{course}{by}" if factor == numbers.factor(1.0) else f"{course} ({factor}){by}"


def usually(suspect: Suspect) -> str:
    """ "usually ≤ 0.02"."""
    return f"usually {sentences.bounds(suspect.low, suspect.high)}"


@per_version
def projection_of(run: JudgedRun, tag: str) -> Projection | None:
    """When a tag without a finding crosses its limit; None for a run that has ended."""
    judgement = run.verdict.judgement(tag)
    unlimited = judgement.low is None and judgement.high is None
    if not run.is_live or unlimited or judgement.level >= Level.WATCH:
        return None
    from rltui.facts.projection import project  # not before the first paint

    found = project(run.series(tag), judgement)
    total = run.progress.total_steps if run.progress else None
    return None if found and total and found.earliest > total else found


def projections(run: JudgedRun) -> list[Projection]:
    """Projections of the vital signs, the nearest first."""
    if not run.is_live:
        return []
    tags = [r.tag for s in overview_sections(run) for r in s.rows]
    found = [p for p in (projection_of(run, t) for t in tags) if p is not None]
    return sorted(found, key=lambda p: p.earliest)


def steps_words(projection: Projection) -> str:
    """ "410 to 520"."""
    return numbers.step_range(projection.earliest, projection.latest).removeprefix("at ")


def ahead_sentence(run: JudgedRun, projection: Projection) -> str:
    """ "entropy reaches its lower limit of 0.125 at about step 410 to 520"."""
    info = run.infos[projection.tag]
    sign = 1.0 if info.sign >= 0 else -1.0
    word = "lower limit" if projection.falling == (sign > 0) else "limit"
    limit = sentences.limit_number(projection.limit * sign)
    return f"{info.title} reaches its {word} of {limit} at about step {steps_words(projection)}"
