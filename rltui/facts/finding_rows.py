"""The findings of a run as rows of a list: one row for what several tags or episodes show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rltui.core.level import Level
from rltui.facts.run_cache import RunCache
from rltui.health.model import Finding, FindingState
from rltui.session import RunView


class FindingId(NamedTuple):
    """Names a row, also when its evidence comes from another tag or an earlier step later on."""

    rule: str
    title: str
    episode: int
    """Its place among the rows of this rule and title, in order of time."""


@dataclass(frozen=True, slots=True)
class FindingRow:
    """One fact, and all the findings that state it."""

    id: FindingId
    findings: tuple[Finding, ...]
    """The worst first; more than one where tags with different steps show the same."""
    is_repeat: bool
    """Whether a row above it is about the same tag and shows the same symptom."""
    earlier: tuple[Finding, ...] = ()
    """Other episodes of the same fact, the newest first."""

    @property
    def finding(self) -> Finding:
        """The worst of them."""
        return self.findings[0]

    @property
    def times(self) -> int:
        """How many episodes it has had."""
        return max(1 + len(self.earlier), self.finding.evidence.episodes if self.earlier else 1)

    @property
    def is_firing(self) -> bool:
        """Whether it holds now."""
        return self.finding.state is FindingState.FIRING


_ROWS: RunCache[str, list[FindingRow]] = RunCache()


def finding_rows(run: RunView) -> list[FindingRow]:
    """The rows in the order of the report: firing first, causes before effects."""
    report = run.report
    return list(_ROWS.get(run, "shown", lambda: _rows(run, report.findings if report else ())))


def muted_rows(run: RunView) -> list[FindingRow]:
    """The rows of what the user muted."""
    report = run.report
    return list(_ROWS.get(run, "muted", lambda: _rows(run, report.muted if report else ())))


def _rows(run: RunView, findings: Iterable[Finding]) -> list[FindingRow]:
    groups: list[list[Finding]] = []
    for finding in findings:
        group = next((g for g in groups if _same_fact(g, finding)), None)
        if group is None:
            groups.append([finding])
        else:
            group.append(finding)
    found = [sorted(g, key=lambda f: (-f.level, f.since_step or 0)) for g in groups]
    found, earlier = _newest(found, run.points.off_axis)
    diagnoses = run.report.diagnosed.diagnoses if run.report else ()
    symptoms = {id(f): d.symptom.id for d in diagnoses for f in d.findings}
    places = _places(found)
    shown: set[tuple[str, str | None]] = set()
    rows = []
    for group in found:
        worst = group[0]
        about = (symptoms.get(id(worst), worst.rule), worst.tag)
        name = FindingId(worst.rule, worst.title, places[id(worst)])
        rows.append(FindingRow(name, tuple(group), about in shown, earlier[id(worst)]))
        shown.add(about)
    return rows


def _newest(
    groups: Sequence[list[Finding]], off_axis: frozenset[str]
) -> tuple[list[list[Finding]], dict[int, tuple[Finding, ...]]]:
    """The newest group of each fact, at the place of the first one, and id of its worst finding ->
    that of each earlier group. Tags of different axes are different facts."""
    facts: dict[tuple[str, str, str | None], list[list[Finding]]] = {}
    for group in groups:
        worst = group[0]
        axis = worst.tag if worst.tag in off_axis or worst.error is not None else None
        facts.setdefault((worst.rule, worst.title, axis), []).append(group)
    newest: list[list[Finding]] = []
    earlier: dict[int, tuple[Finding, ...]] = {}
    for same in facts.values():
        same.sort(key=lambda g: (g[0].state is FindingState.FIRING, g[0].since_step or 0))
        newest.append(same[-1])
        earlier[id(same[-1][0])] = tuple(g[0] for g in reversed(same[:-1]))
    return newest, earlier


def marks(run: RunView) -> Counter[Level]:
    """How many marks of each level from watch on stand for what is wrong now: rows that fire,
    settings that are the cause and still set so, and how the run ended."""
    found = [r.finding.level for r in finding_rows(run) if r.is_firing]
    if run.report is not None:
        found += run.report.diagnosed.blamed.values()
    found.append(run.verdict.exit_level)
    return Counter(level for level in found if level >= Level.WATCH)


def _same_fact(group: Sequence[Finding], other: Finding) -> bool:
    """Whether a finding states what ``group`` states of other tags, at the same time."""
    first = group[0]
    if (first.rule, first.title, first.state) != (other.rule, other.title, other.state):
        return False
    if any(f.tag == other.tag for f in group):
        return False
    if first.state is FindingState.FIRING:
        return True
    ends = [f.until_step for f in (first, other) if f.until_step is not None]
    return max(first.since_step or 0, other.since_step or 0) <= min(ends, default=0)


def _places(groups: Sequence[Sequence[Finding]]) -> dict[int, int]:
    """id of the worst finding of each group -> its place in time among those of its title."""
    worst = sorted(
        (g[0] for g in groups),
        key=lambda f: (f.state is FindingState.FIRING, f.since_step or 0),
    )
    counts: Counter[tuple[str, str]] = Counter()
    places = {}
    for finding in worst:
        title = (finding.rule, finding.title)
        places[id(finding)] = counts[title]
        counts[title] += 1
    return places


def worst_rows(rows: Sequence[FindingRow], most: int) -> list[FindingRow]:
    """At most that many rows, in their order: firing first, what no other row says, the worst."""
    ranked = sorted(rows, key=lambda r: (not r.is_firing, r.is_repeat, -r.finding.level))
    kept = {r.id for r in ranked[:most]}
    return [r for r in rows if r.id in kept]


def marks_words(run: RunView) -> str:
    """ "3 bad, 2 watch"; "" for none."""
    found = marks(run)
    return ", ".join(f"{found[x]} {x.word}" for x in (Level.BAD, Level.WATCH) if found[x])
