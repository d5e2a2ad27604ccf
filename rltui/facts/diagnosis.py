"""A diagnosis in words: its title, its cause, what it brought about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rltui.core.level import Level
from rltui.facts import numbers
from rltui.health.model import Diagnosis, Finding, Move
from rltui.health.symptoms import SETTING_CHANGED, symptoms
from rltui.session import RunView

if TYPE_CHECKING:
    from rltui.health.crash import ExitStatus


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
