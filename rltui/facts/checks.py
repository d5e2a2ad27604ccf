"""What to check about a diagnosis: each item with its value and level."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rltui.catalogue.model import Category
from rltui.core.level import Level
from rltui.facts import numbers
from rltui.facts.findings import (
    advice_of,
    cause_of,
    change_words,
    ending_advice,
    next_step_of,
    precondition_of,
    suspect_of,
    usually,
    worst_story,
)
from rltui.facts.metrics import make_row
from rltui.health.badges import vanished
from rltui.health.model import Diagnosis, Finding
from rltui.health.symptoms import Check
from rltui.session import RunView

BadgeOf = Callable[[Level], str]
#: A past value is worth naming when it differs from the present one by this share of the larger.
_OTHER = 0.25


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


def check_items(run: RunView, diagnosis: Diagnosis) -> list[CheckItem]:
    """What to check, each metric once: what stands out by itself, then in the order of the
    symptom, last what the log answers."""
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
    low, high = check.usual.low, check.usual.high
    if high is not None and scaled > high:
        return f"usually ≤ {numbers.plain(high)}"
    if low is not None and scaled < low:
        return f"usually ≥ {numbers.plain(low)}"
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


def then_words(item: CheckItem) -> str:
    """ "1.4 at 120": what a metric was, where that differs from now; else ""."""
    if item.then is None:
        return ""
    step, value = item.then
    return f"{numbers.value(value)} at {numbers.step(step)}"


def next_step(run: RunView) -> str:
    """What to do about the worst of what is wrong; "" for a run without a finding."""
    story, crash = worst_story(run), run.verdict.crash
    if crash is not None and (story is None or run.verdict.exit_level > story.level):
        return ending_advice(run, crash)
    if story is not None:
        return next_step_of(run, story)
    firing = run.report.firing() if run.report else ()
    return next((advice_of(run, f) for f in firing if f.level >= Level.WATCH), "")


def check_facts(run: RunView, diagnosis: Diagnosis, badge_of: BadgeOf) -> list[tuple[str, str]]:
    """(name, text) pairs: a setting that is likely to be the cause, what to check first, and then
    with the names of what is not logged; those without text are left out."""
    items = check_items(run, diagnosis)
    known = cause_of(run)
    jumped = known.tag if known else None
    logged = [i for i in items if i.tag is not None]
    causes = [i for i in logged if i.leads and i.is_setting and i.tag != jumped]
    rest = [i for i in logged if not i.first]
    unanswered = [i for i in rest if not i.answer]
    first = [i for i in logged if i.first and i not in causes]
    first = first or ([] if causes else unanswered[:1])
    then = [_words(i, i.hint or i.answer, badge_of) for i in rest if i not in first]
    missing = [i.title for i in items if i.tag is None]
    if missing:
        then.append(f"not logged: {', '.join(missing)}")
    asked = [_words(i, i.ask if i.tag == jumped else i.hint or i.ask, badge_of) for i in first]
    facts = [
        ("began with", precondition_of(run, diagnosis)),
        ("likely cause", ", ".join(_words(i, i.hint, badge_of) for i in causes)),
        ("check first", ", ".join(asked)),
        ("then", ", ".join(then)),
    ]

    return [(name, text) for name, text in facts if text]


def _words(item: CheckItem, remark: str, badge_of: BadgeOf) -> str:
    """ "learning rate 0.2 ✖ (× 200 at 30)". No tick: before a question it would read as a yes."""
    badge = f" {badge_of(item.level)}" if item.level >= Level.WATCH else ""
    then = then_words(item)
    value = numbers.value(item.value) + (f" now, {then}" if then else "")
    return f"{item.title} {value}{badge}" + (f" ({remark})" if remark else "")
