"""Gate: the conditions of a file, whether a run meets them, and a first file."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rltui.catalogue.model import Category, Metric, TagInfo, counterpart
from rltui.config import Config
from rltui.core.batch import RunKey
from rltui.core.block import FloatArray
from rltui.core.errors import RltuiError
from rltui.core.level import Direction, Level, similar
from rltui.core.text import clean, kept_clean
from rltui.core.yaml_document import Node, nearest, read_document
from rltui.facts.groups import folded_name
from rltui.facts.numbers import plain, step_range
from rltui.facts.prediction import ONE_WAY, Interval, expected
from rltui.facts.runs import exit_words, since_words
from rltui.health.configured import open_catalogue, open_rules
from rltui.health.model import Finding
from rltui.session.run import JudgedRun

_NUMBER = r"(?:\d{1,400}\.?\d{0,400}|\.\d{1,400})(?:[eE][-+]?\d{1,9})?"
_STAT = r"mean|median|max|min|best|slope"
#: ``reward.mean last 10 > 0.4``: what is measured, in which rows, and how it is compared.
_CONDITION = re.compile(
    r"(?:no\s+(?P<no>\S+)|state\s+is\s+(?P<states>\w+(?:\s+or\s+\w+)*)"
    r"|(?:(?P<steps>steps)|(?:tag\s+(?P<tag>\S.*?)|(?P<metric>\S+))(?=\s)"
    rf"(?P<rows>(?:\s+(?P<stat>{_STAT}))?"
    r"(?:\s+(?P<end>last|first)(?:\s+(?P<count>\d{1,9})\s*(?P<share>%)?)?"
    r"|\s+at\s+(?P<step>\d{1,18}))?))"
    rf"(?P<limits>\s+(?:(?P<sign><=|>=|==|<|>)\s*(?P<limit>[-+]?{_NUMBER})"
    rf"|between\s+(?P<low>[-+]?{_NUMBER})\s+and\s+(?P<high>[-+]?{_NUMBER})"
    rf"|within\s+(?P<off>{_NUMBER})\s*(?P<percent>%)?\s+of\s+reference"
    r"|like\s+last\s+(?P<runs>\d{1,9})\s+good\s+runs))?)"
    r"(?P<if_logged>\s+if\s+logged)?",
    re.ASCII,
)
_EXAMPLES = "such as 'reward.mean last 10 > 0.4', 'no bad' or 'state is finished'"
_LEVELS = {"bad": Level.BAD, "watch": Level.WATCH}
_STATES = ("live", "waiting", "stalled", "finished", "stopped", "crashed", "cancelled")
#: Former words for states.
_FORMER = {"silent": "stalled", "ended": "stopped"}
#: What is learned of each metric: where it ends, and how it got there.
_LEARNED_ROWS = ("last 10 %", "mean")
#: Depends on the machine, or only counts on.
_NOT_LEARNED = {Category.TIMING, Category.PERF, Category.SYSTEM, Category.BALANCE}
_NOT_LEARNED |= {Category.PROGRESS, Category.OTHER}
#: Numbers are equal to this share: to the last digit that logs write.
_SAME = 1e-6
#: How like a name must be that a run logs instead: more than by its first part alone.
_NEAR = 0.8

Parts = Mapping[str, str | None]


class Known(NamedTuple):
    """The names that conditions may have."""

    metrics: Mapping[str, Metric]
    rules: Collection[str]

    @classmethod
    def of(cls, config: Config) -> Known:
        """Build from the catalogue and the rules, the user's own among them."""
        catalogue = open_catalogue(config)
        return cls(catalogue.metrics, {rule.id for rule in open_rules(config, catalogue)})


class Condition(NamedTuple):
    """One line of the file."""

    text: str
    line: int
    parts: Parts
    """Parts of the line, by the groups of ``_CONDITION``."""


class Others(NamedTuple):
    """The runs that a run is compared with."""

    reference: JudgedRun | None = None
    good: Sequence[JudgedRun] = ()
    """Good runs of the same job, the newest first."""
    conditions: int = 1
    """How many conditions compare with them."""


class Outcome(NamedTuple):
    """How far a run meets a condition."""

    met: bool
    words: str
    """Result in a sentence that does not name the run."""
    tag: str | None = None
    value: float | None = None
    """In the unit of the metric, as ``low`` and ``high``: the limits, None for open ends."""
    low: float | None = None
    high: float | None = None
    first_step: int | None = None
    last_step: int | None = None
    skipped: bool = False
    """Whether it was not asked: the run does not log what the condition is about."""


class NotMeasuredError(RltuiError):
    """A run does not have what a condition asks for; says so in a sentence."""


class NotLoggedError(NotMeasuredError):
    """A run has nothing of the kind: no such metric, or it is not what a rule is for."""


def read_conditions(path: Path, known: Known) -> tuple[Condition, ...]:
    """The conditions of a file. Raises DocumentError."""
    table = read_document(path).table()
    listed = table.need("expect")
    table.finish()
    if not listed.items():
        listed.fail("no condition: a gate needs at least one")
    return tuple(listed.each(lambda node: read_condition(node, known)))


def read_condition(node: Node, known: Known) -> Condition:
    """One condition, a text. Raises DocumentError."""
    text = " ".join(node.text().split())
    match = _CONDITION.fullmatch(text)
    if match is None:
        node.fail(f"{clean(text)!r} is no condition, {_EXAMPLES}")
    parts = match.groupdict()
    words = (*_LEVELS, *known.rules)
    states = (parts["states"] or "").split()[::2]
    if parts["no"] and parts["no"] not in words:
        hint = nearest(parts["no"], words)
        node.complain(f"{clean(parts['no'])!r} is no level and no rule", hint=hint)
    for word in states:
        if word not in (*_STATES, *_FORMER):
            hint = nearest(word, _STATES)
            node.complain(f"unknown state {word!r}; one of {', '.join(_STATES)}", hint=hint)
    if parts["metric"] and parts["metric"] not in known.metrics:
        name = clean(parts["metric"])
        mean = f"{name}.mean"
        close = [m for w in (name, mean) for m in similar(w, known.metrics, most=1, cutoff=_NEAR)]
        longer = (m for m in known.metrics if m.startswith(f"{name}."))
        hint = next((m for m in (mean, *longer, *close) if m in known.metrics), None)
        node.complain(f"no metric {name!r} (a tag of the log is written 'tag {name}')", hint=hint)
    if parts["if_logged"] and (states or parts["steps"] or parts["no"] in _LEVELS):
        node.fail("'if logged' goes with a metric, a tag or a rule: every run has this")
    _check_numbers(node, parts)
    return Condition(text, node.line, parts)


def _check_numbers(node: Node, parts: Parts) -> None:
    if parts["metric"] or parts["tag"]:
        if not parts["rows"]:
            node.complain("rows missing: add 'last 10', 'max' or 'at 100' after the name")
        if not parts["limits"]:
            node.complain("limit missing: add '> 0.4' or 'between 0 and 1' at the end")
    if parts["count"] and not int(parts["count"]):
        node.fail("0 rows have no value")
    if parts["steps"] and parts["sign"] is parts["low"]:  # both None
        node.fail("steps are compared with numbers only")
    ends = [end for name in ("limit", "low", "high", "off") if (end := parts[name])]
    if wrong := [end for end in ends if not math.isfinite(float(end))]:
        node.fail(f"{wrong[0]} is too large a number")
    if parts["low"] and float(parts["low"]) > float(parts["high"] or 0):
        low, high = ends
        node.fail(f"no number is between {low} and {high}: write 'between {high} and {low}'")


# -- judging -------------------------------------------------------------------------------


def judge(condition: Condition, run: JudgedRun, others: Others) -> Outcome:
    """Whether a run meets a condition; every tag of its metric must."""
    parts = condition.parts
    try:
        if not (run.infos or run.verdict.crash):
            raise NotMeasuredError("the run has no row")
        if parts["states"]:
            word = run.verdict.state_word
            asked = parts["states"].split()
            meant = {_FORMER.get(state, state) for state in asked}
            met = word in meant or (word == "waiting" and "live" in meant)
            return Outcome(met, f"the run is {word}")
        if parts["no"] in _LEVELS:
            level = _LEVELS[parts["no"]]
            said = _findings(run, lambda f: f.level >= level)
            if run.verdict.crash is not None:
                said.insert(0, exit_words(run.verdict.crash))
            words = "; ".join(said) or f"the verdict is {run.verdict.level.word}"
            return Outcome(run.verdict.level < level, words)
        if parts["no"]:
            rule = parts["no"]
            report = run.report
            said = _findings(run, lambda f: rule in (f.rule, f.rule.partition(".")[0]))
            if report is None or not (said or rule in report.judged):
                raise _unjudged(rule, run)
            return Outcome(not said, "; ".join(said) or "it finds nothing")
        if parts["steps"]:
            last = _last_step(run)
            low, high = _fixed(parts) or (None, None)
            words = f"the last step is {last}"
            return Outcome(_inside(last, low, high), words, None, last, low, high)
        found = [_compared(parts, run, tag, others) for tag in _tags(run, parts)]
        return min(found, key=lambda outcome: outcome.met)
    except NotMeasuredError as why:
        skipped = bool(parts["if_logged"]) and isinstance(why, NotLoggedError)
        return Outcome(skipped, str(why), skipped=skipped)


def _unjudged(rule: str, run: JudgedRun) -> NotMeasuredError:
    """Why a rule could not judge a run."""
    skipped = run.report.skipped if run.report else ()
    known = run.recognition
    if lacks := [metric for s in skipped if s.rule == rule for metric in s.missing]:
        return NotLoggedError(f"{rule} cannot judge: {', '.join(lacks)} missing")
    variants = [v for r in run.rules if r.id == rule for v in r.variants]
    if known and not any(v.when.run_fits(known) for v in variants):
        return NotLoggedError(f"{rule} is not for such a run")
    return NotMeasuredError(f"{rule} cannot judge: rows missing")


def _findings(run: JudgedRun, wanted: Callable[[Finding], bool]) -> list[str]:
    """ "entropy collapse (bad since 31)", for each finding that holds."""
    firing = run.firing()
    return [f"{f.title} ({f.level.word} {since_words(run, f)})" for f in firing if wanted(f)]


def _tags(run: JudgedRun, parts: Parts) -> Sequence[str]:
    """The tags of a run that a condition names: a metric may have several."""
    tag = parts["tag"]
    metric = parts["metric"] or ""
    found = run.tags_of_metrics((metric,)) if tag is None else [tag] * (tag in run.infos)
    if not found:
        keys = {info.key for info in run.infos.values() if info.key}
        near = similar(tag or metric, keys if tag is None else run.infos, most=1, cutoff=_NEAR)
        like = f"; it logs {clean(near[0])}" if near else ""
        name = metric if tag is None else f"tag {clean(tag)!r}"
        raise NotLoggedError(f"the run logs no {name}{like}")
    return found


def _compared(parts: Parts, run: JudgedRun, tag: str, others: Others) -> Outcome:
    value, first, last = measured(run, tag, parts)
    low, high = _fixed(parts) or _from_others(parts, run.infos[tag], others)
    words = f"{clean(tag)} is {plain(value)} ({step_range(first, last)})"
    if parts["runs"] or parts["off"]:
        ends = ("any" if end is None else plain(end) for end in (low, high))
        words += f", allowed: {' to '.join(ends)}"
    return Outcome(_inside(value, low, high), words, tag, value, low, high, first, last)


def _fixed(parts: Parts) -> Interval | None:
    """The limits that a condition itself has; ``<`` and ``>`` leave out theirs."""
    sign = parts["sign"]
    limit = float(parts["limit"] or 0)
    if parts["low"] is not None:
        return float(parts["low"]), float(parts["high"] or 0)
    if sign == "==":
        return limit - _SAME * abs(limit), limit + _SAME * abs(limit)
    if sign in ("<", "<="):
        return None, limit if sign == "<=" else math.nextafter(limit, -math.inf)
    return (limit if sign == ">=" else math.nextafter(limit, math.inf), None) if sign else None


def _from_others(parts: Parts, info: TagInfo, others: Others) -> Interval:
    """The limits for a tag by the reference, or by good runs."""
    if parts["runs"]:
        values = np.array([*_values_of(others.good[: int(parts["runs"])], info, parts)])
        if len(values) < 2:
            count = "1 good run of this job has" if len(values) else "no good run of this job has"
            raise NotMeasuredError(f"{count} {clean(info.tag)}, 2 are needed")
        return expected(values, info.direction, others.conditions)
    reference = [] if others.reference is None else [others.reference]
    for value in _values_of(reference, info, parts):
        off = float(parts["off"] or 0) * (abs(value) / 100 if parts["percent"] else 1)
        return value - off, value + off
    raise NotMeasuredError(f"the reference has no such {clean(info.tag)}")


def _inside(x: float, low: float | None, high: float | None) -> bool:
    return (low is None or x >= low) and (high is None or x <= high)


def _values_of(runs: Iterable[JudgedRun], info: TagInfo, parts: Parts) -> Iterator[float]:
    """Yield one number of each of the other runs that have it."""
    for run in runs:
        tag = counterpart(info, run.infos)
        with suppress(NotMeasuredError):
            if tag is not None:
                yield measured(run, tag, parts)[0]


def measured(run: JudgedRun, tag: str, parts: Parts) -> tuple[float, int, int]:
    """The number that a condition asks for, in the unit of the metric, and the first and last step
    of its rows. Raises NotMeasuredError."""
    info, series, name = run.infos[tag], run.series(tag), clean(tag)
    rows = _rows(series.steps, parts, name)
    steps = series.steps[rows]
    values = series.values[rows]
    x = values.astype(np.float64) * info.factor
    wrong = int(np.count_nonzero(~np.isfinite(x)))
    if wrong:
        raise NotMeasuredError(f"{name} has {wrong} of {len(x)} values that are not finite")
    stat = parts["stat"] or "mean"
    if stat == "best":
        if info.direction not in ONE_WAY:
            raise NotMeasuredError(f"{name} has no better and worse: ask for max or min")
        stat = "max" if info.direction is Direction.UP else "min"
    with np.errstate(all="ignore"):
        at = steps - steps.mean()
        slope = at @ (x - x.mean()) / (at @ at)
        value = float(slope if stat == "slope" else getattr(np, stat)(x))
    if not math.isfinite(value):
        raise NotMeasuredError(f"{name} has no {stat}: a single step, or too large numbers")
    return value, int(steps[0]), int(steps[-1])


def _rows(steps: np.ndarray, parts: Parts, name: str) -> slice:
    """Which of the rows at these steps (n,) a condition asks for."""
    total = len(steps)
    step = int(parts["step"] or 0)
    if not total:
        raise NotMeasuredError(f"{name} has no row")
    if parts["step"]:
        row = int(np.searchsorted(steps, step, side="right")) - 1
        if row < 0 or steps[-1] < step:
            raise NotMeasuredError(f"{name} {step_range(steps[0], steps[-1])} is not at {step}")
        return slice(row, row + 1)
    count = int(parts["count"] or 1) if parts["end"] else total
    count = math.ceil(total * count / 100) if parts["share"] else count
    if count > total:
        raise NotMeasuredError(f"{name} has {total} rows, {count} are asked for")
    return slice(total - count, total) if parts["end"] == "last" else slice(count)


# -- good runs -----------------------------------------------------------------------------


def left_out(runs: Sequence[JudgedRun]) -> dict[RunKey, str]:
    """Which runs nothing is learned from, and why. The good others may be on watch.

    Files that were just copied look live: a live run counts if none of its job got further.
    """
    most = dict[tuple[str, str, str], int]()
    found = {}
    for run in runs:
        most[job_of(run)] = max(most.get(job_of(run), 0), _last_step(run))
    for run in runs:
        word = run.verdict.state_word
        last = _last_step(run)
        if run.verdict.crash is not None:
            found[run.key] = word
        elif run.verdict.level is Level.BAD or not run.infos:
            found[run.key] = "bad" if run.infos else "no row"
        elif word in ("live", "waiting", "stalled") and last < most[job_of(run)]:
            found[run.key] = f"{word} at {last}, others got to {most[job_of(run)]}"
    return found


def _last_step(run: JudgedRun) -> int:
    return (run.progress and run.progress.last_step) or 0


def job_of(run: JudgedRun) -> tuple[str, str, str]:
    """Framework, algorithm, and name without seed and date, which runs of one job share."""
    path = run.data.path
    known = run.recognition
    name = folded_name(clean(path.stem if path in run.data.files.sources else path.name))
    return (known.framework, known.algorithm or "", name) if known else ("", "", name)


def learned(runs: Sequence[JudgedRun]) -> Iterator[tuple[str, str]]:
    """Conditions that the next good run of a job will meet, and what its good runs had, two or
    more. See :func:`expected`."""
    found = list(_common_numbers(runs))
    steps = np.array([*map(_last_step, runs)], np.float64)
    least = steps.min()
    if least < steps.max():  # the time ends them, say
        least = max(0.0, expected(steps, Direction.UP, len(found) + 1)[0] or 0.0)
    yield "no bad", ""
    yield f"steps >= {math.floor(least)}", _span(steps)
    for name, info, values in found:
        if info.category is Category.HYPER:
            yield f"{name} == {values[0]:.9g}", ""
            continue
        low, high = expected(values, info.direction, len(found) + 1)
        if low is not None and high is not None:
            yield f"{name} between {_rounded(low)} and {_rounded(high, up=True)}", _span(values)
        elif low is not None:
            yield f"{name} >= {_rounded(low)}", _span(values)
        elif high is not None:
            yield f"{name} <= {_rounded(high, up=True)}", _span(values)


def _common_numbers(runs: Sequence[JudgedRun]) -> Iterator[tuple[str, TagInfo, FloatArray]]:
    """Yield each number that all runs have: condition, tag, and its value (n,) in each run. Numbers
    that say nothing of the next run are left out: settings in which the runs differ, numbers most
    of which are equal, values that are not finite."""
    infos = runs[0].infos
    counts = Counter(info.key for info in infos.values())
    for tag, info in infos.items():
        if info.metric is None or info.guessed or info.category in _NOT_LEARNED:
            continue
        name = info.key if counts[info.key] == 1 else f"tag {tag}"
        for rows in _LEARNED_ROWS:
            match = _CONDITION.fullmatch(f"{name} {rows} > 0")
            kept = kept_clean(" ".join(name.split()))
            if match is None or match["tag"] not in (None, tag) or kept != name:
                continue  # a name that no condition can have
            values = np.array([*_values_of(runs, info, match.groupdict())])
            alike = int(np.unique(values, return_counts=True)[1].max(initial=0))
            is_setting = info.category is Category.HYPER
            if len(values) == len(runs) and (
                alike == len(runs) if is_setting else 2 * alike <= len(runs)
            ):
                yield f"{name} {rows}", info, values


def _span(values: FloatArray) -> str:
    """Range of the values of the good runs, in words."""
    ends = plain(values.min()), plain(values.max())
    return " to ".join(dict.fromkeys(ends))


def _rounded(x: float, *, up: bool = False) -> str:
    """A limit to four digits, away from what is allowed."""
    near = float(f"{x:.3e}")
    unit = 10.0 ** (math.floor(math.log10(abs(near))) - 3) if near else 0.0
    return f"{near + unit * ((near < x) if up else -(near > x)):.4g}"
