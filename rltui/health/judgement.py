"""The badge of a tag: level, limits and their words at its newest row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from functools import lru_cache
from typing import Any, NamedTuple

from rltui.catalogue.model import Limits, TagInfo
from rltui.core.block import FloatArray
from rltui.core.level import Direction, Level
from rltui.core.template import parts_of
from rltui.health.columns import lacking
from rltui.health.detectors.signal import Rows, Signal, cell
from rltui.health.model import Judgement, Limit, Words
from rltui.health.rule import OWN_RANGE, Rule, Variant

#: Numbers of words that are values of the judged rows, rather than shares or counts.
_LEVELS = frozenset(
    {"low", "high", "limit", "now", "first", "before", "peak", "after"}
    | {"best", "least", "middle", "start", "late", "begun", "average"}
)


class Evaluation(NamedTuple):
    """One variant of a rule on the rows of one tag, with the answers of its detector."""

    rule: Rule
    variant: Variant
    info: TagInfo
    rows: Rows
    walls: FloatArray
    signals: Mapping[Level, Signal]
    is_past: bool
    """Whether the newest value of the tag is not finite."""

    @property
    def upside_down(self) -> bool:
        """Whether the rows are what is :func:`~rltui.health.columns.lacking`."""
        return self.variant.detector.rising and self.info.direction is Direction.DOWN

    def level(self, value: float | None) -> float | None:
        """A value of the rows as one of the metric."""
        return lacking(value) if self.upside_down and value is not None else value

    def levels(self, numbers: Mapping[str, Any]) -> dict[str, Any]:
        """Map those of some numbers, by their names, that are values of the rows through
        :meth:`level`."""
        return {k: self.level(v) if k in _LEVELS else v for k, v in numbers.items()}


def judgement(case: Evaluation, level: Level) -> Judgement:
    """Level and limits of the tag at its newest row. Without limits where the tag gets no badge
    for being ok."""
    variant = case.variant
    if level is Level.OK and not variant.badge_ok:
        return Judgement(level)
    first = Level.WATCH if Level.WATCH in case.signals else Level.BAD
    limits = [_limit(case, first, _limits(case, first))]
    if first is Level.WATCH and Level.BAD in variant.levels:
        beyond = _beyond(_limits(case, first), _limits(case, Level.BAD))
        limits.append(_limit(case, Level.BAD, beyond))
    pending = level is Level.OK and is_pending(case, *_limits(case, first))
    return Judgement(level, tuple(limits), (case.rule.id,), pending=pending)


def _limit(case: Evaluation, level: Level, ends: Limits) -> Limit:
    """Where a level begins at the newest row; ``ends``: (low, high) of the rows."""
    words = case.variant.words
    low, high = ends
    if case.upside_down:
        low, high = case.level(high), case.level(low)
    numbers = _values(case, level, names_of(words))
    share = numbers.get("most")  # of what the value was divided by
    high = finite(share * case.rows.base) if case.rows.made and share else high
    return limit_of(case.info, level, low, high)._replace(
        words=_if_known(words.healthy, numbers),
        short=_if_known(words.healthy_short, numbers),
        numbers=numbers,
        rule=case.rule.id,
    )


def limit_of(info: TagInfo, level: Level, low: float | None, high: float | None) -> Limit:
    """A limit of a metric, in its units, as one of the tag; of a size, which limits either sign,
    people read the upper end alone."""
    shown = [None if end is None else end / info.scale for end in (low, high)]
    if info.direction is Direction.DOWN and low and low == -(high or 0.0):
        shown[0] = None
    return Limit(level, *info.logged_limits(low, high), (shown[0], shown[1]), info.unit)


def is_pending(case: Evaluation, low: float | None, high: float | None) -> bool:
    """Whether the newest row is beyond a limit, of any level."""
    return is_outside(float(case.rows.x[-1]), low, high) or any(
        bool(s.beyond[-1]) for s in case.signals.values()
    )


def is_overruled(case: Evaluation, said: Judgement) -> bool:
    """Whether the user has a limit on the side of that of a rule. What a rule finds by the course
    of the values is something else."""
    own = case.info.own_range
    detector = case.variant.detector
    if not own or case.rule.id == OWN_RANGE or detector.rising or detector.reference:
        return False
    ends = case.info.logged_limits(own.get("low"), own.get("high"))
    return any(None not in pair for pair in zip(ends, (said.low, said.high), strict=True))


def is_outside(value: float, low: float | None = None, high: float | None = None) -> bool:
    """Whether a value is beyond one of its limits."""
    return (high is not None and value > high) or (low is not None and value < low)


def numbers(variant: Variant, level: Level, names: Set[str]) -> dict[str, float]:
    """Parameters of a level that have one of these names."""
    given = variant.levels[level]
    known = variant.detector.parameters
    values = {n: given.get(n, known[n].default) for n in known if n in names}
    return {name: float(value or 0.0) for name, value in values.items()}


def finite(value: float) -> float | None:
    """The value; None for NaN and infinity."""
    return float(value) if math.isfinite(value) else None


def _limits(case: Evaluation, level: Level) -> Limits:
    """(low, high) of a level at the newest row, in units of the metric."""
    signal = case.signals.get(level)
    return (None, None) if signal is None else ends_of(signal)


def ends_of(signal: Signal, row: int = -1) -> Limits:
    """(low, high) at a row, in units of the metric."""
    low = None if signal.low is None else finite(cell(signal.low, row))
    high = None if signal.high is None else finite(cell(signal.high, row))
    return low, high


def _beyond(watch: Limits, bad: Limits) -> Limits:
    """The bad limits that lie beyond those of ``watch``."""
    low, high = watch
    bad_low, bad_high = bad
    below = low is not None and bad_low is not None and bad_low < low
    above = high is not None and bad_high is not None and bad_high > high
    return bad_low if below else None, bad_high if above else None


def _values(case: Evaluation, level: Level, names: frozenset[str]) -> dict[str, float | None]:
    """The numbers of these names for a level, at the newest row."""
    signal = case.signals.get(level)
    low, high = _limits(case, level)
    has_limits = signal is not None and (signal.low is not None or signal.high is not None)
    if has_limits and low is None and high is None:
        return {}  # no limit at this row: a best below zero has no share
    facts = {} if signal is None else signal.facts
    values: dict[str, float | None] = {n: finite(facts[n][-1]) for n in names if n in facts}
    # a parameter of that name is what the words speak of: of a quotient, not of its dividend
    values |= {n: finite(x) for n, x in numbers(case.variant, level, names).items()}
    own = {"low": low, "high": high, "limit": high if high is not None else low}
    if "now" in names:
        own["now"] = float(case.rows.x[-1])
    return case.levels({**own, **values})


@lru_cache(maxsize=512)
def _names(template: str) -> frozenset[str]:
    return frozenset(part.name for part in parts_of(template) if not isinstance(part, str))


@lru_cache(maxsize=512)
def names_of(words: Words) -> frozenset[str]:
    """The numbers that the words of a rule about its limits name."""
    return _names(words.healthy) | _names(words.healthy_short)


def _if_known(template: str, values: Mapping[str, float | None]) -> str:
    """The template, or nothing when a number of it is missing."""
    return "" if any(values.get(name) is None for name in _names(template)) else template
