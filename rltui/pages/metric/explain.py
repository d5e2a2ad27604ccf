"""What a metric or a finding means, its limits, why it has its badge now, and what to do."""

from __future__ import annotations

from collections.abc import Iterator

from rltui.core.level import Direction
from rltui.core.text import clean
from rltui.draw.line import MUTED, RULE, TITLE, Line
from rltui.draw.prose import fact_table, paragraph
from rltui.draw.view import View
from rltui.facts import numbers, sentences
from rltui.facts.findings import (
    advice_of,
    ahead_sentence,
    cause_of,
    diagnosis_of,
    next_step_of,
    projection_of,
    summary_of,
    suspect_of,
    suspect_words,
    worst_story,
)
from rltui.health.model import Finding
from rltui.pages.findings.findings_detail import checks, next_step_lines
from rltui.pages.findings.lines import evidence_lines
from rltui.session import RunView


def explain_finding(run: RunView, finding: Finding, view: View, width: int) -> list[Line]:
    """A finding: its sentence, the evidence, the advice, what to check and usual causes."""
    head: Line = [(finding.title, TITLE), (f"   {finding.rule}", MUTED)]
    rule: Line = [(view.glyphs.rule * width, RULE)]
    text = paragraph(view.glyphs.text(sentences.summary(finding)), width)
    diagnosis = diagnosis_of(run, finding)
    step = next_step_lines(advice_of(run, finding), view, width)
    lines = [head, rule, *text, *step, [], *evidence_lines(run, finding, view, width)]
    return lines if diagnosis is None else [*lines, *checks(run, diagnosis, view, width)]


def explain_tag(run: RunView, tag: str, view: View, width: int) -> list[Line]:
    """A metric: its meaning, its limits, why it has its badge now, and the next step."""
    info, words = run.infos[tag], view.glyphs.text
    unit = f"   {info.unit}" if info.unit else ""
    lines: list[Line] = [
        [(words(info.title), TITLE), (words(unit), MUTED)],
        [(view.glyphs.rule * width, RULE)],
    ]
    meaning = info.meaning or "The catalogue does not know this tag; it is shown as logged."
    lines += [*paragraph(words(meaning), width), []]
    facts = [(name, words(text)) for name, text in _facts(run, tag)]
    lines += fact_table(facts, width, 12)
    origins = ", ".join(clean(p.name) for p in run.points.table.origins(tag))
    lines += [[], *fact_table([("tag", info.tag), ("logged in", words(origins))], width, 12)]
    more = f"rltui explain {info.tag} --reasons shows rules, sources and other names"

    return [*lines, *paragraph(words(more), width, MUTED)]


def _facts(run: RunView, tag: str) -> Iterator[tuple[str, str]]:
    """(name, text) pairs; "" for what there is nothing to say about."""
    info, verdict, last = run.infos[tag], run.verdict, run.shown(tag).last
    if last is not None:
        yield "now", f"{numbers.value(last[2])} at {run.step_word} {numbers.step(last[0])}"
    yield "guessed", sentences.GUESSED if info.guessed else ""
    yield "better", {Direction.UP: "higher", Direction.DOWN: "lower"}.get(info.direction, "")
    judgement = verdict.judgement(tag)
    bad = sentences.bad_limit(judgement)
    yield "watch limit" if bad else "healthy", sentences.healthy(judgement)
    yield "bad limit", bad
    found = [f for f in (run.report.firing() if run.report else ()) if f.tag == tag]
    cause, story = cause_of(run), worst_story(run)
    if story is not None and cause is not None and cause.tag == tag and run.report is not None:
        top = run.report.diagnosed.diagnoses[0]
        yield top.level.word, summary_of(run, top)
        yield "next step", next_step_of(run, story)
        return
    suspect = suspect_of(run, tag)
    if story is not None and suspect is not None:
        why = f"{suspect_words(suspect)} ({story.symptom.title})"
        yield verdict.tag_level(tag).word, why
        yield "next step", next_step_of(run, story)
        return
    for finding in found:
        yield finding.level.word, sentences.summary(finding)
    doubt, ahead = verdict.doubt(tag), projection_of(run, tag)
    yield "no tick", doubt
    yield "ahead", ahead_sentence(run, ahead) if ahead else ""
    for finding in found[:1]:
        yield "next step", advice_of(run, finding)
    if not found and not verdict.judgement(tag).rules:
        yield "badge", "no rule judges it"
    if run.step_word != "step":
        yield "steps", "the log has none: its rows were counted"
