"""The item at the cursor of the Findings tab: what was found, what to check, causes, a chart."""

from __future__ import annotations

from collections.abc import Iterable

from rltui.core.level import Level
from rltui.core.text import cell_width, spaced
from rltui.draw.line import (
    LEVEL_BOLD,
    MUTED,
    STRONG,
    TEXT,
    Block,
    Line,
    Style,
    alarm_look,
    badge_span,
    column,
    longest,
    style,
    with_end,
)
from rltui.draw.prose import distinct, ended_lines, fact_table, paragraph
from rltui.draw.table import heading
from rltui.draw.view import View
from rltui.facts import findings, numbers, sentences, story_words
from rltui.facts.checks import CheckItem, then_words
from rltui.facts.metrics import fold
from rltui.facts.story import Story, stories, story_blaming, story_of
from rltui.facts.story_words import Part
from rltui.pages.findings.lines import (
    CalmId,
    HeadId,
    ItemId,
    ProjectedId,
    SkippedId,
    badge_of,
    evidence_facts,
    row_of,
    span_words,
)
from rltui.pages.run.metric_table import (
    columns_for,
    metric_heads,
    row_line,
    spark_line,
    titled_chart,
)
from rltui.session import JudgedRun

#: Look of what stands out although its metric is ok.
_STANDING_OUT = LEVEL_BOLD[Level.WATCH]
#: Cells of the names of facts, with a blank.
_NAMES = 13


def detail_lines(run: JudgedRun, item: ItemId | None, view: View, width: int, height: int) -> Block:
    """The item at the cursor: what was found, the next step, what to check, usual causes, a chart.
    What has no room is counted in the last line."""
    lines = _Detail(run, view, width, height).of(item)
    if len(lines) <= height or height < 1:
        return lines
    more = f"  … {len(lines) - height + 1} more lines: m"
    return [*lines[: height - 1], [(more, MUTED)]]


class _Detail:
    """Makes all lines of an item; charts and tables fill the rest of the height."""

    def __init__(self, run: JudgedRun, view: View, width: int, height: int) -> None:
        self._run = run
        self._view = view
        self._width = width
        self._height = height

    def of(self, item: ItemId | None) -> Block:
        """The lines of any item; none for one that is no longer there."""
        run = self._run
        row = row_of(self._run, item)
        if row is not None:
            return self._finding(row)
        if isinstance(item, HeadId):
            return self._began(item.tag)
        if isinstance(item, ProjectedId):
            tag = item.tag
            projection = findings.projection_of(run, tag) if tag in run.infos else None
            if projection is None:
                return []
            lines = [heading(run.infos[tag].title, self._width, self._view, tag)]
            lines += self._text(findings.ahead_sentence(run, projection), STRONG)
            words = "A straight line through the newest part of the run; no finding yet."
            return self._chart(tag, lines + self._text(words))
        lines = self._judged([])[1:] if isinstance(item, CalmId) else []
        for skipped in run.report.skipped if run.report else ():
            if SkippedId(skipped.rule) == item:
                why = f"not judged: {findings.why_skipped(run, skipped)}"
                head = heading(skipped.title, self._width, self._view, skipped.rule)
                lines = self._judged([head, *self._text(why)])

        return lines

    def _text(self, text: str, look: Style = TEXT) -> Block:
        return paragraph(text, self._width, look)

    def _chart(self, tag: str | None, lines: Block) -> Block:
        """The lines, and where there is room a blank line, the title and the chart of a tag."""
        room = self._height - len(lines)
        if room < 8 or tag is None or tag not in self._run.infos:
            return lines
        height = min(room - 1, 35)
        return [*lines, [], *titled_chart(self._run, tag, self._view, self._width, height)]

    def _judged(self, lines: Block) -> Block:
        """The lines, the rows that rules have judged, with their limits, and a chart."""
        run = self._run
        view = self._view
        width = self._width
        judged = (t for t in run.infos if run.verdict.judgement(t).rules)
        rows = fold(run, judged)
        room = self._height - len(lines)

        if rows and room >= 4:
            shown = rows if len(rows) <= room - 2 else rows[: room - 3]
            columns = columns_for(width)
            head = heading("Judged", columns.width, view, heads=metric_heads(columns, "run"))
            lines += [[], head]
            names = distinct(tuple(r.title for r in shown), columns["name"])
            lines += [
                row_line(run, row, columns, view, cursor=False, name=name)
                for row, name in zip(shown, names, strict=True)
            ]
            if more := len(rows) - len(shown):
                lines.append([(f"  and {more} more in the tabs", MUTED)])

        return self._chart(run.headline(), lines)

    def _began(self, tag: str) -> Block:
        """The head of a story: the setting that is its cause, or for "" how the run ended."""
        run = self._run
        view = self._view
        width = self._width
        ended = next((s for s in stories(run) if s.crash is not None), None)
        story = story_blaming(run, tag) if tag else ended
        if story is None:
            return []
        look = LEVEL_BOLD[story.level]
        mark = view.glyphs.badge(story.level)
        if story.crash is not None:
            lines = self._text(story_words.summary(story), look)
            lines += self._text(story.crash.line, STRONG) if story.crash.line else []
            lines += self._told(story)
            return [*lines, [], [("t shows the end of the log", MUTED)]]
        setting = story.setting
        top = story.top
        if setting is not None and setting.tag == tag and top is not None:
            title = f"{mark} {story_words.title(story, top)}"
            lines = [heading(title, width, view, top.symptom.id, look=look)]
            lines += self._text(story_words.summary(story))
        else:
            lines = [heading(run.infos[tag].title, width, view, tag)]
            lines += self._text(story_words.blame_words(story, tag), look)
        return self._chart(tag, [*lines, *self._told(story)])

    def _told(self, story: Story, facts: Iterable[tuple[str, str]] = ()) -> Block:
        """The next step, facts, what to check in order, usual causes, and what moved first."""
        width = self._width
        told = dict(story_words.parts(story, self._view.glyphs.badge))
        named = [(part.value, told.get(part, "")) for part in (Part.CHECKPOINT, Part.LOG_SAYS)]
        step = [(Part.NEXT.value, story_words.action(story))]
        lines = fact_table(step, width, _NAMES, STRONG)
        lines += fact_table((*named, *facts), width, _NAMES)
        if story.lead is None:
            return lines
        below = [(part.value, told.get(part, "")) for part in (Part.CAUSES, Part.MOVED)]
        table = check_table(story, self._view, width)
        return [*lines, [], *table, *fact_table(below, width, _NAMES)]

    def _finding(self, row: findings.FindingRow) -> Block:
        run = self._run
        view = self._view
        finding = row.finding
        glyph, token, bold = badge_of(finding, view)
        title = f"{glyph} {finding.title}"
        look = style(token, bold=bold)
        lines = [heading(title, self._width, view, finding.rule, look=look)]
        lines += self._text(sentences.summary(finding))
        facts = [*evidence_facts(run, finding, whole=self._height < 1)]
        facts.append(("because", story_words.cause_words(run, finding)))
        facts += [("before", f"{span_words(run, f)}: {sentences.short(f)}") for f in row.earlier]
        story = story_of(run, finding)
        if story is None or finding.error is not None:
            lines += fact_table(facts, self._width, _NAMES)
        else:
            lines += self._told(story, facts)
        return self._chart(finding.tag, lines)


#: Cells before the metric of a check, and of what it was: that may be there in one row and not in
#: the next, and lines stay where they are.
_LEAD = 8
_THEN = 16


def check_table(story: Story, view: View, width: int, most: int = 99) -> Block:
    """What to check, under a heading, in at most so many lines: badge, metric, question, value now,
    sparkline. A question without room has lines of its own."""
    run = story.run
    items = story.checks
    lines = [heading("Check", width, view, "now and over the run")]
    spark = 14 if width >= 84 else 10 if width >= 52 else 0
    name = min(19, longest([i.title for i in items])) + 1
    then = next((n for n, i in enumerate(items, 1) if not i.first), 0)
    end = numbers.ALIGNED_WIDTH + (spark + 1 if spark else 0)

    for rank, item in enumerate(items, 1):
        lead = "first" if rank == 1 else "then" if rank == then else ""
        begin: Line = [(f"{lead:6}", MUTED), badge_span(item.level, view.glyphs)]
        stands_out = item.hint and item.level is not Level.UNKNOWN  # what no rule judges is quiet
        look = _STANDING_OUT if stands_out else TEXT
        value = _value(run, item, view, spark, end)
        asked = item.hint or item.ask
        words = spaced(asked, then_words(item), by=" " if asked.endswith("?") else ", ")
        if cell_width(asked) + _THEN < width - end - name - _LEAD:
            begin += [column(item.title, name, STRONG), (words, look)]
            own = [with_end(begin, value, width)]
        else:
            own = ended_lines(begin, item.title, STRONG, value, width)
            own += paragraph(words, width, look, indent=_LEAD)
        if len(lines) + len(own) > most:
            break
        lines += own

    return lines


def _value(run: JudgedRun, item: CheckItem, view: View, spark: int, cells: int) -> Line:
    """The newest value, and a sparkline of ``spark`` of the ``cells``; 0 for none."""
    if item.tag is None:
        return [("not logged".rjust(cells), MUTED)]
    now = run.verdict.tag_level(item.tag)  # the badge may be about another time
    line: Line = [(numbers.aligned(item.value), alarm_look(now))]
    if spark:
        judged = item.level is not Level.UNKNOWN
        line += [(" ", TEXT), *spark_line(run, item.tag, spark, view, judged=judged)]

    return line
