"""The overlays: help from the table of keys, and the explanation of a metric."""

from __future__ import annotations

from rltui.core.level import Level
from rltui.core.text import clean, pad
from rltui.health.model import Finding
from rltui.present.kit import numbers, sentences
from rltui.present.kit.line import (
    LEVEL_TOKEN,
    MUTED,
    RULE,
    STRONG,
    TEXT,
    TITLE,
    Line,
    Token,
    fit_line,
    line_at,
    style,
)
from rltui.present.kit.prose import paragraph
from rltui.present.screens.findings import advice_lines
from rltui.present.screens.frame_model import finding_id
from rltui.present.screens.keys import PICKER, Key, keys_for
from rltui.present.screens.view import FINDINGS, TAB_BY_ID, View
from rltui.session import RunView

_GROUPS = ("Move", "This screen", "Chart", "Everywhere")
_KEY_CELLS = 15


def help_overlay(view: View, width: int, height: int) -> list[Line]:
    """Two columns of keys and the legend, at most ``height`` lines."""
    named = {"runs": "Runs", "metric": "Metric", "picker": "the list of logs"}
    where = named.get(view.screen, TAB_BY_ID[view.tab].title)
    keys = keys_for(view.key_screen, view.keys)
    column = max(30, (width - 4) // 2)
    left = _group_lines("Move", keys)
    right: list[Line] = []
    for group in _GROUPS[1:]:
        lines = _group_lines(group, keys)
        if lines:
            right += ([[]] if right else []) + lines
    legend = _legend(view)
    left += [[], *legend]
    rows = max(len(left), len(right))
    body = [
        [*fit_line(line_at(left, i), column), ("  ", TEXT), *line_at(right, i)] for i in range(rows)
    ]
    head: Line = [
        ("Keys ", TITLE),
        (f"on {where}", MUTED),
    ]
    room = max(1, height - 2)
    view.overlay_offset = max(0, min(view.overlay_offset, len(body) - room))
    below = len(body) - room - view.overlay_offset
    more = f"{below} more below   " if below > 0 else ""
    close = f"{more}Esc close"
    head = [*fit_line(head, max(10, width - len(close) - 2)), (close, MUTED)]
    rule: Line = [(view.glyphs.rule * width, RULE)]
    shown = body[view.overlay_offset : view.overlay_offset + room]
    return [head, rule, *shown]


def _group_lines(group: str, keys: list[Key]) -> list[Line]:
    found = [k for k in keys if k.group == group]
    if not found:
        return []
    lines: list[Line] = [[(group, TITLE)]]
    for key in found:
        shown = pad(key.shown, _KEY_CELLS)
        lines.append([(shown, style(Token.ACCENT, bold=True)), (key.words, TEXT)])
    return lines


def _legend(view: View) -> list[Line]:
    glyphs = view.glyphs
    if view.screen == PICKER:
        live: Line = [(glyphs.live, style(Token.OK)), (" written in the last minute", TEXT)]
        quiet: Line = [(glyphs.stalled, MUTED), (" in use, but quiet", TEXT)]
        return [[("Signs", TITLE)], live, quiet]
    badges: Line = []
    words = {Level.OK: "ok", Level.WATCH: "watch", Level.BAD: "bad", Level.UNKNOWN: "not judged"}
    for level, word in words.items():
        badges += [(glyphs.badge(level), style(LEVEL_TOKEN[level])), (f" {word}  ", TEXT)]
    marks: Line = [
        (glyphs.nan, style(Token.BAD, bold=True)),
        (" not a number  ", TEXT),
        (glyphs.unchanged, MUTED),
        (" never changed", TEXT),
    ]
    return [[("Badges", TITLE)], badges, marks]


def explain_overlay(run: RunView | None, view: View, width: int, height: int) -> list[Line]:
    """What the metric or finding at the cursor means, what is usual, where that is from."""
    if run is None:
        return [[("nothing to explain here", MUTED)]]
    if view.screen == "list" and view.tab == FINDINGS:
        lines = _explain_finding(run, view, width)
    else:
        lines = _explain_tag(run, view, width)
    room = max(1, height)
    view.overlay_offset = max(0, min(view.overlay_offset, len(lines) - room))
    return lines[view.overlay_offset : view.overlay_offset + room]


def _explain_finding(run: RunView, view: View, width: int) -> list[Line]:
    wanted = view.cursor.get(FINDINGS)
    findings: tuple[Finding, ...] = run.report.findings if run.report else ()
    for finding in findings:
        if finding_id(finding) == wanted:
            head: Line = [(finding.title, TITLE), (f"   {finding.rule}", MUTED)]
            rule: Line = [(view.glyphs.rule * width, RULE)]
            text = paragraph(view.glyphs.text(sentences.summary(finding)), width)
            return [head, rule, *text, [], *advice_lines(finding, view, width)]
    return [[("no finding at the cursor", MUTED)]]


def _explain_tag(run: RunView, view: View, width: int) -> list[Line]:
    tag = view.cursor.get(view.tab)
    info = run.infos.get(tag) if tag is not None else None
    if info is None or tag is None:
        return [[("put the cursor on a metric", MUTED)]]
    words = view.glyphs.text
    unit = f"   {info.unit}" if info.unit else ""
    lines: list[Line] = [
        [(words(info.title), TITLE), (words(unit), MUTED)],
        [(view.glyphs.rule * width, RULE)],
    ]
    meaning = info.meaning or "The catalogue does not know this tag; it is shown as logged."
    lines += paragraph(words(meaning), width)
    lines.append([])
    judgement = run.verdict.judgement(tag)
    facts = [
        ("tag", info.tag),
        ("metric", info.metric.key if info.metric else "unknown"),
        ("direction", info.direction.value),
        ("healthy", words(sentences.healthy(judgement))),
        ("rules", ", ".join(judgement.rules)),
        ("matched by", info.where or ""),
        ("source", info.source),
        ("logged in", ", ".join(clean(p.name) for p in run.points.table.origins(tag))),
    ]
    last = run.shown(tag).last
    if last is not None:
        facts.insert(2, ("newest", f"{numbers.value(last[2])} at step {numbers.step(last[0])}"))
    for name, value in facts:
        if value:
            room = width - 12
            first, *rest = paragraph(value, room, STRONG if name == "newest" else TEXT) or [[]]
            lines.append([(pad(name, 12), MUTED), *first])
            lines += [[(" " * 12, TEXT), *x] for x in rest]
    return lines
