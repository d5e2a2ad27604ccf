"""How often the rules speak, wrongly and rightly: ``-m benchmarks.verdicts.noise [LABELS...]``.

Printed for each variant, in percent of simulated series with a finding of any level at any time:

- on noise without any trend or change: AR(1) with a memory of 0, 0.5 and 0.9 from row to row, of
  50, 300 and 2,000 rows. Its centre is that of a quiet example of the rule, else 1, with a spread
  of 20 % of it; where limits do not depend on the past, half of an upper one with a spread of a
  tenth of it, or the middle between two. Other metrics of the example are noise of the same kind,
  or not logged: either may let it speak;
- on failures, its power: 25, 50, 75 and 100 % of a firing example of the rule (one of its
  ``cases``), stretched to 10 to 1,000 rows. 0 % is what the example begins as, or where that is
  sick a quiet example. Each value has 10 % of noise of memory 0.5, with less or none where the
  failure is that nothing varies;

and on how many of the healthy runs of LABELS that log what it reads (open origins, see ``across``)
it speaks though the label does not tolerate it. ``--write`` keeps the result for
docs/detectors.md, the healthy runs as they were if there are no LABELS.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.machine import table
from benchmarks.verdicts.labels import Label, arguments, by_origin
from benchmarks.verdicts.replay import Judge
from rltui.catalogue.model import Recognition, Scenario
from rltui.core.block import FloatArray
from rltui.core.level import Level
from rltui.health.cases import parse_series
from rltui.health.detectors.signal import Rows
from rltui.health.judge import episodes
from rltui.health.judgement import ends_of
from rltui.health.plan import make_plan
from rltui.health.rule import Case, Rule, Variant
from rltui.health.rules import load_rules

MEMORIES = (0.0, 0.5, 0.9)
LENGTHS = (50, 300, 2000)
#: Shares of the way from a quiet to a firing example, and rows of the series.
EFFECTS = (0.25, 0.5, 0.75, 1.0)
ROWS = (10, 30, 100, 300, 1000)
RESULT = Path(__file__).with_name("noise.csv")
HEAD = (
    *("variant", "detector"),
    *(f"{memory:g}: {rows}" for memory in MEMORIES for rows in LENGTHS),
    "healthy",
    *(f"× {effect:g}: {rows}" for effect in EFFECTS for rows in ROWS),
)
_HEALTHY = HEAD.index("healthy")
#: Spread of the noise on examples, the largest with which the example itself is found.
_SPREADS = (0.1, 0.02, 0.0)
#: What a rule reads, by role of the detector; "" for what it judges.
Example = Mapping[str, FloatArray]
#: Centre and spread of values.
Scale = tuple[float, float]


def noise(random: np.random.Generator, rows: int, memory: float) -> FloatArray:
    """(rows,) AR(1) noise with mean 0 and spread 1."""
    fresh = random.standard_normal(rows)
    out = np.empty(rows)
    out[0] = fresh[0]
    scale = float(np.sqrt(1 - memory * memory))
    for row in range(1, rows):
        out[row] = memory * out[row - 1] + scale * fresh[row]
    return out


def speaks(variant: Variant, rows: Rows) -> bool:
    """Whether the variant reports anything, at any time."""
    found = {level: variant.detector.run(rows, **given) for level, given in variant.levels.items()}
    return bool(episodes(found)[0])


def share(
    variant: Variant, scales: Mapping[str, Scale], rows: int, memory: float, series: int
) -> float:
    """The share of the series of noise in which the variant reports something; see ``usual``."""
    random = np.random.default_rng(rows)
    found = 0
    for _ in range(series):
        others = {r: c + s * noise(random, rows, memory) for r, (c, s) in scales.items()}
        x, steps = others.pop(""), np.arange(rows)
        # another metric may excuse all: an exploration rate of 1
        found += any(speaks(variant, Rows(x, steps, roles)) for roles in (others, {}))
    return found / series


def usual(variant: Variant, quiet: Example | None) -> dict[str, Scale]:
    """Centre and spread of what the variant reads: as in a quiet example, or well inside limits
    that do not depend on the past."""
    if quiet is None:
        scales = dict.fromkeys(("", *variant.roles), (1.0, 0.2))
    else:
        centres = {role: float(np.nanmedian(x)) for role, x in quiet.items()}
        scales = {role: (c, 0.2 * abs(c) or 0.2) for role, c in centres.items()}
    beside = _limits(variant, 1.0), _limits(variant, 2.0)
    low, high = (None if a != b else a for a, b in zip(*beside, strict=True))
    if low is not None and high is not None:
        scales[""] = (low + high) / 2, (high - low) / 10
    elif high is not None:
        scales[""] = high / 2, abs(high) / 10 or 0.2
    return scales


def _limits(variant: Variant, value: float) -> tuple[float | None, float | None]:
    """The limits that are drawn beside a hundred rows of one value, the milder ones."""
    parameters = variant.levels.get(Level.WATCH, variant.levels.get(Level.BAD, {}))
    signal = variant.detector.run(Rows(np.full(100, value), np.arange(100)), **parameters)
    return ends_of(signal)


class Examples(NamedTuple):
    """Of a rule, as a variant reads them."""

    quiet: Example
    """The quiet case that ends most differently from the firing one."""
    before: Example
    """One that stays as the firing one begins, or if that is not quiet, the quiet case."""
    firing: Example


def examples(rule: Rule, variant: Variant) -> Examples | None:
    """From the cases of the rule; None where the variant speaks on none of them, or on all."""
    read = [
        (case.expect, x) for case in rule.read_cases() if (x := _as_read(variant, case)) is not None
    ]
    read.sort(key=lambda item: -item[0])
    spoken = [speaks(variant, _stretched(x)) for _, x in read]
    said = list(zip(read, spoken, strict=True))
    sick = next((x for (level, x), speaks_of in said if speaks_of and level > Level.OK), None)
    if sick is None:
        return None
    still = {**sick, "": np.full(len(sick[""]), sick[""][0])}
    before = [] if speaks(variant, _stretched(still)) else [still]
    quiet = [x for (level, x), speaks_of in said if not speaks_of and level <= Level.OK]
    quiet = [x for x in quiet if np.isfinite(x[""]).all()]
    quiet.sort(key=lambda x: -abs(_end(x) - _end(sick)))
    if not (quiet or before):
        return None
    return Examples((quiet or before)[0], (before or quiet)[0], sick)


def _end(example: Example) -> float:
    return float(np.nan_to_num(example[""][-len(example[""]) // 4 :]).mean())


def _as_read(variant: Variant, case: Case) -> Example | None:
    """The series of a case as the variant reads them; None if it does not judge the case."""
    kind = Scenario(case.scenario, case.scenario, (), ())
    run = Recognition(case.framework, "", None, kind, (), case.scope)
    when = variant.when
    if not (when.run_fits(run) and when.fits("estimator", case.estimator or "")):
        return None
    own = sorted((at, k) for k in case.series if (at := variant.reads(k)) is not None)
    if not own or any(fnmatchcase(k, p) for k in case.series for p in when.unlogged):
        return None
    roles = {
        role: key
        for role, patterns in variant.roles.items()
        for key in [k for p in reversed(patterns) for k in case.series if fnmatchcase(k, p)]
    }
    return {r: parse_series(case.series[k]) for r, k in {**roles, "": own[0][1]}.items()}


def _stretched(example: Example, rows: int | None = None) -> Rows:
    """As the rows of a log, ``rows`` of them or as many as it has."""
    n = rows or len(example[""])
    stretched = {r: x[np.arange(n) * len(x) // n] for r, x in example.items()}
    return Rows(stretched.pop(""), np.arange(n), stretched)


def power(variant: Variant, known: Examples, series: int) -> list[float]:
    """For each of ``EFFECTS`` and ``ROWS``, the share of series in which the variant reports what
    is that share of the way from a quiet to a firing example."""
    random = np.random.default_rng(1)
    own = len(known.firing[""])

    def found(effect: float, rows: int, spread: float, count: int) -> float:
        made = (_between(known, effect, rows, spread, random) for _ in range(count))
        return sum(speaks(variant, x) for x in made) / count

    spread = next((s for s in _SPREADS if found(1.0, own, s, 10) > 0.5), 0.0)
    return [found(effect, rows, spread, series) for effect in EFFECTS for rows in ROWS]


def _between(
    known: Examples,
    effect: float,
    rows: int,
    spread: float,
    random: np.random.Generator,
) -> Rows:
    out = {}
    for role, x in known.firing.items():
        after = _stretched({"": x}, rows).x
        before = _stretched({"": known.before.get(role, x)}, rows).x
        with np.errstate(invalid="ignore"):
            mixed = np.where(before == after, after, before + effect * (after - before))
        out[role] = mixed * (1 + spread * noise(random, rows, 0.5))
    return Rows(out.pop(""), np.arange(rows), out)


def _variants() -> dict[str, tuple[Rule, Variant]]:
    return {variant.id: (rule, variant) for rule in load_rules() for variant in rule.variants}


def _measure(job: tuple[str, int]) -> list[str]:
    """``job``: id of a variant, since a rule does not travel between processes; how many series."""
    name, series = job
    rule, variant = _variants()[name]
    found = examples(rule, variant)
    scales = usual(variant, found.quiet if found else None)
    shares = [share(variant, scales, n, memory, series) for memory in MEMORIES for n in LENGTHS]
    powers = [""] * (len(EFFECTS) * len(ROWS))
    if found is not None:
        powers = [f"{100 * p:.0f}" for p in power(variant, found, max(1, series // 2))]
    return [name, variant.detector.name, *(f"{100 * s:.0f}" for s in shares), "", *powers]


_judge: Judge | None = None


def _on_healthy(label: Label) -> tuple[set[str], set[str]]:
    """Variants that read something of a healthy run, and those that speak wrongly."""
    global _judge  # noqa: PLW0603 - one per process: documents are read once
    _judge = _judge or Judge()
    reads, wrong = set[str](), set[tuple[str, str]]()
    for run in _judge.read(label.path):
        view = _judge.view(run)
        assert view.recognition is not None
        plan = make_plan(_judge.rules, view.infos, view.infos, view.recognition)
        reads |= {task.variant.id for task in plan if task.tags}
        wrong |= {(s.rule, s.title) for s in _judge.judge(run) if s.rule not in label.allowed}
    named = {v.id: (r.id, v.title) for r in _judge.rules for v in r.variants}
    return reads, {name for name in reads if named[name] in wrong}


def on_healthy(labels: Iterable[Label], jobs: int) -> dict[str, str]:
    """Variant -> "2 of 40": healthy runs on which it speaks, of those that log what it reads."""
    with ProcessPoolExecutor(jobs) as pool:
        answers = list(pool.map(_on_healthy, [x for x in labels if x.healthy]))
    every = {name for reads, _ in answers for name in reads}
    return {
        name: f"{sum(name in w for _, w in answers)} of {sum(name in r for r, _ in answers)}"
        for name in every
    }


def _kept(healthy: Mapping[str, str], rows: Sequence[list[str]], *, measured: bool) -> None:
    """Fill in the column of healthy runs, from what was kept where it was not measured."""
    if not measured:
        with RESULT.open(encoding="utf-8", newline="") as file:
            healthy = {row["variant"]: row.get("healthy") or "" for row in csv.DictReader(file)}
    for row in rows:
        row[_HEALTHY] = healthy.get(row[0], "0 of 0" if measured else "")


def main() -> int:
    parser = arguments(".noise", __doc__, needed=False)
    parser.add_argument("--series", type=int, default=100, help="simulated series per figure")
    parser.add_argument("--only", default="", help="variants whose id contains this")
    parser.add_argument("--write", action="store_true", help=f"keep the result in {RESULT.name}")
    options = parser.parse_args()
    jobs = [(name, options.series) for name in _variants() if options.only in name]
    with ProcessPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(_measure, jobs))
    origins = by_origin(options.labels, sealed=False)
    healthy = on_healthy([x for found in origins.values() for x in found], options.jobs)
    _kept(healthy, rows, measured=bool(options.labels))
    if options.write:
        with RESULT.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([HEAD, *rows])
    sys.stdout.write("\n".join(table(HEAD, rows)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
