"""The findings of a run as rows of a list, its diagnoses in words, and what is to come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rltui.core.level import Level
from rltui.core.text import fit
from rltui.facts import numbers, sentences
from rltui.facts.cache import per_version
from rltui.facts.lanes import waste
from rltui.facts.metrics import overview_sections
from rltui.facts.runs import newest_log
from rltui.facts.timing import anatomy
from rltui.facts.x_axis import has_own_axis, is_live
from rltui.health.model import Diagnosed, Diagnosis, Finding, FindingState, Move, Skipped, Suspect
from rltui.health.symptoms import SETTING_CHANGED, Harm, symptoms
from rltui.session import RunView

if TYPE_CHECKING:
    from rltui.health.complaints import Complaint
    from rltui.health.crash import ExitStatus
    from rltui.health.projection import Projection

_NOTHING = Diagnosed()
#: Most complaints of a log that are named, and cells of each.
_COMPLAINTS, _COMPLAINT_CELLS = 3, 80


class FindingId(NamedTuple):
    """Names a row, also when its evidence comes from another tag or an earlier step later on."""

    rule: str
    title: str
    episode: int
    """Its place among the rows of this rule and title, in order of time."""


class FindingRow(NamedTuple):
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
            groups.append(group := [])
        group.append(finding)

    # The newest group of each fact is its row. Tags of different axes are different facts.
    facts: dict[tuple[str, str, str | None], list[list[Finding]]] = {}

    for group in groups:
        group.sort(key=lambda f: (-f.level, f.since_step or 0))
        first = group[0]
        is_apart = first.tag in run.points.off_axis or first.error is not None
        name = first.rule, first.title, first.tag if is_apart else None
        facts.setdefault(name, []).append(group)

    for same in facts.values():
        same.sort(key=_time)

    ids: dict[int, FindingId] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for rule, title, axis in sorted(facts, key=lambda name: _time(facts[name][-1])):
        ids[id(facts[rule, title, axis])] = FindingId(rule, title, counts[rule, title])
        counts[rule, title] += 1

    symptom = {id(f): d.symptom.id for d in diagnosed_in(run).diagnoses for f in d.findings}
    shown: set[tuple[str, str | None]] = set()
    rows = []

    for same in facts.values():
        first = same[-1][0]
        about = symptom.get(id(first), first.rule), first.tag
        earlier = tuple(g[0] for g in reversed(same[:-1]))
        rows.append(FindingRow(ids[id(same)], tuple(same[-1]), about in shown, earlier))
        shown.add(about)

    return rows


def _time(group: Sequence[Finding]) -> tuple[bool, int]:
    """The order in time of findings of one title: what fires is the newest."""
    return group[0].state is FindingState.FIRING, group[0].since_step or 0


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


def marks(run: RunView) -> Counter[Level]:
    """How many marks of each level from watch on stand for what is wrong now: rows that fire,
    settings that are the cause and still set so, and how the run ended."""
    found = [r.finding.level for r in finding_rows(run) if r.is_firing]
    found += [*diagnosed_in(run).blamed.values(), run.verdict.exit_level]
    return Counter(level for level in found if level >= Level.WATCH)


def marks_words(run: RunView) -> str:
    """ "3 bad, 2 watch"; "" for none."""
    found = marks(run)
    return ", ".join(f"{found[x]} {x.word}" for x in (Level.BAD, Level.WATCH) if found[x])


def worst_rows(rows: Sequence[FindingRow], most: int) -> list[FindingRow]:
    """At most that many rows, in their order: firing first, what no other row says, the worst."""
    ranked = sorted(rows, key=lambda r: (not r.is_firing, r.is_repeat, -r.finding.level))
    kept = {r.id for r in ranked[:most]}
    return [r for r in rows if r.id in kept]


def diagnosed_in(run: RunView) -> Diagnosed:
    """The findings of a run as stories; empty before it is judged."""
    return run.report.diagnosed if run.report else _NOTHING


def cause_of(run: RunView) -> Move | None:
    """The setting whose jump began the worst story."""
    return diagnosed_in(run).cause


def suspect_of(run: RunView, tag: str) -> Suspect | None:
    """What is unusual about a setting that is a likely cause; None for any other tag."""
    return next((s for s in diagnosed_in(run).suspects if s.tag == tag), None)


def worst_story(run: RunView) -> Diagnosis | None:
    """The diagnosis to begin with: the first of the worst story that is not over."""
    leading = diagnosed_in(run).leading
    return leading if leading is not None and leading.level >= Level.WATCH else None


def onset_of(run: RunView, tag: str) -> Finding | None:
    """The first finding about a metric, else the first one of the run, that began at a step of its
    axis."""
    own_axis, found = has_own_axis(run, tag), run.report.findings if run.report else ()
    known = [f for f in found if f.since_step is not None and f.tag is not None]
    known = [f for f in known if has_own_axis(run, f.tag or "") == own_axis]
    return next((f for f in known if f.is_about(tag)), next(iter(known), None))


def diagnosis_of(run: RunView, finding: Finding) -> Diagnosis | None:
    """The diagnosis of the symptom that a finding shows; None for a rule that no symptom knows."""
    for diagnosis in diagnosed_in(run).diagnoses:
        if finding in diagnosis.findings:
            return diagnosis

    # Of the state of the run, which is judged by itself:
    known_by = (finding.rule, finding.metric, finding.title)
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
    known = {d.symptom.id for d in diagnosed_in(run).diagnoses}
    for symptom in symptoms().values():
        if symptom.ending and symptom.ending in crash.reason and symptom.id not in known:
            return Diagnosis(symptom, run.verdict.exit_level, (), run.data.last_step, None)
    return None


def ending_advice(run: RunView, crash: ExitStatus) -> str:
    """The next step after a crash: that of the symptom which its reason shows, else its own."""
    diagnosis = ending_diagnosis(run) if run.infos else None
    return crash.advice if diagnosis is None else diagnosis.symptom.advice


def advice_of(run: RunView, finding: Finding) -> str:
    """The next step for a finding: that of its diagnosis, or its own where no symptom knows it."""
    diagnosis = diagnosis_of(run, finding)
    return finding.advice if diagnosis is None else next_step_of(run, diagnosis)


def next_step_of(run: RunView, diagnosis: Diagnosis) -> str:
    """The next step for a diagnosis: where a setting is its likely cause, that for the setting;
    first what the log itself asks for, or where the time of a slow step goes."""
    advised = dict.fromkeys(c.advice for c in complaints_in(run, diagnosis) if c.advice)
    advice = (*advised, _slowest(run, diagnosis), diagnosed_in(run).advice(diagnosis))
    return " ".join(filter(None, advice))


def _slowest(run: RunView, diagnosis: Diagnosis) -> str:
    """ "Tool calls: 79 % of the average step."; "" for a symptom that no timer shows."""
    if diagnosis.symptom.harm is Harm.COST and any(wasted := waste(run)):
        text = "".join(wasted)
        return f"{text[:1].upper()}{text[1:]}."
    # of single slow steps the average one says nothing
    tags = {f.tag for f in diagnosis.findings if f.rule != "slow_steps"}
    found = anatomy(run) if any(run.infos[t].part_of for t in tags if t in run.infos) else None
    if found is None:
        return ""
    stage = found.slowed[0] if found.slowed else found.leaf(max(found.parts, key=found.share))
    share = numbers.percent(found.share(stage), whole=True)
    return f"{run.infos[stage.tag].title.capitalize()}: {share} of the average step."


def complaints_in(run: RunView, diagnosis: Diagnosis) -> tuple[Complaint, ...]:
    """What the console log says again and again, for the worst story of a run."""
    story, path = next(iter(diagnosed_in(run).stories()), []), newest_log(run)
    if path is None or diagnosis not in story or story[0].level < Level.WATCH:
        return ()
    from rltui.health.complaints import complaints  # heavy: most runs go on

    return complaints(run.data.files.tails[path])


def complaint_words(run: RunView, diagnosis: Diagnosis) -> str:
    """ "missing advantages for sample # (64 times)"; "" for none."""
    found = complaints_in(run, diagnosis)[:_COMPLAINTS]
    return ", ".join(f"{fit(c.text, _COMPLAINT_CELLS)} ({c.times} times)" for c in found)


def title_of(run: RunView, diagnosis: Diagnosis) -> str:
    """ "learning rate × 200" for a setting that jumped, else the name of the symptom."""
    move = cause_of(run) if diagnosis.symptom.id == SETTING_CHANGED else None
    if move is None:
        return diagnosis.symptom.title
    return f"{run.infos[move.tag].title} {change_words(move)}"


def precondition_of(run: RunView, diagnosis: Diagnosis) -> str:
    """What began the story of a diagnosis and is over: "learning rate × 200, was 30 to 45"; "" for
    none."""
    top_id = diagnosis.explained_by or diagnosis.symptom.id
    top = next((d for d in diagnosed_in(run).diagnoses if d.symptom.id == top_id), None)
    if top is None or not top.is_over:
        return ""
    return f"{title_of(run, top)}, was {numbers.step_range(top.since_step, top.until_step)}"


def summary_of(run: RunView, diagnosis: Diagnosis) -> str:
    """One sentence: the cause and what it brought about."""
    since, until = numbers.step(diagnosis.since_step), numbers.step(diagnosis.until_step)
    move = cause_of(run) if diagnosis.symptom.id == SETTING_CHANGED else None
    if move is not None:
        change = f"{numbers.plain(move.before)} → {numbers.plain(move.after)}"
        size = "" if move.factor is None else f" ({numbers.factor(move.factor)})"
        text = f"{run.infos[move.tag].title} {change}{size} at step {numbers.step(move.step)}"
        text += f", until {until}" if diagnosis.is_over else ""
    else:
        text = diagnosis.symptom.title
        if diagnosis.is_over:
            text += f" at step {until}" if since == until else f" from step {since} to {until}"
        elif diagnosis.since_step is not None:
            text += f" since step {since}"

    # The findings that it explains, in the order of cause and effect.
    own = {f.title for f in diagnosis.findings}
    found = (
        f.title
        for d in diagnosed_in(run).diagnoses
        if d.explained_by == diagnosis.symptom.id
        for f in d.findings
    )
    effects = ", ".join(dict.fromkeys(title for title in found if title not in own))

    return f"{text}; then {effects}" if effects else text


def why_skipped(run: RunView, skipped: Skipped) -> str:
    """Why a rule could not judge, with the titles of the metrics that it lacks; the key of one
    that the catalogue does not have."""
    found = {key: run.catalogue.metrics.get(key) for key in skipped.missing}
    names = dict.fromkeys(key if m is None else m.title for key, m in found.items())
    return sentences.why_skipped(skipped, sentences.listed(names))


def cause_words(run: RunView, finding: Finding) -> str:
    """What brought a finding about: "learning rate × 100 at 61", "the policy moves too far per
    update since 410"; "" for one that no other symptom explains."""
    found = diagnosed_in(run).diagnoses
    own = next((d for d in found if finding in d.findings), None)
    top = next((d for d in found if own and d.symptom.id == own.explained_by), None)
    if top is None:
        return ""
    when = "at" if top.symptom.id == SETTING_CHANGED else "since"
    since = "" if top.since_step is None else f" {when} {numbers.step(top.since_step)}"
    if top.is_over:
        since = f", {numbers.step_range(top.since_step, top.until_step)}"

    return f"{title_of(run, top)}{since}"


def change_words(move: Move) -> str:
    """ "× 200"; where a factor says nothing, "0 → 1"."""
    if move.factor is None:
        return f"{numbers.plain(move.before)} → {numbers.plain(move.after)}"
    return numbers.factor(move.factor)


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
    if not is_live(run) or unlimited or judgement.level >= Level.WATCH:
        return None
    from rltui.health.projection import project  # not before the first paint

    found = project(run.series(tag), judgement)
    total = run.progress.total_steps if run.progress else None
    return None if found and total and found.earliest > total else found


def projections(run: RunView) -> list[Projection]:
    """Those of the vital signs, the nearest first."""
    if not is_live(run):
        return []
    tags = [r.tag for s in overview_sections(run) for r in s.rows]
    found = [p for p in (projection_of(run, t) for t in tags) if p is not None]
    return sorted(found, key=lambda p: p.earliest)


def steps_words(projection: Projection) -> str:
    """ "410 to 520"."""
    return numbers.step_range(projection.earliest, projection.latest).removeprefix("at ")


def ahead_sentence(run: RunView, projection: Projection) -> str:
    """ "entropy reaches its lower limit of 0.125 at about step 410 to 520"."""
    info = run.infos[projection.tag]
    sign = 1.0 if info.sign >= 0 else -1.0
    word = "lower limit" if projection.falling == (sign > 0) else "limit"
    limit = numbers.plain(projection.limit * sign)
    return f"{info.title} reaches its {word} of {limit} at about step {steps_words(projection)}"
