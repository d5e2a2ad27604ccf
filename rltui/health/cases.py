"""Runs the examples that rules carry."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rltui.catalogue.model import Category, Metric, Recognition, Scenario, TagInfo
from rltui.core.batch import Batch, RunKey, SourceInfo
from rltui.core.block import Block, FloatArray, IntArray
from rltui.core.level import Direction, Level, worst
from rltui.health.engine import Engine
from rltui.health.model import Finding
from rltui.health.reference import Reference
from rltui.health.rule import Case, Rule
from rltui.store import RunData

_NUMBER = r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|\.\d+|nan|inf)"
_PART = re.compile(rf"({_NUMBER})(?:\.\.({_NUMBER})|~({_NUMBER}))?(?:x(\d+))?$", re.IGNORECASE)
#: Begins the word of a restart.
_RESTART = "@"


class CaseResult(NamedTuple):
    """The result of one case."""

    rule: str
    case: str
    message: str
    """The fault; "" for none."""
    path: Path
    line: int
    findings: tuple[Finding, ...] = ()


def parse_series(text: str) -> FloatArray:
    """Terse notation to values: ``0.02x50 0.5x10``, ``0..1x20`` a line, ``1~0.3x40`` a zigzag;
    ``@30``: a restart at step 30, which :func:`_steps_in` reads.

    Raises ValueError for anything else.
    """
    parts = series_parts(text)
    return np.concatenate(parts) if parts else np.empty(0)


def series_parts(text: str) -> list[FloatArray]:
    """Values of a series written in words, one array a word."""
    parts = []
    for word in text.split():
        if word.startswith(_RESTART):
            continue
        match = _PART.match(word)
        if match is None:
            raise ValueError(f"cannot read {word!r}; write VALUExCOUNT, A..BxCOUNT or A~BxCOUNT")
        value, end, spread, count = match.groups()
        n = int(count or 1)
        if end is not None:
            parts.append(np.linspace(float(value), float(end), n))
        elif spread is not None:
            # from -1 to 1, looks like noise: fractional parts of multiples of the golden ratio
            golden = (math.sqrt(5) - 1) / 2
            zigzag = 2 * np.mod(np.arange(1, n + 1) * golden, 1.0) - 1
            parts.append(float(value) + float(spread) * zigzag)
        else:
            parts.append(np.full(n, float(value)))
    return parts


def _steps_in(text: str) -> IntArray:
    """The steps of the values in the notation: 1, 2, ..., and so on from each restart."""
    steps: list[int] = []
    following = 1
    for word in text.split():
        if word.startswith(_RESTART):
            following = int(word.removeprefix(_RESTART))
            continue
        end = following + len(parse_series(word))
        steps += range(following, end)
        following = end
    return np.array(steps, dtype=np.int64)


def run_cases(rules: Iterable[Rule]) -> list[CaseResult]:
    """Run every case of every rule, each with that rule alone."""
    return [_run_case(rule, case) for rule in rules for case in rule.read_cases()]


def _run_case(rule: Rule, case: Case) -> CaseResult:
    try:
        series = {key: parse_series(text) for key, text in case.series.items()}
        steps = {key: _steps_in(text) for key, text in case.series.items()}
    except ValueError as problem:
        return CaseResult(rule.id, case.name, str(problem), rule.path, case.line)
    run, infos, recognition = case_run(series, case.framework, case.scenario, case.estimator, steps)
    recognition = recognition._replace(scope=case.scope)
    engine = Engine([rule])
    if case.reference:
        past = {key: parse_series(text) for key, text in case.reference.items()}
        other, meanings, _ = case_run(past, case.framework, case.scenario, case.estimator)
        engine.compare(Reference(other, meanings, "reference"))
    findings = engine.evaluate(run, infos, recognition, 0.0).findings
    message = _difference(case, findings)

    return CaseResult(rule.id, case.name, message, rule.path, case.line, findings)


def _difference(case: Case, findings: tuple[Finding, ...]) -> str:
    broken = [f.error for f in findings if f.error is not None]
    if broken:
        return f"the rule broke: {broken[0]}"
    level = max(Level.OK, worst(f.evidence.worst or f.level for f in findings))
    if level is not case.expect:
        return f"expected {case.expect.word}, found {level.word}"
    if case.since is not None and case.since not in {f.since_step for f in findings}:
        return f"expected since step {case.since}, found {[f.since_step for f in findings]}"
    firing = any(f.fires for f in findings)
    if findings and case.resolved == firing:
        return f"expected it {'over' if case.resolved else 'firing'} at the end"

    return ""


def case_run(
    series: Mapping[str, FloatArray],
    framework: str = "generic",
    scenario: str = "llm-rl",
    estimator: str | None = None,
    steps: Mapping[str, IntArray] | None = None,
) -> tuple[RunData, dict[str, TagInfo], Recognition]:
    """A run whose tags are metric keys, with steps 1, 2, ... unless others are given, for cases and
    tests."""
    given = steps or {}
    rows = {
        key: (given.get(key, np.arange(1, len(x) + 1, dtype=np.int64)), x)
        for key, x in series.items()
    }
    run = run_of(rows)
    infos = {key: case_info(key, estimator) for key in series}
    kind = Scenario(scenario, scenario, (), (), ())

    return run, infos, Recognition(framework, framework, None, kind, ())


def run_of(columns: Mapping[str, tuple[IntArray, FloatArray]]) -> RunData:
    """A run in memory of these tags, each with its steps (n,) and values (n,)."""
    path = Path("case")
    run = RunData(RunKey(0, "case"), path)
    blocks = tuple(
        Block((tag,), steps, steps.astype(np.float64), values.reshape(-1, 1))
        for tag, (steps, values) in columns.items()
    )
    run.apply(Batch(run.key, path, SourceInfo(path, "case", 0, 0, 0, 0, 0.0), blocks))
    return run


def case_info(key: str, estimator: str | None = None) -> TagInfo:
    """The meaning of a tag named like its metric, or ``metric#name``."""
    name, _, title = key.partition("#")
    metric = Metric(name, name, Category.OTHER, Direction.NONE, "", "")
    return TagInfo(key, metric, title or name, Category.OTHER, estimator=estimator)
