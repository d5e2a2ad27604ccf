"""The metric screen: the large chart, judgement, statistics, meaning, related rows."""

from __future__ import annotations

from collections.abc import Iterator

from rltui.core.level import Direction
from rltui.core.text import cell_width, clean
from rltui.draw.line import (
    LEVEL_TOKEN,
    MUTED,
    RULE,
    STRONG,
    TITLE,
    Line,
    Style,
    beside,
    column,
    fit_line,
    indented,
    style,
)
from rltui.draw.prose import fact_line, fact_table, paragraph
from rltui.draw.view import View
from rltui.facts import numbers, sentences
from rltui.facts.findings import (
    advice_of,
    ahead_sentence,
    cause_of,
    change_words,
    diagnosis_of,
    next_step_of,
    projection_of,
    summary_of,
    suspect_of,
    suspect_words,
    worst_story,
)
from rltui.facts.metrics import (
    TAB_BY_ID,
    Row,
    make_row,
    tab_sections,
)
from rltui.health.model import Finding
from rltui.pages.findings.findings_detail import checks, next_step_lines
from rltui.pages.findings.lines import evidence_lines, finding_block, heading
from rltui.pages.metric.metric_chart import (
    Zoom,
    chart_lines,
    statistics,
    statistics_in_line,
)
from rltui.pages.metric.related import related_lines
from rltui.session import RunView

_SIDE = 38
"""Cells of the pane at the right of the chart."""


def metric_lines(
    run: RunView,
    tab: str,
    tag: str,
    view: View,
    zoom: Zoom,
    width: int,
    height: int,
    *,
    alone: bool = False,
) -> list[Line]:
    """The metric ``tag`` as a row of the tab ``tab``, in ``width`` x ``height``. ``alone``: the
    chart has all the room under the title."""
    if tag not in run.infos:
        return [[], [("  this metric is no longer logged", MUTED)]]
    rows = [r for s in tab_sections(run, tab) for r in s.rows]
    margin = 2 if width >= 110 else 1
    inner = width - margin - 1
    row = next((r for r in rows if r.tag == tag), make_row(run, tag))
    head = _head(row, [r.tag for r in rows], tab, view, inner)
    lines = [head, [(view.glyphs.rule * inner, RULE)]] if height >= 16 else [head]
    room = height - len(lines)
    if alone:
        lines += chart_lines(run, tag, view, inner, room, band=row.band, zoom=zoom, overview=True)
    else:
        part = _beside if width >= 110 else _below
        lines += part(run, row, view, zoom, inner, room)

    return indented(lines, margin)[:height]


def _head(row: Row, items: list[str], tab: str, view: View, width: int) -> Line:
    words = view.glyphs.text
    token = LEVEL_TOKEN[row.level]
    left: Line = [(f"{view.glyphs.badge(row.level)} ", style(token, bold=True))]
    left += [(words(row.title), TITLE), (f"  {words(row.info.unit)}", MUTED)]
    tags = row.tag + (", min, max" if row.band else "")
    left.append((f"   {tags}", MUTED))
    where = TAB_BY_ID[tab].title
    right = where
    if row.tag in items:
        right = f"{where}  {items.index(row.tag) + 1} of {len(items)}"
    room = width - cell_width(right) - 1

    return [*fit_line(left, room, ellipsis=view.glyphs.ellipsis), (f" {right}", MUTED)]


def _beside(run: RunView, row: Row, view: View, zoom: Zoom, width: int, height: int) -> list[Line]:
    chart_width = width - _SIDE - 4
    chart = chart_lines(
        run, row.tag, view, chart_width, height, band=row.band, zoom=zoom, overview=True
    )
    side = _side(run, row, view, zoom, _SIDE, height)
    return beside(chart, side, chart_width, 4, height)


def _below(run: RunView, row: Row, view: View, zoom: Zoom, width: int, height: int) -> list[Line]:
    facts: list[Line] = []
    if height >= 14:
        facts = _judgement(run, row, view, width, 1)[:2]
        facts.append(fact_line(statistics_in_line(run, row.tag, view, zoom), width))
    room = height - len(facts)
    chart = chart_lines(run, row.tag, view, width, room, band=row.band, zoom=zoom, overview=True)
    return [*chart, *facts]


def _side(run: RunView, row: Row, view: View, zoom: Zoom, width: int, height: int) -> list[Line]:
    """Judgement, statistics, meaning and related rows, as far as there is room."""
    lines = [heading("Judgement", width, view), *_judgement(run, row, view, width), []]
    note = "visible" if zoom.window is not None else ""
    lines.append(heading("Statistics", width, view, note))
    for name, value, where in statistics(run, row.tag, view, zoom):
        lines.append([column(name, 12, MUTED), column(value, 12, STRONG), (where, MUTED)])
    meaning = row.info.meaning
    if meaning and height - len(lines) > 4:
        lines += [[], heading("Meaning", width, view)]
        limit = max(2, min(10, height - len(lines) - 4))
        lines += paragraph(
            view.glyphs.text(meaning), width, limit=limit, ellipsis=view.glyphs.ellipsis
        )
    related = related_lines(run, row.tag, view, width, height - len(lines) - 1)

    return [*lines, [], *related] if related else lines


def _judgement(run: RunView, row: Row, view: View, width: int, limit: int = 3) -> list[Line]:
    """The findings about a metric, each in ``limit`` lines of evidence; else its range."""
    words, glyphs = view.glyphs.text, view.glyphs
    found = [f for f in run.report.findings if f.tag == row.tag] if run.report else []
    if found:
        return [x for f in found[:3] for x in finding_block(run, f, view, width, limit)]
    lines: list[Line] = []
    judgement = row.judgement
    badge: Style = style(LEVEL_TOKEN[row.level])
    if judgement.rules:
        lines.append([(f"{glyphs.badge(row.level)} {row.level.word}", badge)])
        doubt = run.verdict.doubt(row.tag)
        for text in (sentences.limits(judgement), f"no tick: {doubt}" if doubt else ""):
            if text:
                lines += paragraph(words(text), width, MUTED)
    else:
        cause = cause_of(run)
        text = "no rule judges it"
        if cause is not None and cause.tag == row.tag:
            at = f"{run.step_word} {numbers.step(cause.step)}"
            text = f"{change_words(cause)} at {at}: the cause of what fires"
        if (suspect := suspect_of(run, row.tag)) is not None:
            text = suspect_words(suspect)
        if sentences.healthy(judgement):
            text += f"; documented range {sentences.healthy(judgement)}"
        lines.append([(f"{glyphs.badge(row.level)} ", badge), (words(text), MUTED)])

    return lines


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
