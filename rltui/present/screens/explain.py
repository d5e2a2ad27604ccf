"""What a metric or a finding means, what is usual, and where that is from."""

from __future__ import annotations

from rltui.core.text import clean
from rltui.health.model import Finding
from rltui.present.kit import numbers, sentences
from rltui.present.kit.line import MUTED, RULE, TITLE, Line
from rltui.present.kit.prose import fact_table, paragraph
from rltui.present.screens.ahead import ahead_sentence, projection_of
from rltui.present.screens.diagnosis import diagnosis_of
from rltui.present.screens.findings import advice_lines
from rltui.present.screens.findings_detail import checks
from rltui.present.screens.view import View
from rltui.session import RunView


def explain_finding(run: RunView, finding: Finding, view: View, width: int) -> list[Line]:
    """A finding: its sentence, the evidence, the advice, what to check and usual causes."""
    head: Line = [(finding.title, TITLE), (f"   {finding.rule}", MUTED)]
    rule: Line = [(view.glyphs.rule * width, RULE)]
    text = paragraph(view.glyphs.text(sentences.summary(finding)), width)
    lines = [head, rule, *text, [], *advice_lines(run, finding, view, width)]
    diagnosis = diagnosis_of(run, finding)
    return lines if diagnosis is None else [*lines, *checks(run, diagnosis, view, width)]


def explain_tag(run: RunView, tag: str, view: View, width: int) -> list[Line]:
    """A metric: meaning, direction, healthy range, the rules that read it, where it is logged."""
    info = run.infos[tag]
    words = view.glyphs.text
    unit = f"   {info.unit}" if info.unit else ""
    lines: list[Line] = [
        [(words(info.title), TITLE), (words(unit), MUTED)],
        [(view.glyphs.rule * width, RULE)],
    ]
    meaning = info.meaning or "The catalogue does not know this tag; it is shown as logged."
    lines += paragraph(words(meaning), width)
    lines.append([])
    judgement, ahead = run.verdict.judgement(tag), projection_of(run, tag)
    doubt = run.verdict.doubt(tag)
    facts = [
        ("tag", info.tag),
        ("metric", info.metric.key if info.metric else "unknown"),
        ("direction", info.direction.value),
        ("healthy", words(sentences.healthy(judgement))),
        ("badge", words(doubt and f"no tick: {doubt}")),
        ("ahead", words(ahead_sentence(run, ahead)) if ahead else ""),
        ("rules", ", ".join(judgement.rules)),
        ("matched by", info.where or ""),
        ("source", info.source),
        ("logged in", ", ".join(clean(p.name) for p in run.points.table.origins(tag))),
    ]
    last = run.shown(tag).last
    if last is not None:
        facts.insert(
            2, ("newest", f"{numbers.value(last[2])} at {run.step_word} {numbers.step(last[0])}")
        )
    if run.step_word != "step":
        facts.append(("steps", "the log has none: its rows were counted"))
    return lines + fact_table(facts, width, 12)
