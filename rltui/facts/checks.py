"""Checks of a diagnosis: each item with its value and level."""

from __future__ import annotations

import math
from typing import NamedTuple

from rltui.catalogue.catalogue import GENERIC
from rltui.catalogue.model import Category, select
from rltui.core.level import Level
from rltui.facts import findings, numbers, sentences
from rltui.facts.metrics import TagRow, make_row
from rltui.health.badges import vanished
from rltui.health.model import Diagnosed, Diagnosis
from rltui.health.symptoms import Check, knowledge
from rltui.session import JudgedRun

#: A past value is worth naming when it differs from the present one by this share of the larger.
_OTHER = 0.25


class CheckItem(NamedTuple):
    """One thing to check, with its present state in this run."""

    check: Check
    metric: str
    """Key of the metric; the first that would do when none is logged."""
    title: str
    tag: str | None
    """None when the run logs none of the metrics."""
    level: Level
    """Level of its row in every table; a worse one that it had while the symptom lasted."""
    value: float | None
    step: int | None
    """Step of the value."""
    hint: str
    """Oddity of the value: "× 200 at step 30", "usually ≤ 0.02"; "" for none."""
    then: tuple[int, float] | None = None
    """(step, value) at its worst while the symptom lasted, else at its onset; None when it is the
    same now."""
    is_effect: bool = False
    """Whether it stands out since after the onset of the symptom only."""
    is_setting: bool = False
    """Whether a person or a schedule sets it."""
    answer: str = ""
    """Answer found in the log; "" where a person has to look."""

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


def check_items(run: JudgedRun, diagnosis: Diagnosis) -> list[CheckItem]:
    """List what to check, each metric once: what stands out by itself, then in the order of the
    symptom, last what the log answers."""
    items: dict[str | int, CheckItem] = {}
    told = findings.diagnosed_in(run)
    for n, check in enumerate(diagnosis.symptom.checks):
        ask = sentences.with_step(run, check.ask, diagnosis.since_step)
        item = _item(run, check._replace(ask=ask), diagnosis, told)
        if item:
            items.setdefault(n if item.tag is None else item.tag, item)
    return sorted(items.values(), key=lambda i: (not i.first, not i.leads, bool(i.answer)))


def _item(run: JudgedRun, check: Check, diagnosis: Diagnosis, told: Diagnosed) -> CheckItem | None:
    """The item of a check; None where neither the run logs an answer nor its framework can."""
    tags = run.tags_of_metrics(("|".join(check.metrics),))
    if not tags:
        named = check.metrics
        known = run.recognition
        if known and known.framework != GENERIC:
            resolver = run.catalogue.resolver(known.framework, known.algorithm, known.scenario.id)
            named = select(named, resolver.metrics)
        if known:
            lacks = knowledge().lacks
            named = tuple(k for k in named if known.kinds.isdisjoint(lacks.get(k, ())))
        if not named:
            return None
        key = named[0].removesuffix(".*")
        metric = run.catalogue.metrics.get(key)
        title = key if metric is None else metric.title
        return CheckItem(check, key, title, None, Level.UNKNOWN, None, None, "")

    # of several tags the one that is wrong
    wrong = (t for t in tags if run.verdict.tag_level(t) >= Level.WATCH)
    tag = max(wrong, key=run.verdict.tag_level, default=tags[0])
    onset = diagnosis.since_step
    info = run.infos[tag]
    row = make_row(run, tag)
    series = run.shown(tag)
    hint = _standing_out(run, check, row, told)
    level, then = _past(run, tag, diagnosis)
    # what did not stand out at the onset already shows an effect, not the cause
    is_effect = False
    if hint and onset is not None:
        cause = told.cause
        value = series.values[max(0, series.rows_until(onset) - 1)]
        is_effect = not (
            (cause is not None and cause.tag == tag)
            or _far_from_usual(check, float(value) * info.scale)
            or vanished(info, run.series(tag), onset) is not None
        )
    is_constant = series.count > 1 and bool((series.values == series.values[0]).all())

    return CheckItem(
        check,
        info.key or tag,
        info.title,
        tag,
        max(row.level, level),
        row.value,
        int(series.steps[-1]) if series.count else None,
        hint,
        then,
        is_effect=is_effect,
        is_setting=info.category is Category.HYPER,
        answer=check.constant if is_constant else "",
    )


def _past(run: JudgedRun, tag: str, diagnosis: Diagnosis) -> tuple[Level, tuple[int, float] | None]:
    """The worst level of the findings of a metric while a symptom lasted, and (step, value) there;
    without a finding that of the onset. None where the value is about the same now."""
    onset = diagnosis.since_step
    until = diagnosis.until_step
    series = run.shown(tag)
    if onset is None or not series.count:
        return Level.UNKNOWN, None
    found = [
        f
        for f in run.findings
        if f.tag == tag
        and (until is None or (f.since_step or 0) <= until)
        and (f.until_step is None or f.until_step >= onset)
    ]
    level = Level.UNKNOWN
    at = None
    if found:
        worst = max(found, key=lambda f: f.evidence.worst or f.level)
        level = worst.evidence.worst or worst.level
        at = worst.evidence.row.get("at", worst.since_step)

    row = max(0, series.rows_until(onset if at is None else at) - 1)
    value = float(series.values[row])
    now = float(series.values[-1])
    alike = abs(value - now) <= _OTHER * max(abs(value), abs(now))
    if alike or (math.isnan(value) and math.isnan(now)):
        return level, None
    return level, (int(series.steps[row]), value)


def _standing_out(run: JudgedRun, check: Check, row: TagRow, told: Diagnosed) -> str:
    """Why to check it first: it jumped before the symptom, or it is far from usual; else ""."""
    cause = told.cause
    suspect = next((s for s in told.suspects if s.tag == row.tag), None)
    if cause is not None and cause.tag == row.tag:
        return f"{findings.change_words(cause)} at {numbers.step(cause.step)}"
    if suspect is not None:
        return findings.usually(suspect)
    if row.value is None or row.level >= Level.WATCH:
        return ""
    left = vanished(row.info, run.series(row.tag))
    gone = "" if left is None else f"vanished: {numbers.percent(left)} of its start"

    value = row.value or run.points.hidden_in_zero(row.tag)
    return _far_from_usual(check, value * row.info.scale) or gone


def _far_from_usual(check: Check, value: float) -> str:
    """Name the usual limit that a value is beyond; "" for a usual value."""
    low = check.usual.low
    high = check.usual.high
    if high is not None and value > high:
        return f"usually ≤ {numbers.plain(high)}"
    if low is not None and value < low:
        return f"usually ≥ {numbers.plain(low)}"
    return ""


def then_words(item: CheckItem) -> str:
    """ "1.4 at 120": what a metric was, where that differs from now; else ""."""
    if item.then is None:
        return ""
    step, value = item.then
    return f"{numbers.value(value)} at {numbers.step(step)}"
