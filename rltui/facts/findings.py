"""The findings of a run as rows of a list: one row for what several tags or episodes show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rltui.core.level import Level, RunState
from rltui.facts import numbers, sentences
from rltui.facts.cache import per_version
from rltui.facts.metrics import overview_sections
from rltui.health.model import Diagnosis, Finding, FindingState, Move, Suspect
from rltui.health.symptoms import SETTING_CHANGED, symptoms
from rltui.session import RunView

if TYPE_CHECKING:
    from rltui.health.crash import ExitStatus
    from rltui.health.projection import Projection


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


@per_version
def finding_rows(run: RunView) -> Sequence[FindingRow]:
    """The rows in the order of the report: firing first, causes before effects."""
    return _rows(run, run.report.findings if run.report else ())


@per_version
def muted_rows(run: RunView) -> Sequence[FindingRow]:
    """The rows of what the user muted."""
    return _rows(run, run.report.muted if run.report else ())


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


def diagnosis_of(run: RunView, finding: Finding) -> Diagnosis | None:
    """The diagnosis of the symptom that a finding shows; None for a rule that no symptom knows."""
    found = run.report.diagnosed.diagnoses if run.report else ()
    known = next((d for d in found if finding in d.findings), None)
    if known is not None:
        return known
    known_by = (finding.rule, finding.metric, finding.title)
    # Of the state of the run, which is judged by itself:
    symptom = next((s for s in symptoms().values() if s.shown_by(*known_by)), None)
    if symptom is None or finding.error is not None:
        return None
    since, until = finding.since_step, finding.until_step

    return Diagnosis(symptom, finding.level, (finding,), since, until)


def ending_diagnosis(run: RunView) -> Diagnosis | None:
    """The diagnosis that the reason of a crash shows (out of memory), unless findings show it,
    too."""
    crash = run.verdict.crash
    if crash is None:
        return None
    found = run.report.diagnosed.diagnoses if run.report else ()
    known = {d.symptom.id for d in found}
    for symptom in symptoms().values():
        if symptom.ending and symptom.ending in crash.reason and symptom.id not in known:
            return Diagnosis(symptom, run.verdict.exit_level, (), run.data.last_step, None)

    return None


def ending_advice(run: RunView, crash: ExitStatus) -> str:
    """The next step after a crash: that of the symptom which its reason shows, else its own."""
    diagnosis = ending_diagnosis(run) if run.infos else None
    return crash.advice if diagnosis is None else diagnosis.symptom.advice


def title_of(run: RunView, diagnosis: Diagnosis) -> str:
    """ "learning rate × 200" for a setting that jumped, else the name of the symptom."""
    move = cause_of(run) if diagnosis.symptom.id == SETTING_CHANGED else None
    if move is None:
        return diagnosis.symptom.title
    return f"{run.infos[move.tag].title} {change_words(move)}"


def cause_of(run: RunView) -> Move | None:
    """The setting whose jump began the worst story."""
    return None if run.report is None else run.report.diagnosed.cause


def worst_story(run: RunView) -> Diagnosis | None:
    """The diagnosis to begin with: the first of the worst story that is not over."""
    leading = run.report.diagnosed.leading if run.report else None
    return leading if leading is not None and leading.level >= Level.WATCH else None


def advice_of(run: RunView, finding: Finding) -> str:
    """The next step for a finding: that of its diagnosis, or its own where no symptom knows it."""
    diagnosis = diagnosis_of(run, finding)
    return finding.advice if diagnosis is None else next_step_of(run, diagnosis)


def next_step_of(run: RunView, diagnosis: Diagnosis) -> str:
    """The next step for a diagnosis: where a setting is its likely cause, that for the setting."""
    report = run.report
    return report.diagnosed.advice(diagnosis) if report else diagnosis.symptom.advice


def precondition_of(run: RunView, diagnosis: Diagnosis) -> str:
    """What began the story of a diagnosis and is over: "learning rate × 200, was 30 to 45"; "" for
    none."""
    found = run.report.diagnosed.diagnoses if run.report else ()
    tops = (d for d in found if d.symptom.id == (diagnosis.explained_by or diagnosis.symptom.id))
    top = next(tops, None)
    if top is None or not top.is_over:
        return ""
    return f"{title_of(run, top)}, was {numbers.step_range(top.since_step, top.until_step)}"


def summary_of(run: RunView, diagnosis: Diagnosis) -> str:
    """One sentence: the cause and what it brought about."""
    since = numbers.step(diagnosis.since_step)
    move = cause_of(run) if diagnosis.symptom.id == SETTING_CHANGED else None
    if move is not None:
        change = f"{numbers.plain(move.before)} → {numbers.plain(move.after)}"
        size = "" if move.factor is None else f" ({numbers.factor(move.factor)})"
        text = f"{run.infos[move.tag].title} {change}{size} at step {numbers.step(move.step)}"
        if diagnosis.until_step is not None:
            text += f", until {numbers.step(diagnosis.until_step)}"
    elif diagnosis.until_step is not None:
        until = numbers.step(diagnosis.until_step)
        when = f"at step {until}" if since == until else f"from step {since} to {until}"
        text = f"{diagnosis.symptom.title} {when}"
    else:
        text = diagnosis.symptom.title
        text += f" since step {since}" if diagnosis.since_step is not None else ""
    effects = effects_of(run, diagnosis)

    return f"{text}; then {', '.join(effects)}" if effects else text


def effects_of(run: RunView, diagnosis: Diagnosis) -> list[str]:
    """Titles of the findings that a diagnosis explains, in the order of cause and effect."""
    found = run.report.diagnosed.diagnoses if run.report else ()
    own = {f.title for f in diagnosis.findings}
    titles = (
        f.title
        for d in found
        if d.explained_by == diagnosis.symptom.id
        for f in d.findings
        if f.title not in own
    )

    return list(dict.fromkeys(titles))


def cause_words(run: RunView, finding: Finding) -> str:
    """What brought a finding about: "learning rate × 100 at 61", "the policy moves too far per
    update since 410"; "" for one that no other symptom explains."""
    found = run.report.diagnosed.diagnoses if run.report else ()
    own = next((d for d in found if finding in d.findings), None)
    top = next((d for d in found if own and d.symptom.id == own.explained_by), None)
    if top is None:
        return ""
    when = "at" if top.symptom.id == SETTING_CHANGED else "since"
    since = "" if top.since_step is None else f" {when} {numbers.step(top.since_step)}"
    if top.is_over:
        since = f", {numbers.step_range(top.since_step, top.until_step)}"

    return f"{title_of(run, top)}{since}"


def moves_of(run: RunView) -> tuple[int | None, tuple[Move, ...]]:
    """(step of the symptom, what moved around it)."""
    if run.report is None:
        return None, ()
    return run.report.diagnosed.step, run.report.diagnosed.moves


def change_words(move: Move) -> str:
    """ "× 200"; where a factor says nothing, "0 → 1"."""
    if move.factor is None:
        return f"{numbers.plain(move.before)} → {numbers.plain(move.after)}"
    return numbers.factor(move.factor)


def suspect_of(run: RunView, tag: str) -> Suspect | None:
    """What is unusual about a setting that is a likely cause; None for any other tag."""
    suspects = run.report.diagnosed.suspects if run.report else ()
    return next((s for s in suspects if s.tag == tag), None)


def usually(suspect: Suspect) -> str:
    """ "usually ≤ 0.02"."""
    return f"usually {sentences.bounds(suspect.low, suspect.high)}"


def suspect_words(suspect: Suspect) -> str:
    """ "usually ≤ 0.02: the likely cause of what fires"."""
    return f"{usually(suspect)}: the likely cause of what fires"


@per_version
def projection_of(run: RunView, tag: str) -> Projection | None:
    """When a tag without a finding crosses its limit; None for a run that has ended."""
    judgement = run.verdict.judgement(tag)
    unlimited = judgement.low is None and judgement.high is None
    if not _is_going(run) or unlimited or judgement.level >= Level.WATCH:
        return None
    from rltui.health.projection import project  # imported when it is used

    found = project(run.series(tag), judgement)
    total = run.progress.total_steps if run.progress else None
    return None if found and total and found.earliest > total else found


def _is_going(run: RunView) -> bool:
    return run.progress is not None and run.progress.state is RunState.LIVE


def projections(run: RunView) -> list[Projection]:
    """Those of the vital signs, the nearest first."""
    if not _is_going(run):
        return []
    tags = [r.tag for s in overview_sections(run) for r in s.rows]
    found = [p for p in (projection_of(run, t) for t in tags) if p is not None]
    return sorted(found, key=lambda p: p.earliest)


def steps_words(projection: Projection) -> str:
    """ "410 to 520"."""
    if projection.earliest == projection.latest:
        return numbers.step(projection.earliest)
    return f"{numbers.step(projection.earliest)} to {numbers.step(projection.latest)}"


def ahead_sentence(run: RunView, projection: Projection) -> str:
    """ "entropy reaches its floor of 0.125 at about step 410 to 520"."""
    info = run.infos[projection.tag]
    sign = 1.0 if info.sign >= 0 else -1.0
    word = "floor" if projection.falling == (sign > 0) else "limit"
    limit = numbers.plain(projection.limit * sign)
    return f"{info.title} reaches its {word} of {limit} at about step {steps_words(projection)}"
