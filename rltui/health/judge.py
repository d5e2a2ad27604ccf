"""One variant of a rule on one tag: signals, episodes, findings, badge."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from rltui.catalogue.model import TagInfo
from rltui.core.block import FloatArray
from rltui.core.level import Level
from rltui.health.columns import Columns, judged_rows
from rltui.health.detectors.signal import CALM, FAINT, FAR, Rows, Signal, cell
from rltui.health.detectors.signal import CERTAIN as LIMITS
from rltui.health.judgement import (
    Evaluation,
    ends_of,
    finite,
    is_outside,
    is_overruled,
    is_pending,
    judgement,
    names_of,
    numbers,
)
from rltui.health.model import Evidence, Finding, FindingState, Judgement, Numbers, Side
from rltui.health.rule import OWN_RANGE, Rule, Variant
from rltui.store.series import Series

#: So many of the longest episodes of one tag, and of the newest, become findings; the report lists
#: even fewer.
_MOST_SPANS = 20
#: Evidence that makes a level certain; and as a share of the rows so far: an episode that is short
#: beside the run is none.
CERTAIN = dict(zip((Level.WATCH, Level.BAD), LIMITS, strict=True))
SHARE = {Level.WATCH: 0.03, Level.BAD: 0.05}
#: What rounding may take from a sum of evidence.
_ROUNDING = 1e-6


class Span(NamedTuple):
    """Rows of one episode, as indices."""

    first: int
    """First row beyond the limit."""
    sure: int
    """Row at which the evidence sufficed, and the rule fired."""
    last: int
    """Last row beyond the limit."""
    open: bool
    """Not over: the rows inside since do not outweigh those beyond."""
    worth: float = math.inf
    """The most evidence that its rows added up to."""

    @property
    def rows(self) -> int:
        """Rows from the first to the last."""
        return self.last - self.first + 1


def spans(
    weight: FloatArray, certainty: float, share: float = 0.0, *, single: bool = False
) -> list[Span]:
    """Episodes in the rows so far, oldest first.

    Page's cumulative sum of ``weight`` (n,), which is positive where a row is beyond the limit: an
    episode is certain at the row at which the sum reaches ``certainty`` and ``share`` of the rows
    so far, began where it left zero, and is over when it is back there. Once certain, rows inside
    take away little: what is sick has such rows, too. But as the sum never exceeds twice what is
    certain, what has lasted long ends no later than what has just begun to last. Where a ``single``
    row speaks for itself, it never exceeds what is certain, and each row counts in full.
    """
    most, calm = (1.0, 1.0) if single else (2.0, FAINT)
    if not (weight > 0).any():
        return []
    need = np.maximum(certainty, share * np.arange(1, len(weight) + 1)) - _ROUNDING
    edges = np.flatnonzero(np.diff(weight > 0)) + 1
    bounds = np.concatenate([[0], edges, [len(weight)]])
    total = np.concatenate([[0.0], np.cumsum(np.maximum(weight, -most / calm * need[-1]))])
    reached = total[bounds]
    # what a sum rises to that has no upper end; where that is too little, nothing gets certain
    rises = reached - np.minimum.accumulate(reached)
    may = np.flatnonzero(rises[1:] >= need[bounds[:-1]] - _ROUNDING)
    newest = max(may.tolist(), default=-1)
    sums = reached.tolist()
    needs = need[bounds - 1].tolist()
    out: list[Span] = []
    level = 0.0
    first = 0
    sure = -1
    last = -1
    worth = 0.0
    for at, (begin, end) in enumerate(pairwise(bounds.tolist())):
        if level <= 0.0 and at > newest:
            break
        gain = sums[at + 1] - sums[at]
        if gain > 0.0:
            if level <= 0.0:
                first = begin
                sure = -1
                worth = 0.0
            if sure < 0 and level + gain >= need[begin]:
                enough = level + total[begin + 1 : end + 1] - total[begin] >= need[begin:end]
                sure = begin + int(np.argmax(enough)) if enough.any() else -1
            worth = max(worth, level + gain)
            last = end - 1
            level = min(level + gain, most * needs[at + 1])
        elif level > 0.0:
            level += gain * (calm if sure >= 0 else 1.0)
            if level <= _ROUNDING:
                if sure >= 0:
                    out.append(Span(first, sure, last, False, worth))
                level = 0.0
    if level > 0.0 and sure >= 0:
        out.append(Span(first, sure, last, True, worth))
    return out


def episodes(signals: Mapping[Level, Signal]) -> tuple[list[Span], list[Span]]:
    """Episodes by the answers for each level: those of either level, and those of BAD alone."""
    beyond = {level: signal for level, signal in signals.items() if signal.beyond.any()}
    bad = beyond.get(Level.BAD)
    watch = signals.get(Level.WATCH)
    bad_spans = _spans_of(Level.BAD, [bad]) if bad else []
    if watch is None or not beyond:
        return bad_spans, bad_spans
    return _spans_of(Level.WATCH, [watch, bad] if bad else [watch]), bad_spans


def _spans_of(level: Level, both: list[Signal]) -> list[Span]:
    """Episodes by the answer for a level, and by that for a worse one where that is beyond."""
    if all(one.certain and one.evidence is None for one in both):
        # the rows beyond, as they are
        edges = np.diff(np.logical_or.reduce([one.beyond for one in both]), prepend=0, append=0)
        pairs = np.flatnonzero(edges).reshape(-1, 2).tolist()
        return [Span(a, a, b - 1, b == len(edges) - 1) for a, b in pairs]
    signal, *worse = both
    weight = _weight(signal)
    for one in worse:
        weight = np.where(one.beyond, np.maximum(weight, _weight(one)), weight)
    single = signal.certain or signal.event
    share = 0.0 if single else SHARE[level]
    return spans(weight, CERTAIN[level], share, single=single)


def _weight(signal: Signal) -> FloatArray:
    """Worth of each row as evidence: one, and up to one more the farther its statistic is beyond
    the limit, in powers of two; minus that inside."""
    if signal.evidence is not None:
        return signal.evidence()
    if signal.certain:
        return np.where(signal.beyond, 2.0, -2.0) * CERTAIN[Level.BAD]
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.abs(np.log2(np.abs(signal.statistic) / np.abs(signal.threshold)))
    far = np.minimum(np.nan_to_num(far), FAR[signal.event])
    inside = CALM if signal.event else 1.0 + far
    worth: FloatArray = np.where(signal.beyond, 1.0 + far, -inside)
    return worth


class Outcome(NamedTuple):
    """The answer of a variant for a tag."""

    judged: bool
    """Whether there were enough rows."""
    findings: tuple[Finding, ...]
    """Firing and resolved episodes, oldest first."""
    judgement: Judgement
    calm: tuple[float, float, float] | None = None
    """Values of the metric between which rows may follow that change nothing, and what they are of
    those logged; None where unknown."""

    @property
    def is_quiet(self) -> bool:
        """Nothing was ever found, nor is the newest row beyond a limit."""
        judged = self.judgement
        return not (self.findings or judged.pending or judged.level > Level.OK)


#: The answer of a variant that found nothing and gives no badge.
QUIET = Outcome(True, (), Judgement(Level.OK))
_UNJUDGED = Outcome(False, (), Judgement(Level.UNKNOWN))


def judge(
    rule: Rule,
    variant: Variant,
    info: TagInfo,
    series: Series,
    others: Mapping[str, tuple[Series, TagInfo]],
    columns: Columns | None = None,
    given: Mapping[str, FloatArray] | None = None,
    hidden: float = 0.0,
    again: bool = True,
) -> Outcome:
    """Judge all rows of ``series``; ``again``: what may follow is worth knowing, for it grows.

    ``others`` maps roles of the detector to further series of the run, ``given`` to numbers (n,)
    of each row; ``hidden`` is what a zero may be at most, as logged. ``columns`` keeps what several
    variants need of the same tags; it must not outlive the rows.
    """
    if info.guessed and variant.detector.finite_is_quiet:  # NaN is bad whatever it means
        info = replace(info, guessed=False)
    elif info.guessed and Level.WATCH in variant.levels:
        variant = variant._replace(levels={Level.WATCH: variant.levels[Level.WATCH]})
    if rule.id == OWN_RANGE:
        own = {level: {**p, **info.own_range} for level, p in variant.levels.items()}
        variant = variant._replace(levels=own, title=f"{info.title} {variant.title}")
    rows, walls = judged_rows(
        variant, info, series, others, {} if columns is None else columns, hidden
    )
    count = rows.count
    if given:
        keep = slice(None) if count == series.count else np.isfinite(series.values)
        rows = replace(rows, others={**rows.others, **{k: v[keep] for k, v in given.items()}})
    if not count:
        return _UNJUDGED
    signals = _signals(variant, rows)
    if not signals:
        return QUIET
    if all(signal.silent for signal in signals.values()):
        return _UNJUDGED
    is_past = not math.isfinite(series.values[-1])
    case = Evaluation(rule, variant, info, rows, walls, signals, is_past)
    all_spans, bad_spans = found_in(signals)
    # of thousands in a long, noisy run
    longest = sorted(all_spans, key=lambda s: -s.rows)[:_MOST_SPANS]
    listed = sorted({*longest, *all_spans[-_MOST_SPANS:]})
    findings = tuple(_finding(case, span, bad_spans, listed) for span in listed)
    level = findings[-1].level if findings and findings[-1].fires else Level.OK
    said = Outcome(True, findings, judgement(case, level))
    return heeding(case, said._replace(calm=room_of(case)) if again and said.is_quiet else said)


def room_of(case: Evaluation) -> tuple[float, float, float] | None:
    """The :attr:`Outcome.calm` of an answer that is quiet."""
    signals = case.signals.values()
    calm = [tuple(cell(end, -1) for end in s.calm) for s in signals if s.calm]
    moving = names_of(case.variant.words) & {"now", *case.variant.detector.facts}
    moving -= case.variant.detector.parameters.keys()
    if moving or case.rows.made or case.info.own_range or len(calm) < len(signals):
        return None
    lows, highs = np.array([*map(ends_of, signals), *calm], np.float64).T
    low = float(np.fmax.reduce(lows))
    high = float(np.fmin.reduce(highs))
    return (low, high, case.info.factor) if low < case.rows.x[-1] < high else None


def heeding(case: Evaluation, said: Outcome) -> Outcome:
    """The answer of a rule where the user has a limit on the same side: nothing inside that, and
    outside no limit of its own."""
    if not is_overruled(case, said.judgement):
        return said
    is_beyond = is_outside(float(case.rows.x[-1]), **case.info.own_range)
    return said._replace(judgement=replace(said.judgement, limits=())) if is_beyond else QUIET


def _signals(variant: Variant, rows: Rows) -> dict[Level, Signal]:
    """The answers of the detector for each level; without those that can find nothing, where no
    limit is shown."""
    detector = variant.detector
    return {
        level: detector.run(rows, **parameters)
        for level, parameters in sorted(variant.levels.items())
        if variant.badge_ok or detector.may_find(rows, parameters)
    }


def found_in(signals: Mapping[Level, Signal]) -> tuple[list[Span], list[Span]]:
    """Filter :func:`episodes`: without those of either level that are over and were none. What rose
    later did rise, and what scatters about its own usual value was there by chance if it is short
    beside the run."""
    found, bad = episodes(signals)
    scatter = [s for s in signals.values() if s.evidence and not (s.certain or s.event)]
    least = SHARE[Level.WATCH] * max((len(s.beyond) for s in scatter), default=0)
    kept = [s for s in found if s.open or (s.worth >= least and not is_forgotten(signals, s, bad))]
    return kept, bad


def is_forgotten(signals: Mapping[Level, Signal], span: Span, bad_spans: list[Span]) -> bool:
    """Whether an episode that is over was none."""
    at = bisect_left(bad_spans, span.first, key=lambda s: s.last)
    bad = [s for s in bad_spans[at : at + 1] if s.first <= span.last]
    signal = signals[Level.BAD if bad or Level.WATCH not in signals else Level.WATCH]
    return bool(cell(signal.forgotten, (bad or [span])[0].sure))


def _finding(case: Evaluation, span: Span, bad_spans: list[Span], all_spans: list[Span]) -> Finding:
    inside = [s for s in bad_spans if s.first <= span.last and s.last >= span.first]
    worst = Level.BAD if inside else Level.WATCH
    level = worst
    if span.open and inside and not inside[-1].open:
        level = Level.WATCH
    signal, row = _row(case, span, level)
    begin = _begin(case, span, all_spans, signal, row)
    evidence = _evidence(case, signal, span, row, begin, worst)
    wall = float(case.walls[begin])

    return Finding(
        rule=case.rule.id,
        title=case.variant.title,
        level=level,
        state=FindingState.FIRING if span.open else FindingState.RESOLVED,
        metric=case.info.key or None,
        tag=case.info.tag,
        since_step=None if signal.whole else int(case.rows.steps[begin]),
        certain_step=int(case.rows.steps[span.sure]),
        since_wall_time=wall if math.isfinite(wall) else None,
        until_step=None if span.open else int(case.rows.steps[span.last]),
        evidence=evidence,
        words=case.variant.words,
        advice=case.variant.advice,
    )


def _begin(case: Evaluation, span: Span, all_spans: list[Span], signal: Signal, row: int) -> int:
    """The row at which an episode began, ``row`` at the latest: by the earliest onset of any level
    that is beyond, but, where rows add up, not within an earlier episode."""
    signals = [s for s in case.signals.values() if s.beyond[span.first]]
    onsets = [int(cell(s.onset, span.first)) for s in signals if s.onset is not None]
    begin = min(row, *(onsets or [span.first]))
    if signal.certain:
        return begin
    return max([begin, *(s.last + 1 for s in all_spans if s.last < span.first)])


def _row(case: Evaluation, span: Span, level: Level) -> tuple[Signal, int]:
    """The row that a finding takes its numbers from, and its signal.

    While the finding fires, the newest row beyond the limits of ``level``; afterwards the one whose
    statistic is farthest beyond its own threshold, the first of several.
    """
    signals = [case.signals[at] for at in (level, *reversed(Level)) if at in case.signals]
    for signal in signals:
        beyond = signal.beyond if signal.held is None else signal.beyond & ~signal.held
        rows = span.first + np.flatnonzero(beyond[span.first : span.last + 1])
        if not len(rows):
            continue
        if span.open and not signal.peaked:
            return signal, int(rows[-1])
        value = signal.statistic[rows]
        threshold = cell(signal.threshold, rows)
        with np.errstate(invalid="ignore", divide="ignore"):  # relative to the threshold
            excess = np.abs(value - threshold) / np.maximum(np.abs(threshold), 1e-12)
        known = np.where(np.isfinite(excess), excess, -np.inf)
        return signal, int(rows[known.argmax()])
    return signals[0], span.last


def _upwards(signal: Signal, row: int, x: float) -> bool:
    """Whether this row, of value ``x``, is too high rather than too low."""
    low, high = ends_of(signal, row)
    if high is None:
        return False
    if low is None:
        return True
    threshold = cell(signal.threshold, row)
    if threshold in (low, high):
        return bool(signal.statistic[row] >= threshold)
    return bool(x - low >= high - x)  # the statistic is a distance


@np.errstate(all="ignore")
def _evidence(
    case: Evaluation, signal: Signal, span: Span, row: int, begin: int, worst: Level
) -> Evidence:
    x = case.rows.x
    steps = case.rows.steps
    low, high = ends_of(signal, row)
    value = finite(signal.statistic[row])
    threshold = finite(cell(signal.threshold, row))
    up = _upwards(signal, row, x[row])
    # limits of one size, above and below zero
    either = high is not None and low == -high
    side = Side.HIGH if up != case.upside_down or signal.low is None else Side.LOW
    peak = row
    if not signal.peaked:  # the most extreme value, in the direction that is wrong
        part = x[begin : span.last + 1]
        wrong = (np.abs(part) if either else part) if up else -part
        peak = begin + int(wrong.argmax())
    last = len(x) - 1
    limit = high if up else low
    row_numbers: Numbers = {
        "value": value,
        "threshold": threshold,
        "limit": limit,
        "now": float(x[row]),
        "first": float(x[begin]),
        "before": float(x[max(0, begin - 1)]),
        "peak": float(x[peak]),
        "after": float(x[row]),
        "average": math.nan if either else float(x[begin : span.last + 1].mean()),
        "rows": span.rows + span.first - begin,
        "since": int(steps[begin]),
        "until": int(steps[span.last]),
        "at": int(steps[peak]),
        "step": int(steps[row]),
        "tag": case.info.tag,
        "name": case.info.title,
        **({"guessed": True} if case.info.guessed else {}),
        **(
            _average(signal, x[begin : span.last + 1], limit, up)
            if span.open and not either
            else {}
        ),
    }

    return Evidence(
        statistic=signal.name,
        value=value,
        threshold=threshold,
        step_first=int(steps[max(0, row - signal.window + 1)]),
        step_last=int(steps[row]),
        facts=case.levels(_facts(case, signal, row, row_numbers)),
        row=case.levels(row_numbers),
        side=Side.BOTH if either else side,
        newest=row == last and span.open and not case.is_past,
        is_past=case.is_past,
        has_before=begin > 0,
        latest=case.level(float(x[-1])) if span.open and peak < last else None,
        notes=tuple(template for flags, template in signal.notes if flags[row]),
        worst=worst,
        again=not span.open and is_pending(case, *ends_of(signal)),
    )


def _average(signal: Signal, x: FloatArray, limit: float | None, up: bool) -> Numbers:
    """The average of rows that are on and off: of those that it lies inside the limit of."""
    if limit is None or signal.event or signal.certain:
        return {}
    average = float(np.mean(x))
    return {"average": average} if (average < limit if up else average > limit) else {}


def _facts(case: Evaluation, signal: Signal, row: int, known: Mapping[str, object]) -> Numbers:
    """Thresholds of both levels, facts and parameters of the detector, at one row."""
    facts: Numbers = {}
    for level in (Level.WATCH, Level.BAD):
        own = case.signals.get(level)
        facts[level.word] = finite(cell(own.threshold, row)) if own else None
    for name, fact in signal.facts.items():
        facts[name] = finite(fact[row])
    level = next(level for level, own in case.signals.items() if own is signal)
    given = numbers(case.variant, level, case.variant.detector.parameters.keys())
    return facts | {k: v for k, v in given.items() if k not in facts and k not in known}
