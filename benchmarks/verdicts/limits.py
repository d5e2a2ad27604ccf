"""Limits from healthy runs: ``python -m benchmarks.verdicts.limits LABELS... [--write]``.

Many rules ask how many times its usual value something is: its start, its best, what is left of
it. Where nobody has published a limit for that, it is computed here:

- of each healthy run of the open origins (see ``across``), the farthest that each rule would have
  spoken at: the largest factor at which what is beyond it still suffices as evidence for a watch;
- of each rule, the farthest that any origin goes, as a logarithm, so that all rules have one scale
  on which 0 is the usual value. A rule is never given less than the median rule: healthy runs that
  do not even come near what it looks for say nothing of where it begins;
- of each origin, how much farther it goes than all others, by the rule where that is most. This has
  one value an origin, whatever the number of its runs and of the rules: its conformal quantiles, so
  that one new origin of ``BUDGET`` exceeds them, are what the farthest is multiplied by. Of so few
  origins the second quantile hardly differs from the first: bad is twice as far beyond the
  farthest as watch, at least.

``--write`` keeps the limits for the rules, with the numbers of runs and origins behind each.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

from benchmarks.machine import table
from benchmarks.verdicts.labels import Label, by_origin
from benchmarks.verdicts.replay import Judge, Logged
from rltui.core.level import Level
from rltui.health.columns import Column, judged_rows
from rltui.health.detectors.signal import Rows
from rltui.health.judge import episodes, is_forgotten
from rltui.health.parameters import Farthest, Healthy, from_farthest
from rltui.health.plan import make_plan
from rltui.health.rule import Harm, Variant
from rltui.health.rules import load_rules
from rltui.health.success import Course, success_of

RESULT = Path(__file__).parents[2] / "rltui" / "health" / "data" / "healthy.yaml"
#: One of so many new origins may go beyond a limit for watch, for bad, in any rule.
BUDGET = (25, 60)
#: The farthest that is looked for, and the ratio of the distances that are tried.
_MOST, _RATIO = 8.0, 1.05
_NEAREST = 0.02
#: Of one run: rule that reads it -> logarithm of the farthest factor, 0 if it would never speak.
Reached = Mapping[str, float]


def reached(label: Label, judge: Judge, runs: Iterable[Logged]) -> Reached:
    """What the rules with limits from healthy runs would have said of a run, at the most. Rules
    that its label tolerates, or that its success excuses, are left out."""
    out: dict[str, float] = {}
    for run in runs:
        view = judge.view(run)
        assert view.recognition is not None
        data, infos, columns = view.data, view.infos, dict[tuple[str, bool, int], Column]()
        solved = success_of(data, infos, ()) is Course.SOLVED
        plan = make_plan(judge.rules, tuple(infos), infos, view.recognition)
        for rule, variant, tags, roles in plan:
            excused = rule.id in label.allowed or (solved and rule.harm is Harm.EXHAUSTED)
            if not variant.healthy or excused:
                continue
            for tag in tags:
                others = {r: (data.series(t), infos[t]) for r, t in roles.items()}
                rows, _ = judged_rows(variant, infos[tag], data.series(tag), others, columns)
                if rows.count:
                    out[rule.id] = max(out.get(rule.id, 0.0), _farthest(variant, rows))
    return out


def _farthest(variant: Variant, rows: Rows) -> float:
    """Logarithm of the largest factor that these rows hold with evidence."""
    distance = _MOST
    while distance > _NEAREST:
        milder = with_factor(variant, dict.fromkeys(Level, math.exp(distance)))
        given = milder.levels.get(Level.WATCH) or milder.levels[Level.BAD]
        signals = {Level.WATCH: variant.detector.run(rows, **given)}
        found, bad = episodes(signals)
        if any(span.open or not is_forgotten(signals, span, bad) for span in found):
            return distance
        distance /= _RATIO
    return 0.0


def with_factor(variant: Variant, factor: Mapping[Level, float]) -> Variant:
    """The variant with other limits where its own are from healthy runs."""

    def changed(name: str, value: float, level: Level) -> float:
        if name not in variant.healthy:
            return value
        return from_farthest(factor[level], inverse=value < 1)

    return variant._replace(
        levels={
            level: {name: changed(name, value, level) for name, value in given.items()}
            for level, given in variant.levels.items()
        }
    )


def limits_of(origins: Mapping[str, Sequence[Reached]]) -> Healthy:
    """The limits by the runs of these origins; at least one run must have been beyond a factor of
    1."""
    rules = sorted({rule for runs in origins.values() for run in runs for rule in run})
    by_rule = {
        rule: {o: max(r[rule] for r in runs if rule in r) for o, runs in origins.items()
               if any(rule in r for r in runs)}
        for rule in rules
    }  # fmt: skip
    farthest = {rule: max(by_rule[rule].values()) for rule in rules}
    least = statistics.median(far for far in farthest.values() if far > 0)
    excess = sorted(
        max(
            (by_rule[r][origin] - max(least, _without(by_rule[r], origin))
             for r in rules if origin in by_rule[r]),
            default=0.0,
        )
        for origin in origins
    )  # fmt: skip
    watch, bad = (max(0.0, _conformal(excess, 1 / one_of)) for one_of in BUDGET)
    bad = max(bad, 2 * watch)

    def far(rule: str, size: float, runs: int, origins: int) -> Farthest:
        limits = (_rounded(math.exp(max(least, size) + more)) for more in (watch, bad))
        return Farthest(rule, *limits, _rounded(math.exp(size)), runs, origins)

    counts = {r: sum(r in run for runs in origins.values() for run in runs) for r in rules}
    total = sum(map(len, origins.values()))
    limits = [far(rule, farthest[rule], counts[rule], len(by_rule[rule])) for rule in rules]
    return Healthy(
        round(math.exp(watch), 3),
        round(math.exp(bad), 3),
        (far("any", least, total, len(origins)), *limits),
    )


def limits_without(origins: Mapping[str, Sequence[Reached]]) -> dict[str, Healthy]:
    """The limits without each origin, where they are others than with all."""
    usual = _numbers(limits_of(origins))
    without = {o: limits_of({k: v for k, v in origins.items() if k != o}) for o in origins}
    return {origin: found for origin, found in without.items() if _numbers(found) != usual}


def _numbers(found: Healthy) -> dict[str, tuple[float, float]]:
    return {far.rule: (far.watch, far.bad) for far in found.limits}


def _without(by_origin: Mapping[str, float], origin: str) -> float:
    return max((far for name, far in by_origin.items() if name != origin), default=0.0)


def _conformal(ordered: Sequence[float], share: float) -> float:
    """What a new value exceeds with this probability at most; the largest one if they are too few
    to say."""
    rank = math.ceil((len(ordered) + 1) * (1 - share))
    return ordered[min(rank, len(ordered)) - 1]


def _rounded(value: float) -> float:
    """Two digits, away from 1."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return round(math.ceil(value / unit - 1e-9) * unit, 6)


def written(found: Healthy) -> str:
    """The document that the rules read."""
    lines = [
        "# How many times its usual value something is in healthy runs, for rules that nobody has",
        "# published a limit for. Written by benchmarks.verdicts.limits, which says how.",
        "schema: 1",
        f"watch: {found.watch:g}",
        f"bad: {found.bad:g}",
        "limits:",
    ]  # fmt: skip
    lines += [f"- {{{', '.join(f'{k}: {_shown(v)}' for k, v in each._asdict().items())}}}"
              for each in found.limits]  # fmt: skip
    return "\n".join(lines) + "\n"


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


@cache
def _judge() -> Judge:
    """A judge whose limits are still to be computed; one per process."""
    return Judge(load_rules(limits=lambda rule: Farthest(rule, 2.0, 2.0, 2.0, 0, 0)))


def _reached(label: Label) -> Reached:
    return reached(label, _judge(), _judge().read(label.path))


def reached_by_origin(
    origins: Mapping[str, Sequence[Label]], jobs: int
) -> dict[str, list[Reached]]:
    """What the healthy runs of each origin reached."""
    healthy = {name: [x for x in labels if x.healthy] for name, labels in origins.items()}
    with ProcessPoolExecutor(jobs) as pool:
        done = pool.map(_reached, [x for found in healthy.values() for x in found], chunksize=4)
        return {name: [next(done) for _ in found] for name, found in healthy.items()}


def main() -> int:
    """Compute the limits, print them, and write them."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.verdicts.limits",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("labels", nargs="+", type=Path, metavar="LABELS")
    parser.add_argument("--write", action="store_true", help=f"write {RESULT.name}")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    found = limits_of(reached_by_origin(by_origin(options.labels, sealed=False), options.jobs))
    rows = [tuple(map(_shown, each)) for each in found.limits]
    sys.stdout.write("\n".join(table(Farthest._fields, rows)) + "\n")
    if options.write:
        RESULT.write_text(written(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
