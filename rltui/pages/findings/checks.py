"""What to check about a diagnosis: each item with its value and badge."""

from __future__ import annotations

from rltui.core.level import Level
from rltui.core.text import cell_width, fit
from rltui.draw.line import (
    LEVEL_TOKEN,
    MUTED,
    STRONG,
    TEXT,
    Line,
    Style,
    column,
    fit_line,
    line_width,
    style,
)
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.checks import CheckItem, check_items, then_words
from rltui.health.model import Diagnosis
from rltui.pages.findings.lines import heading
from rltui.pages.run.metric_table import spark_line
from rltui.session import RunView

#: Look of what stands out although its metric is ok.
_STANDING_OUT = style(LEVEL_TOKEN[Level.WATCH], bold=True)


def check_table(run: RunView, diagnosis: Diagnosis, view: View, width: int) -> list[Line]:
    """What to check, under a heading."""
    head = heading("Check", width, view, "now and over the run")
    return [head, *check_lines(run, diagnosis, view, width)]


def check_lines(run: RunView, diagnosis: Diagnosis, view: View, width: int) -> list[Line]:
    """A numbered table of what to check: badge, metric, question, value now, sparkline."""
    glyphs, items = view.glyphs, check_items(run, diagnosis)
    spark = 14 if width >= 84 else 10 if width >= 52 else 0
    name = max((min(19, cell_width(i.title)) for i in items), default=0) + 1
    lines = []
    for rank, item in enumerate(items, 1):
        look = _look(item)
        lead = "first" if rank == 1 else "then" if rank == _then(items) else ""
        line: Line = [(f"{lead:6}", MUTED), (f"{glyphs.badge(item.level)} ", look)]
        line.append(column(glyphs.text(item.title), name, STRONG, ellipsis=glyphs.ellipsis))
        right = _value(run, item, view, spark)
        room = width - line_width(line) - line_width(right) - 1
        parts = [item.ask, then_words(item)]
        if item.level >= Level.WATCH:  # the value that the badge is about
            parts.reverse()
        words = "  ".join(x for x in (*parts, item.hint) if x)
        text = fit(glyphs.text(words), max(0, room), ellipsis=glyphs.ellipsis)
        stands_out = item.hint and item.level is not Level.UNKNOWN  # what no rule judges is quiet
        line.append((text, _STANDING_OUT if stands_out else TEXT))
        lines.append([*fit_line(line, width - line_width(right)), *right])
    return lines


def _look(item: CheckItem) -> Style:
    return style(LEVEL_TOKEN[item.level], bold=item.level >= Level.WATCH)


def _then(items: list[CheckItem]) -> int:
    """Rank of the first item that is not to be checked first."""
    return next((n for n, i in enumerate(items, 1) if not i.first), 0)


def _value(run: RunView, item: CheckItem, view: View, spark: int) -> Line:
    if item.tag is None:
        return [("not logged".rjust(10 + (spark + 1 if spark else 0)), MUTED)]
    now = run.verdict.tag_level(item.tag)  # the badge may be about another time
    look = style(LEVEL_TOKEN[now], bold=True) if now >= Level.WATCH else STRONG
    line: Line = [(numbers.aligned(item.value), look)]
    if spark:
        judged = item.level is not Level.UNKNOWN
        line += [(" ", TEXT), *spark_line(run, item.tag, spark, view, judged=judged)]
    return line
