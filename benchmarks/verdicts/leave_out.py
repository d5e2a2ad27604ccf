"""Limits chosen without one framework, judged on it: ``python -m benchmarks.verdicts.leave_out``.

The limits of each rule are scaled by a few factors. For each framework, the factor that serves
the runs of all other frameworks best is taken, and the runs of this one are judged with it. What
that changes shows how far the shipped limits lean on single frameworks.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.machine import table
from benchmarks.verdicts.labels import Label, arguments, judged_rules, read_labels
from benchmarks.verdicts.replay import Judge, Said
from benchmarks.verdicts.score import alarms_of, met_by
from rltui.core.level import Level
from rltui.health.rule import Number, Rule, Variant

#: What limits are multiplied by.
FACTORS = (0.5, 0.7, 1.0, 1.4, 2.0)
#: What a false alarm costs, in hits: at level watch, at level bad.
_COSTS = (1, 3)


@dataclass(frozen=True, slots=True)
class Answers:
    """What each rule said of one run, by factor."""

    label: Label
    found: Mapping[float, frozenset[tuple[str, str]]]
    """Factor -> (demanded failure, rule that meets it)."""
    alarms: Mapping[float, Mapping[str, bool]]
    """Factor -> rule that spoke wrongly -> whether at level bad."""


def main() -> int:
    parser = arguments(".leave_out", __doc__, jobs=False)
    labels = [x for file in parser.parse_args().labels for x in read_labels(file)]
    answers = answer(labels)
    rows = [_row(name, answers) for name in sorted({x.framework for x in labels})]
    head = ("framework", "runs", "labelled", "found", "found without it", "alarms",
            "alarms without it", "limits that differ")  # fmt: skip
    sys.stdout.write("\n".join(table(head, [*rows, _total(rows)])) + "\n")
    return 0


def answer(labels: Sequence[Label]) -> list[Answers]:
    """Judge all runs with all factors; each run is read once."""
    known = judged_rules(list(labels))
    reader = Judge()
    judges = {f: Judge([scaled(r, f) for r in reader.rules]) for f in FACTORS}
    out = []
    for label in labels:
        runs = reader.read(label.path)
        said = {f: [s for run in runs for s in judges[f].judge(run)] for f in FACTORS}
        out.append(
            Answers(
                label,
                {f: _pairs(label, said[f]) for f in FACTORS},
                {f: alarms_of(label, said[f], known) for f in FACTORS},
            )
        )
    return out


def _pairs(label: Label, said: Sequence[Said]) -> frozenset[tuple[str, str]]:
    return frozenset((sick.rule, f.rule) for sick, found in met_by(label, said) for f in found)


def scaled(rule: Rule, factor: float) -> Rule:
    """The rule with all limits of its variants multiplied by ``factor``."""
    return replace(rule, variants=tuple(_scaled(v, factor) for v in rule.variants))


def _scaled(variant: Variant, factor: float) -> Variant:
    limits = _limits(variant)
    levels = {
        level: {k: v * factor if k in limits else v for k, v in given.items()}
        for level, given in variant.levels.items()
    }
    return replace(variant, levels=levels)


def _limits(variant: Variant) -> frozenset[str]:
    """Parameters that are limits: real numbers that differ between the levels, or that the
    detector demands where there is one level only."""
    kinds = variant.detector.parameters
    watch, bad = (variant.levels.get(x) for x in (Level.WATCH, Level.BAD))
    if watch is None or bad is None:
        given: Mapping[str, Number] = watch or bad or {}
        return frozenset(k for k in given if kinds[k].kind is float and kinds[k].default is None)
    return frozenset(k for k in watch if kinds[k].kind is float and k in bad and watch[k] != bad[k])


def choose(answers: Iterable[Answers]) -> dict[str, float]:
    """Rule -> the factor with the most hits less the cost of alarms; of several the mildest."""
    worth: dict[str, Counter[float]] = {}
    for each in answers:
        for factor in FACTORS:
            for _, rule in each.found[factor]:
                worth.setdefault(rule, Counter())[factor] += 1
            for rule, bad in each.alarms[factor].items():
                worth.setdefault(rule, Counter())[factor] -= _COSTS[bad]
    return {
        rule: max(FACTORS, key=lambda f: (gains[f], -abs(math.log(f))))
        for rule, gains in worth.items()
    }


def _judged(answers: Iterable[Answers], factors: Mapping[str, float]) -> tuple[int, int]:
    """Hits and alarms with a factor for each rule."""
    hits = alarms = 0
    for each in answers:
        found = {
            sick
            for factor in FACTORS
            for sick, rule in each.found[factor]
            if factors.get(rule, 1.0) == factor
        }
        hits += len(found)
        alarms += sum(
            factors.get(rule, 1.0) == factor for factor in FACTORS for rule in each.alarms[factor]
        )
    return hits, alarms


def _row(name: str, answers: Sequence[Answers]) -> tuple[str, ...]:
    mine = [a for a in answers if a.label.framework == name]
    factors = choose(a for a in answers if a.label.framework != name)
    hits, alarms = _judged(mine, {})
    hits_without, alarms_without = _judged(mine, factors)
    moved = sorted(f"{rule} × {f:g}" for rule, f in factors.items() if f != 1.0)
    demanded = sum(len(a.label.failures) for a in mine)
    numbers = (len(mine), demanded, hits, hits_without, alarms, alarms_without)
    return (name, *map(str, numbers), ", ".join(moved))


def _total(rows: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return ("all", *(str(sum(int(r[i]) for r in rows)) for i in range(1, 7)), "")


if __name__ == "__main__":
    sys.exit(main())
