"""The item at the cursor of the Findings tab: what was found, what to check, causes, a chart."""

from __future__ import annotations

from collections.abc import Iterable

from rltui.core.level import Level
from rltui.core.text import cell_width, fit
from rltui.draw.line import (
    LEVEL_BOLD,
    LEVEL_LOOK,
    MUTED,
    RULE,
    STRONG,
    TEXT,
    Block,
    Line,
    Style,
    column,
    fit_line,
    line_width,
    longest,
    style,
)
from rltui.draw.metric_chart import chart_lines
from rltui.draw.prose import distinct, fact_table, paragraph
from rltui.draw.table import ruled
from rltui.draw.view import View
from rltui.facts import findings, numbers, sentences, story_words
from rltui.facts.checks import CheckItem, then_words
from rltui.facts.metrics import fold
from rltui.facts.story import Story, stories, story_blaming, story_of
from rltui.facts.story_words import Part
from rltui.health.model import Skipped
from rltui.pages.findings.lines import (
    CalmId,
    HeadId,
    ItemId,
    ProjectedId,
    SkippedId,
    badge_of,
    evidence_facts,
    first_mover_lines,
    heading,
    row_of,
    span_words,
)
from rltui.pages.run.metric_table import (
    chart_title,
    columns_for,
    metric_heads,
    row_line,
    spark_line,
)
from rltui.session import RunView

#: Look of what stands out although its metric is ok.
_STANDING_OUT = LEVEL_BOLD[Level.WATCH]
#: Cells of the names of facts, with a blank, and lines for what stands above and below the story.
_NAMES, _BELOW = 13, 12


def detail_lines(run: RunView, item: ItemId | None, view: View, width: int, height: int) -> Block:
    """The item at the cursor: what was found, the next step, what to check, usual causes, a chart.
    What has no room is counted in the last line."""
    lines = _Detail(run, view, width, height).of(item)
    if len(lines) <= height or height < 1:
        return lines
    more = f"  … {len(lines) - height + 1} more lines: m"
    return [*lines[: height - 1], [(more, MUTED)]]


class _Detail:
    """Makes all lines of an item; charts and tables fill the rest of the height."""

    def __init__(self, run: RunView, view: View, width: int, height: int) -> None:
        self._run = run
        self._view = view
        self._width = width
        self._height = height
        self._words = view.glyphs.text

    def of(self, item: ItemId | None) -> Block:
        """The lines of any item; none for one that is no longer there."""
        report, row = self._run.report, row_of(self._run, item)
        if row is not None:
            return self._finding(row)
        if isinstance(item, HeadId):
            return self._began(item.tag)
        if isinstance(item, ProjectedId):
            return self._projection(item.tag)
        skipped = report.skipped if report is not None else ()
        lines = self._judged([])[1:] if isinstance(item, CalmId) else []

        return lines or [x for s in skipped if SkippedId(s.rule) == item for x in self._skipped(s)]

    def _text(self, text: str, look: Style = TEXT) -> Block:
        return paragraph(self._words(text), self._width, look)

    def _chart(self, tag: str | None, lines: Block) -> Block:
        """The lines, and where there is room a blank line, the title and the chart of a tag."""
        room = self._height - len(lines)
        if room < 8 or tag is None or tag not in self._run.infos:
            return lines
        head = chart_title(self._run, tag, self._view, self._width)
        chart = chart_lines(self._run, tag, self._view, self._width, min(room - 2, 34))
        return [*lines, [], head, *chart]

    def _skipped(self, skipped: Skipped) -> Block:
        """A rule that could not judge: its title, why in full, and what has been judged."""
        lines = [heading(self._words(skipped.title), self._width, self._view, skipped.rule)]
        lines += self._text(f"not judged: {findings.why_skipped(self._run, skipped)}")
        return self._judged(lines)

    def _judged(self, lines: Block) -> Block:
        """The lines, the rows that rules have judged, with their limits, and a chart."""
        run, view, width = self._run, self._view, self._width
        judged = (t for t in run.infos if run.verdict.judgement(t).rules)
        rows, room = fold(run, judged), self._height - len(lines)

        if rows and room >= 4:
            shown = rows if len(rows) <= room - 2 else rows[: room - 3]
            columns = columns_for(width)
            head = ruled("Judged", columns.width, view, heads=metric_heads(columns, "run"))
            lines += [[], head]
            names = distinct(tuple(r.title for r in shown), columns["name"])
            lines += [
                row_line(run, row, columns, view, cursor=False, name=name)
                for row, name in zip(shown, names, strict=True)
            ]
            if more := len(rows) - len(shown):
                lines.append([(f"  and {more} more in the tabs", MUTED)])

        return self._chart(run.headline(), lines)

    def _projection(self, tag: str) -> Block:
        run = self._run
        projection = findings.projection_of(run, tag) if tag in run.infos else None
        if projection is None:
            return []
        lines = [heading(self._words(run.infos[tag].title), self._width, self._view, tag)]
        lines += self._text(findings.ahead_sentence(run, projection), STRONG)
        lines += self._text("A straight line through the newest part of the run; no finding yet.")
        return self._chart(tag, lines)

    def _head(self, mark: str, title: str, look: Style, note: str) -> Line:
        """Badge and title, a rule, and a note at the right end."""
        head: Line = [(f"{mark} ", look), (self._words(title), look), (" ", TEXT)]
        room = self._width - line_width(head) - cell_width(note) - 1
        return [*head, (self._view.glyphs.rule * max(0, room), RULE), (f" {note}", MUTED)]

    def _began(self, tag: str) -> Block:
        """The head of a story: the setting that is its cause, or for "" how the run ended."""
        run, view, width = self._run, self._view, self._width
        ended = next((s for s in stories(run) if s.crash is not None), None)
        story = story_blaming(run, tag) if tag else ended
        if story is None:
            return []
        look, mark = LEVEL_BOLD[story.level], view.glyphs.badge(story.level)
        if story.crash is not None:
            lines = self._text(story_words.summary(story), look)
            lines += self._text(story.crash.line, STRONG) if story.crash.line else []
            lines += self._told(story)
            return [*lines, [], [("t shows the end of the log", MUTED)]]
        setting, top = story.setting, story.top
        if setting is not None and setting.tag == tag and top is not None:
            lines = [self._head(mark, story_words.title(story, top), look, top.symptom.id)]
            lines += self._text(story_words.summary(story))
        else:
            lines = [heading(self._words(run.infos[tag].title), width, view, tag)]
            lines += self._text(story_words.blame_words(story, tag), look)
        return self._chart(tag, [*lines, *self._told(story)])

    def _told(self, story: Story, facts: Iterable[tuple[str, str]] = ()) -> Block:
        """The next step, facts, what to check in order, usual causes, and what moved first."""
        width = self._width
        told = dict(story_words.parts(story, self._view.glyphs.badge))
        named = [(part.value, told.get(part, "")) for part in (Part.CHECKPOINT, Part.LOG_SAYS)]
        step = [(Part.NEXT.value, self._words(story_words.action(story)))]
        lines = fact_table(step, width, _NAMES, STRONG)
        rest = ((name, self._words(text)) for name, text in (*named, *facts))
        lines += fact_table(rest, width, _NAMES)
        if story.lead is None:
            return lines
        causes = [(Part.CAUSES.value, self._words(story.lead.symptom.causes))]
        table = check_table(story, self._view, width)
        lines += [[], *table, *fact_table(causes, width, _NAMES)]
        room = min(7, self._height - len(lines) - _BELOW)
        moved = first_mover_lines(story, self._view, width, room)
        return [*lines, *([[], *moved] if moved else [])]

    def _finding(self, row: findings.FindingRow) -> Block:
        run, view, finding = self._run, self._view, row.finding
        glyph, token, bold = badge_of(finding, view)
        lines = [self._head(glyph, finding.title, style(token, bold=bold), finding.rule)]
        lines += self._text(sentences.summary(finding))
        facts = [*evidence_facts(run, finding, whole=self._height < 1)]
        facts.append(("because", story_words.cause_words(run, finding)))
        facts += [("before", f"{span_words(run, f)}: {sentences.short(f)}") for f in row.earlier]
        story = story_of(run, finding)
        if story is None or finding.error is not None:
            words = ((name, self._words(text)) for name, text in facts)
            lines += fact_table(words, self._width, _NAMES)
        else:
            lines += self._told(story, facts)
        return self._chart(finding.tag, lines)


def check_table(story: Story, view: View, width: int) -> Block:
    """What to check, numbered, under a heading: badge, metric, question, value now, sparkline."""
    run, glyphs, items = story.run, view.glyphs, story.checks
    lines = [heading("Check", width, view, "now and over the run")]
    spark = 14 if width >= 84 else 10 if width >= 52 else 0
    name = min(19, longest([i.title for i in items])) + 1
    then = next((n for n, i in enumerate(items, 1) if not i.first), 0)
    end = numbers.ALIGNED_WIDTH + (spark + 1 if spark else 0)
    left = width - end
    room = left - name - 9  # beside the word, the badge and a blank

    for rank, item in enumerate(items, 1):
        lead = "first" if rank == 1 else "then" if rank == then else ""
        look = (LEVEL_BOLD if item.level >= Level.WATCH else LEVEL_LOOK)[item.level]
        line: Line = [(f"{lead:6}", MUTED), (f"{glyphs.badge(item.level)} ", look)]
        line.append(column(glyphs.text(item.title), name, STRONG))
        right = _value(run, item, view, spark, end)
        words = glyphs.text("  ".join(x for x in (*_said(item, room), item.hint) if x))
        stands_out = item.hint and item.level is not Level.UNKNOWN  # what no rule judges is quiet
        look = _STANDING_OUT if stands_out else TEXT
        line.append((fit(words, max(0, room)), look))
        lines.append([*fit_line(line, left), *right])

    return lines


def _said(item: CheckItem, room: int) -> tuple[str, str]:
    """The question, and what the metric was; that stands first where the badge is about it, or
    where it would be cut, and is left out where it has no room at all."""
    was, ask = then_words(item) if item.then is not None else "", item.ask
    if not was or cell_width(was) > room:
        return ask, ""
    is_first = item.level >= Level.WATCH or cell_width(f"{ask}  {was}") > room
    return (was, ask) if is_first else (ask, was)


def _value(run: RunView, item: CheckItem, view: View, spark: int, cells: int) -> Line:
    """The newest value, and a sparkline of ``spark`` of the ``cells``; 0 for none."""
    if item.tag is None:
        return [("not logged".rjust(cells), MUTED)]
    now = run.verdict.tag_level(item.tag)  # the badge may be about another time
    look = LEVEL_BOLD[now] if now >= Level.WATCH else STRONG
    line: Line = [(numbers.aligned(item.value), look)]
    if spark:
        judged = item.level is not Level.UNKNOWN
        line += [(" ", TEXT), *spark_line(run, item.tag, spark, view, judged=judged)]

    return line
