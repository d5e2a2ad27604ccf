"""What a run must be like: conditions in YAML, how far each is met, and a first file of them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np

from rltui.catalogue.model import Category, Metric, TagInfo, counterpart
from rltui.core.block import FloatArray
from rltui.core.level import Direction, Level
from rltui.core.text import clean
from rltui.core.yaml_document import Node, nearest, read_document
from rltui.core.yaml_record import Keyed, read_record
from rltui.facts.groups import folded_name
from rltui.facts.numbers import plain, step_range
from rltui.facts.runs import since_words
from rltui.facts.tolerance import Interval, expected
from rltui.session.run import RunView
from rltui.store import Series

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
#: ``reward.mean last 10 > 0.4``: what is measured, on which rows, and how it is compared.
_COMPARED = re.compile(
    r"(?:(?P<steps>steps)|(?:tag\s+(?P<tag>\S.*?)|(?P<metric>\S+))"
    r"(?=\s+(?:mean|median|max|min|best|slope|last|first|at)\s)"
    r"(?:\s+(?P<stat>mean|median|max|min|best|slope))?"
    r"(?:\s+(?P<end>last|first)(?:\s+(?P<count>\d+)\s*(?P<share>%)?)?|\s+at\s+(?P<step>\d+))?)"
    rf"\s+(?:(?P<sign><=|>=|==|<|>)\s*(?P<limit>{_NUMBER})"
    rf"|between\s+(?P<low>{_NUMBER})\s+and\s+(?P<high>{_NUMBER})"
    rf"|within\s+(?P<off>{_NUMBER})\s*(?P<percent>%)?\s+of\s+reference"
    r"|like\s+last\s+(?P<runs>\d+)\s+good\s+runs)"
)
_EXAMPLES = "such as 'reward.mean last 10 > 0.4', 'no bad' or 'state is finished'"
#: Words of :attr:`~rltui.session.run.Verdict.state_word` that a file may name.
_STATES = (
    "live", "stalled", "finished", "stopped", "crashed", "cancelled", "quiet", "ended",
)  # fmt: skip
_ONE_WAY = (Direction.UP, Direction.DOWN)
#: One run shows no spread.
_LEAST_RUNS = 2
#: What is learned of each metric: where it ends, and how it got there.
_LEARNED_ROWS = ("last 10 %", "mean")
#: Numbers that are equal to the last digit that logs write.
_SAME = 1e-6
#: What depends on the machine, or only counts on.
_NOT_LEARNED = frozenset(
    {
        Category.TIMING, Category.PERF, Category.SYSTEM, Category.BALANCE, Category.PROGRESS,
        Category.OTHER,
    }
)  # fmt: skip


class Known(NamedTuple):
    """The names that conditions may have."""

    metrics: Mapping[str, Metric]
    rules: Collection[str]


class Others(NamedTuple):
    """The runs that a run is compared with."""

    reference: RunView | None = None
    good: Sequence[RunView] = ()
    """Good runs, the newest first."""


class Outcome(NamedTuple):
    """How far a run meets a condition."""

    met: bool
    words: str
    """What is, in a sentence without a name of a run."""
    tag: str | None = None
    value: float | None = None
    allowed: Interval = Interval()
    steps: tuple[int, int] | None = None
    """First and last step of the rows that were measured."""


class Measured(NamedTuple):
    """One number of one tag of a run, in the unit of its metric."""

    value: float
    steps: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Condition:
    """One line of the file."""

    text: str
    line: int
    why: str = ""
    level: Level | None = None
    """Set for ``no bad`` and ``no watch``."""
    rule: str = ""
    """Set for ``no RULE``."""
    states: tuple[str, ...] = ()
    """Set for ``state is ...``."""
    parts: Mapping[str, str | None] = field(default_factory=dict)
    """What _COMPARED found; empty for the others."""
    siblings: int = 1
    """How many conditions of the file are compared with good runs."""

    @property
    def needs(self) -> str:
        """What it compares with: "reference", "good" runs, or nothing."""
        return "reference" if self.parts.get("off") else "good" if self.parts.get("runs") else ""

    def judge(self, run: RunView, others: Others) -> Outcome:
        """How far a run meets it."""
        if self.states:
            word = run.verdict.state_word
            return Outcome(word in self.states, f"the run is {word}")
        if self.level is not None or self.rule:
            return self._judge_verdict(run)
        if self.parts["steps"]:
            last = None if run.progress is None else run.progress.last_step
            if last is None:
                return Outcome(False, "the run has no row")
            return self._compared(float(last), self._fixed(), "the last step is ", None, None)
        tags = _tags(run, self.parts)
        if not tags:
            name = self.parts["metric"] or f"tag {clean(self.parts['tag'] or '')!r}"
            return Outcome(False, f"the run logs no {name}" if run.infos else "the run has no row")
        found = [self._judge_tag(run, tag, others) for tag in tags]
        return next((outcome for outcome in found if not outcome.met), found[0])

    def _judge_verdict(self, run: RunView) -> Outcome:
        if run.report is None and run.verdict.crash is None:
            return Outcome(False, "the run has no row, and no verdict")
        firing = [f for f in (run.report.firing() if run.report else ()) if self._means(f.rule)]
        if self.level is None:
            met = not firing
        else:
            firing = [f for f in firing if f.level >= self.level]
            met = run.verdict.level < self.level
        words = [f"{f.title} ({f.level.word} {since_words(run, f)})" for f in firing]
        if run.verdict.crash is not None and not met and self.level is not None:
            words.insert(0, f"{run.verdict.state_word}: {run.verdict.crash.reason}")
        return Outcome(met, "; ".join(words) or f"the verdict is {run.verdict.level.word}")

    def _means(self, rule: str) -> bool:
        return not self.rule or rule == self.rule or rule.startswith(f"{self.rule}.")

    def _judge_tag(self, run: RunView, tag: str, others: Others) -> Outcome:
        measured = measure(run, tag, self.parts)
        if isinstance(measured, str):
            return Outcome(False, f"{clean(tag)} {measured}", tag)
        allowed = self._allowed(run, tag, others)
        if isinstance(allowed, str):
            return Outcome(False, allowed, tag, measured.value, Interval(), measured.steps)
        return self._compared(measured.value, allowed, f"{clean(tag)} is ", tag, measured.steps)

    def _allowed(self, run: RunView, tag: str, others: Others) -> Interval | str:
        """The limits for a tag, or why there are none."""
        info, kind = run.infos[tag], self.needs
        if not kind:
            return self._fixed()
        chosen = others.good[: int(self.parts["runs"] or 0)] if kind == "good" else ()
        if kind == "reference":
            assert others.reference is not None
            chosen = (others.reference,)
        values = [m.value for other in chosen if (m := _counterpart(other, info, self.parts))]
        if kind == "reference":
            if not values:
                return f"the reference has no such {clean(tag)}"
            off = float(self.parts["off"] or 0)
            off *= abs(values[0]) / 100 if self.parts["percent"] else 1
            return Interval(values[0] - off, values[0] + off)
        if len(values) < _LEAST_RUNS:
            count = f"{len(values)} good runs of the same job have {clean(tag)}"
            return f"{count}, {_LEAST_RUNS} are needed"
        return expected(np.array(values), info.direction, self.siblings)

    def _fixed(self) -> Interval:
        """The limits that the condition itself has; ``<`` and ``>`` leave their limit out."""
        sign, low, high = (self.parts[x] for x in ("sign", "low", "high"))
        if sign is None:
            return Interval(float(low or 0), float(high or 0))
        limit = float(self.parts["limit"] or 0)
        if sign == "==":
            return Interval(limit - _SAME * abs(limit), limit + _SAME * abs(limit))
        beyond = {"<": math.nextafter(limit, -math.inf), ">": math.nextafter(limit, math.inf)}
        limit = beyond.get(sign, limit)
        return Interval(high=limit) if sign[0] == "<" else Interval(low=limit)

    def _compared(
        self,
        value: float,
        allowed: Interval,
        words: str,
        tag: str | None,
        steps: tuple[int, int] | None,
    ) -> Outcome:
        low, high = allowed
        words += plain(value)
        if steps is not None:
            words += f" ({step_range(*steps)})"
        if self.needs:
            ends = ("any" if low is None else plain(low), "any" if high is None else plain(high))
            words += f", allowed are {ends[0]} to {ends[1]}"
        return Outcome(value in allowed, words, tag, value, allowed, steps)


def _tags(run: RunView, parts: Mapping[str, str | None]) -> list[str]:
    """The tags of a run that a condition names: a metric may have several."""
    tag, metric = parts["tag"], parts["metric"]
    if tag is not None:
        return [tag] if tag in run.infos else []
    return run.tags_of_metrics((metric or "",))


def _counterpart(other: RunView, info: TagInfo, parts: Mapping[str, str | None]) -> Measured | None:
    """The same number of another run; None where it has none."""
    tag = counterpart(info, other.infos)
    found = None if tag is None else measure(other, tag, parts)
    return found if isinstance(found, Measured) else None


def measure(run: RunView, tag: str, parts: Mapping[str, str | None]) -> Measured | str:
    """The number that the parts of a condition say; a string says why there is none."""
    info, series = run.infos[tag], run.series(tag)
    rows = _rows(series, parts)
    if isinstance(rows, str):
        return rows
    steps = series.steps[rows]
    x = series.values[rows].astype(np.float64) * (info.sign * info.scale)
    wrong = int(np.count_nonzero(~np.isfinite(x)))
    if wrong:
        return f"has {wrong} of {len(x)} values that are not finite"
    stat = parts["stat"] or "mean"
    if stat == "best":
        if info.direction not in _ONE_WAY:
            return "is no metric that is best high or low: ask for max or min"
        stat = "max" if info.direction is Direction.UP else "min"
    if stat == "slope":
        at = steps.astype(np.float64) - float(steps.mean())
        if not at.any():
            return "has a single step, which has no slope"
        value = float(at @ (x - x.mean()) / (at @ at))
    else:
        value = float(getattr(np, stat)(x))
    return Measured(value, (int(steps[0]), int(steps[-1])))


def _rows(series: Series, parts: Mapping[str, str | None]) -> slice | str:
    """The rows that are meant; a string says why there are none."""
    total = series.count
    if not total:
        return "has no row"
    if parts["step"] is not None:
        step = int(parts["step"])
        if series.steps[-1] < step:
            return f"ends at step {series.steps[-1]}, before {step}"
        row = int(np.searchsorted(series.steps, step, side="right")) - 1
        return slice(row, row + 1) if row >= 0 else f"begins after step {step}"
    if parts["end"] is None:
        return slice(None)
    count = int(parts["count"] or 1)
    if parts["share"]:
        count = math.ceil(total * count / 100)
    if count > total:
        return f"has {total} rows, {count} are asked for"
    return slice(total - count, None) if parts["end"] == "last" else slice(count)


# -- the file ------------------------------------------------------------------------------


class _Line(NamedTuple):
    """A condition with the reason for it."""

    condition: Annotated[Node, Keyed(read=lambda node: node)]
    why: str = ""


def read_conditions(path: Path, known: Known) -> tuple[Condition, ...]:
    """The conditions of a file. Raises DocumentError."""
    table = read_document(path).table()
    listed = table.need("expect")
    table.finish()
    found = [_condition(node, known) for node in listed.items()]
    if not found:
        listed.fail("no condition: a gate that asks nothing is always open")
    siblings = sum(c.needs == "good" for c in found)
    return tuple(replace(c, siblings=siblings) for c in found)


def _condition(node: Node, known: Known) -> Condition:
    """A text, or a mapping with the text as ``condition`` and a ``why``."""
    if isinstance(node.value, dict):
        line = read_record(node, _Line)
        return replace(_condition(line.condition, known), why=line.why)
    text = " ".join(node.text().split())
    found = Condition(text, node.line)
    words = text.split(" ")
    if words[0] == "no" and len(words) == 2:
        if words[1] in ("bad", "watch"):
            return replace(found, level=Level[words[1].upper()])
        if words[1] not in known.rules:
            hint = nearest(words[1], ("bad", "watch", *known.rules))
            node.fail(f"{clean(words[1])!r} is no level and no rule", hint=hint)
        return replace(found, rule=words[1])
    if words[:2] == ["state", "is"] and words[2::2]:
        for word in words[2::2]:
            if word not in _STATES:
                message = f"unknown state {clean(word)!r}; one of {', '.join(_STATES)}"
                node.fail(message, hint=nearest(word, _STATES))
        if set(words[3::2]) <= {"or"}:
            return replace(found, states=tuple(words[2::2]))
    match = _COMPARED.fullmatch(text)
    if match is None:
        node.fail(f"{clean(text)!r} is no condition, {_EXAMPLES}")
    _check_parts(node, match.groupdict(), known)
    return replace(found, parts=match.groupdict())


def _check_parts(node: Node, parts: Mapping[str, str | None], known: Known) -> None:
    """Raise DocumentError for an unknown metric, and for numbers that have no meaning."""
    metric = known.metrics.get(parts["metric"] or "")
    if metric is None and parts["metric"] is not None:
        name = clean(parts["metric"])
        message = f"no metric {name!r} in the catalogue (a name of the log is written tag {name})"
        node.fail(message, hint=nearest(name, known.metrics))
    if metric is not None and parts["stat"] == "best" and metric.direction not in _ONE_WAY:
        node.fail(f"{metric.key} is no metric that is best high or low: ask for max or min")
    if parts["count"] is not None and not int(parts["count"]):
        node.fail("0 rows have no value")
    if parts["share"] and int(parts["count"] or 0) > 100:
        node.fail("more than 100 % of the rows")
    if parts["low"] and float(parts["low"]) > float(parts["high"] or 0):
        node.fail("low lies above high")
    if parts["off"] and float(parts["off"]) < 0:
        node.fail("a tolerance is not negative")
    if parts["runs"] and int(parts["runs"]) < _LEAST_RUNS:
        node.fail(f"{_LEAST_RUNS} good runs at least: one shows no spread")


# -- good runs -----------------------------------------------------------------------------


def why_not_good(run: RunView) -> str:
    """Why nothing is learned from a run; "" for a good one, which may be on watch."""
    verdict = run.verdict
    if verdict.crash is not None or verdict.state_word in ("live", "stalled", "waiting"):
        return verdict.state_word
    if not run.infos:
        return "no row"
    return "bad" if verdict.level is Level.BAD else ""


def job_of(run: RunView) -> tuple[str, str, str]:
    """What runs of one job share: framework, algorithm, and the name of their directory or file
    without seed and date."""
    known = run.recognition
    name = folded_name(clean(run.data.path.name))
    return (known.framework, known.algorithm or "", name) if known else ("", "", name)


class Learned(NamedTuple):
    """A condition that good runs met, and what they had."""

    condition: str
    note: str


def learned(runs: Sequence[RunView]) -> list[Learned]:
    """Conditions that the next good run of the job of these good runs will meet, see
    :func:`rltui.facts.tolerance.expected`. ``runs``: two or more."""
    found = [*_common_numbers(runs)]
    steps = np.array([(r.progress and r.progress.last_step) or 0 for r in runs], np.float64)
    least = steps.min()
    if least < steps.max():  # the time ends them, say
        least = max(0.0, expected(steps, Direction.UP, len(found) + 1).low or 0.0)
    conditions = [
        Learned("no bad", ""),
        Learned(f"steps >= {math.floor(least)}", _span(steps.tolist())),
    ]
    for name, info, values in found:
        if info.category is Category.HYPER:
            words = f"== {values[0]:.9g}"
        else:
            low, high = expected(values, info.direction, len(found) + 1)
            ends = _outward(low, math.floor), _outward(high, math.ceil)
            words = f">= {ends[0]}" if high is None else f"<= {ends[1]}"
            words = f"between {ends[0]} and {ends[1]}" if None not in (low, high) else words
        conditions.append(Learned(f"{name} {words}", _span(values.tolist())))
    return conditions


def _common_numbers(runs: Sequence[RunView]) -> Iterator[tuple[str, TagInfo, FloatArray]]:
    """What is measured, and its value (n,) in each run, of all metrics that all of them have.

    Left out is what says nothing of the next run: settings in which they differ, numbers most of
    which are equal, values that are not finite."""
    first = runs[0]
    keys = Counter(info.metric.key for info in first.infos.values() if info.metric is not None)
    for tag, info in first.infos.items():
        if info.metric is None or info.guessed or info.category in _NOT_LEARNED:
            continue
        if not all(tag in r.infos and r.infos[tag].metric == info.metric for r in runs):
            continue
        name = info.metric.key if keys[info.metric.key] == 1 else f"tag {tag}"
        if not name.isprintable():
            continue
        for rows in _LEARNED_ROWS:
            match = _COMPARED.fullmatch(f"{name} {rows} > 0")
            parts = {} if match is None else match.groupdict()
            found = [measure(r, tag, parts) for r in runs] if parts else []
            values = np.array([m.value for m in found if isinstance(m, Measured)])
            if len(values) < len(runs):
                continue
            _, counts = np.unique(values, return_counts=True)
            is_setting = info.category is Category.HYPER
            if len(counts) == 1 and values[0] if is_setting else 2 * counts.max() <= len(runs):
                yield f"{name} {rows}", info, values


def _span(values: Sequence[float]) -> str:
    """What the good runs had."""
    low, high = min(values), max(values)
    return f"{plain(low)} to {plain(high)}" if high > low else plain(low)


def _outward(x: float | None, to_whole: Callable[[float], int]) -> str:
    """A limit to four digits, rounded away from what is allowed."""
    if not x:
        return "0"
    digits = 3 - math.floor(math.log10(abs(x)))
    return f"{to_whole(x * 10.0**digits) / 10.0**digits:.4g}"
