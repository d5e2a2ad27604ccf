"""A diagnosis in words: its cause, and what to check, each with its value and badge."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rltui.catalogue.model import Category
from rltui.core.level import Level
from rltui.core.text import cell_width, fit
from rltui.health.badges import vanished
from rltui.health.model import Diagnosis, Finding, Move, Suspect
from rltui.health.symptoms import SETTING_CHANGED, Check, symptoms
from rltui.present.kit import numbers, sentences
from rltui.present.kit.line import (
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
from rltui.present.screens.findings import heading
from rltui.present.screens.first_movers import change_words
from rltui.present.screens.metric_rows import make_row
from rltui.present.screens.metric_table import spark_line
from rltui.present.screens.run_cache import RunCache
from rltui.present.screens.view import View
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

    @property
    def first(self) -> bool:
        """Whether to check it first: the symptom says so, or it stands out."""
        return self.check.first or self.leads

    @property
    def leads(self) -> bool:
        """Whether it stood out when the symptom began."""
        return bool(self.hint) and not self.is_effect


#: Look of what stands out, whatever the badge of its metric.
_STANDING_OUT = style(LEVEL_TOKEN[Level.WATCH], bold=True)

_ITEMS: RunCache[str, list[CheckItem]] = RunCache()


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


def precondition_of(run: RunView, diagnosis: Diagnosis) -> str:
    """What began the story of a diagnosis and is over: "learning rate × 200, was 30 to 45"; "" for
    none."""
    found = run.report.diagnosed.diagnoses if run.report else ()
    top = next((d for d in found if d.symptom.id == diagnosis.explained_by), None)
    if top is None or not top.is_over:
        return ""
    return f"{title_of(run, top)}, was {numbers.step_range(top.since_step, top.until_step)}"


def suspect_words(suspect: Suspect) -> str:
    """ "usually ≤ 0.02"."""
    return f"usually {sentences.bounds(suspect.low, suspect.high)}"


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


def check_items(run: RunView, diagnosis: Diagnosis) -> list[CheckItem]:
    """What to check, each metric once: what stands out by itself, then in the order of the
    symptom. Made once per version of the run."""
    return list(_ITEMS.get(run, diagnosis.symptom.id, lambda: _items(run, diagnosis)))


def _items(run: RunView, diagnosis: Diagnosis) -> list[CheckItem]:
    items: list[CheckItem] = []
    for check in diagnosis.symptom.checks:
        item = _item(run, check, diagnosis)
        if item.tag is None or all(item.tag != i.tag for i in items):
            items.append(item)
    return sorted(items, key=lambda i: (not i.first, not i.leads))


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
        is_effect, is_setting,
    )  # fmt: skip


#: A past value is worth naming when it differs from the present one by this share of the larger.
_OTHER = 0.25


def _past(run: RunView, tag: str, diagnosis: Diagnosis) -> tuple[Level, tuple[int, float] | None]:
    """The worst level that a metric had while a symptom lasted, and (step, value) at its worst;
    without a finding, at the onset. None for a value like that of now."""
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
    low, high = run.verdict.limits(tag)
    if (low is not None and value < low) or (high is not None and value > high):
        level = max(level, Level.WATCH)
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
    suspects = run.report.diagnosed.suspects if run.report else ()
    suspect = next((s for s in suspects if s.tag == tag), None)
    if suspect is not None:
        return suspect_words(suspect)
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
        parts = [item.check.ask, then_words(item)]
        if item.level >= Level.WATCH:  # the value that the badge is about
            parts.reverse()
        words = "  ".join(x for x in (*parts, item.hint) if x)
        text = fit(glyphs.text(words), max(0, room), ellipsis=glyphs.ellipsis)
        line.append((text, _STANDING_OUT if item.hint else TEXT))
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
    look = _look(item) if item.level >= Level.WATCH else STRONG
    line: Line = [(numbers.aligned(item.value), look)]
    if spark:
        judged = item.level is not Level.UNKNOWN
        line += [(" ", TEXT), *spark_line(run, item.tag, spark, view, judged=judged)]
    return line
