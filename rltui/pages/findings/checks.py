"""What to check about a diagnosis: each item with its value and badge."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rltui.catalogue.model import Category
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
from rltui.facts.diagnosis import cause_of
from rltui.facts.metric_rows import make_row
from rltui.facts.run_cache import RunCache
from rltui.facts.suspects import suspect_of, usually
from rltui.health.badges import vanished
from rltui.health.model import Diagnosis, Finding
from rltui.health.symptoms import Check
from rltui.pages.findings.first_movers import change_words
from rltui.pages.findings.lines import heading
from rltui.pages.run.metric_table import spark_line
from rltui.session import RunView


@dataclass(frozen=True, slots=True)
class CheckItem:
    """One thing to check, with its present state in this run."""

    check: Check
    metric: str
    """Key of the metric; the first that would do when none is logged."""
    title: str
    tag: str | None
    """None when the run logs none of the metrics."""
    level: Level
    """That of its row in every table; a worse one that it had while the symptom lasted."""
    value: float | None
    step: int | None
    """Step of the value."""
    hint: str
    """What stands out: "× 200 at step 30", "usually ≤ 0.02"; "" for nothing."""
    then: tuple[int, float] | None = None
    """(step, value) at its worst while the symptom lasted, else at its onset; None when it is the
    same now."""
    is_effect: bool = False
    """Whether it stands out since after the onset of the symptom only."""
    is_setting: bool = False
    """Whether a person or a schedule sets it."""
    answer: str = ""
    """What the log answers; "" where a person has to."""

    @property
    def ask(self) -> str:
        """The question, or its answer."""
        return self.answer or self.check.ask

    @property
    def first(self) -> bool:
        """Whether to check it first: it stands out, or the symptom says so and the log does not
        answer it."""
        return self.leads or (self.check.first and not self.answer)

    @property
    def leads(self) -> bool:
        """Whether it stood out when the symptom began."""
        return bool(self.hint) and not self.is_effect


#: Look of what stands out although its metric is ok.
_STANDING_OUT = style(LEVEL_TOKEN[Level.WATCH], bold=True)

_ITEMS: RunCache[str, list[CheckItem]] = RunCache()


def check_items(run: RunView, diagnosis: Diagnosis) -> list[CheckItem]:
    """What to check, each metric once: what stands out by itself, then in the order of the
    symptom, last what the log answers. Made once per version of the run."""
    return list(_ITEMS.get(run, diagnosis.symptom.id, lambda: _items(run, diagnosis)))


def _items(run: RunView, diagnosis: Diagnosis) -> list[CheckItem]:
    items: list[CheckItem] = []
    for check in diagnosis.symptom.checks:
        item = _item(run, check, diagnosis)
        if item.tag is None or all(item.tag != i.tag for i in items):
            items.append(item)
    return sorted(items, key=lambda i: (not i.first, not i.leads, bool(i.answer)))


def _item(run: RunView, check: Check, diagnosis: Diagnosis) -> CheckItem:
    onset = diagnosis.since_step
    tags = run.tags_of_metrics(("|".join(check.metrics),))
    if not tags:
        key = check.metrics[0].removesuffix(".*")
        metric = run.catalogue.metrics.get(key)
        title = key if metric is None else metric.title
        return CheckItem(check, key, title, None, Level.UNKNOWN, None, None, "")
    tag = tags[0]
    info, row = run.infos[tag], make_row(run, tag)
    key = info.metric.key if info.metric else tag
    last = run.shown(tag).last
    hint = _standing_out(run, check, tag, row.level, row.value)
    is_effect = bool(hint) and onset is not None and not _stood_out(run, check, tag, onset)
    step = None if last is None else last[0]
    is_setting = info.category is Category.HYPER
    level, then = _past(run, tag, diagnosis)
    return CheckItem(
        check, key, info.title, tag, max(row.level, level), row.value, step, hint, then,
        is_effect, is_setting, _answer(run, check, tag),
    )  # fmt: skip


def _answer(run: RunView, check: Check, tag: str) -> str:
    """What the points of a metric answer; "" for nothing."""
    if not check.constant or run.series(tag).count < 2:
        return ""
    values = run.shown(tag).values
    return check.constant if bool((values == values[0]).all()) else ""


#: A past value is worth naming when it differs from the present one by this share of the larger.
_OTHER = 0.25


def _past(run: RunView, tag: str, diagnosis: Diagnosis) -> tuple[Level, tuple[int, float] | None]:
    """The worst level of the findings of a metric while a symptom lasted, and (step, value) at its
    worst; without a finding, at the onset. None for a value like that of now."""
    onset, series = diagnosis.since_step, run.shown(tag)
    if onset is None or not series.count:
        return Level.UNKNOWN, None
    found = [f for f in run.report.findings if f.tag == tag] if run.report else []
    found = [f for f in found if _meet(f, diagnosis)]
    level = max((f.evidence.worst or f.level for f in found), default=Level.UNKNOWN)
    worst = max(found, key=lambda f: f.evidence.worst or f.level, default=None)
    at = worst.evidence.row.get("at", worst.since_step) if worst is not None else onset
    row = max(0, int(np.searchsorted(series.steps, at if at is not None else onset, "right")) - 1)
    value, now = float(series.values[row]), float(series.values[-1])
    alike = abs(value - now) <= _OTHER * max(abs(value), abs(now))
    if alike or (math.isnan(value) and math.isnan(now)):
        return level, None
    return level, (int(series.steps[row]), value)


def _meet(finding: Finding, diagnosis: Diagnosis) -> bool:
    """Whether a finding held while a symptom lasted."""
    since, until = finding.since_step or 0, finding.until_step
    begins_before = diagnosis.until_step is None or since <= diagnosis.until_step
    return begins_before and (until is None or until >= (diagnosis.since_step or 0))


def _standing_out(run: RunView, check: Check, tag: str, level: Level, value: float | None) -> str:
    """Why to check it first: it jumped before the symptom, or it is far from usual; else ""."""
    cause = cause_of(run)
    if cause is not None and cause.tag == tag:
        return f"{change_words(cause)} at {numbers.step(cause.step)}"
    suspect = suspect_of(run, tag)
    if suspect is not None:
        return usually(suspect)
    if value is not None and level < Level.WATCH:
        if hint := _far_from_usual(run, check, tag, value):
            return hint
        if (left := vanished(run.infos[tag], run.series(tag))) is not None:
            return f"vanished: {numbers.percent(left)} of its start"
    return ""


def _far_from_usual(run: RunView, check: Check, tag: str, value: float) -> str:
    scaled = value * run.infos[tag].scale
    if check.high is not None and scaled > check.high:
        return f"usually ≤ {numbers.plain(check.high)}"
    if check.low is not None and scaled < check.low:
        return f"usually ≥ {numbers.plain(check.low)}"
    return ""


def _stood_out(run: RunView, check: Check, tag: str, onset: int) -> bool:
    """Whether a metric stood out at ``onset`` already: else it shows an effect, not the cause."""
    cause = cause_of(run)
    if cause is not None and cause.tag == tag:
        return True
    series = run.shown(tag)
    row = int(np.searchsorted(series.steps, onset, "right"))
    value = float(series.values[max(0, row - 1)])
    if _far_from_usual(run, check, tag, value):
        return True
    return vanished(run.infos[tag], run.series(tag), onset) is not None


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


def then_words(item: CheckItem) -> str:
    """ "1.4 at 120": what a metric was, where that differs from now; else ""."""
    if item.then is None:
        return ""
    step, value = item.then
    return f"{numbers.value(value)} at {numbers.step(step)}"


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
