"""What each rule costs: ``python -m benchmarks.rules``.

Judged, from the first row on and with all rows read, are

- 10 M points: one run of 200 tags and 50,000 rows (set a);
- 300 rows: a run of 15 tags, the mean of some;
- a live row: a run of 60 tags and 1,000 rows, all of which a new row has judged again.

A cost is CPU of one judgement, the least of some rounds, in thousandths of a reference: sums, sorts
and a loop, measured in turns with it, so that figures of two machines can be compared. What several
rules need of a tag is computed once, and the first of them pays. ``rules.json`` beside this file is
the budget of each; ``--write`` makes it of what was measured. It fails where a rule, or all of them
together, cost a tenth more, however often it is measured; what is less than a fiftieth of its set
is not compared by itself.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import process_time_ns
from typing import Any

import numpy as np

from benchmarks.data import make
from benchmarks.live import json_lines
from benchmarks.machine import parser_of, print_report, short
from benchmarks.many import make_runs
from benchmarks.read import directory_of
from rltui.health import engine
from rltui.health.rules import load_rules
from rltui.session import Session
from rltui.session.run import JudgedRun

BUDGET = Path(__file__).with_name("rules.json")
#: What costs this much more than its budget fails.
_MORE = 1.1
#: Rules that cost less than this share of their set are not compared by themselves.
_LEAST = 0.02
_RUNS, _TAGS, _ROWS, _STORED = 20, 15, 300, 1_000
#: What costs too much is measured so often.
_TRIES = 3
#: Name in the budget of all rules, the report included.
_ALL = "all"

Costs = dict[str, float]


def runs_of(logdir: Path) -> list[JudgedRun]:
    """The runs of a directory, read to their end."""
    session = Session([logdir])
    session.scan()
    session.read_all()
    return session.runs()


def cost(runs: Sequence[JudgedRun]) -> Costs:
    """CPU ns of judging a run from the first row on, by rule; the mean of some runs."""
    spent: Counter[str] = Counter()
    one_tag = engine._judge

    def timed(memory: Any, item: Any, *rest: Any) -> Any:
        began = process_time_ns()
        said = one_tag(memory, item, *rest)
        spent[item.task.rule.id] += process_time_ns() - began
        return said

    judge = engine.Engine(load_rules())

    def evaluate() -> None:
        for run in runs:
            assert run.recognition is not None
            judge.forget(run.key)
            judge.evaluate(run.data, run.infos, run.recognition, 0.0)

    evaluate()  # which rule reads which tag is known from then on
    engine._judge = timed
    began = process_time_ns()
    try:
        evaluate()
    finally:
        engine._judge = one_tag
    spent[_ALL] = process_time_ns() - began
    return {rule: ns / len(runs) for rule, ns in spent.items()}


def reference() -> float:
    """CPU ns of what does not depend on this package."""
    x = np.random.default_rng(1).normal(size=50_000)
    began = process_time_ns()
    for _ in range(20):
        np.sort(x)
        np.sqrt(np.cumsum(x * x) / np.arange(1, len(x) + 1))
        np.maximum.accumulate(x)[np.flatnonzero(x > 0)].tolist()
        sum(len(str(number)) for number in range(10_000))
    return process_time_ns() - began


class Least:
    """The least cost of each rule, by set, and that of the reference."""

    def __init__(self, sets: Mapping[str, Path]) -> None:
        self._runs = {name: runs_of(logdir) for name, logdir in sets.items()}
        self.costs: dict[str, Costs] = {name: {} for name in sets}
        self.reference = reference()

    def measure(self, rounds: int) -> None:
        """Measure in turns."""
        for _ in range(rounds):
            for name, runs in self._runs.items():
                self.reference = min(self.reference, reference())
                known = self.costs[name]
                known.update({r: min(ns, known.get(r, ns)) for r, ns in cost(runs).items()})

    def rows(self, budget: Mapping[str, Costs]) -> Iterator[tuple[str, str, str, bool]]:
        """A row for each rule that costs something, and whether it costs too much."""
        for name, costs in self.units().items():
            limits = budget.get(name)
            for rule, own in sorted(costs.items(), key=lambda item: -item[1]):
                if own >= _LEAST * costs[_ALL]:
                    # a rule that is new has no budget yet
                    limit = float("inf") if limits is None else limits.get(rule, 0.0)
                    measured = f"{short(self.costs[name][rule] / 1e6)} / {short(own)}"
                    what = f"{name}, {rule}: CPU ms / cost"
                    yield what, measured, short(limit), own > _MORE * limit

    def units(self) -> dict[str, Costs]:
        """The costs in thousandths of the reference."""
        return {
            name: {rule: round(1000 * ns / self.reference, 2) for rule, ns in costs.items()}
            for name, costs in self.costs.items()
        }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and compare with the budget."""
    parser = parser_of("rules", __doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--scale", type=float, default=1.0, help="of the 10 M points")
    parser.add_argument("--write", action="store_true", help="make the budget of what is measured")
    chosen = parser.parse_args(arguments)
    with directory_of(chosen.data) as directory:
        live = directory / "rules-live"
        json_lines(live / "run" / "metrics.jsonl", _STORED, 0)
        sets = {
            "10 M points": make(directory, "a", chosen.scale).root,
            "300 rows": make_runs(directory / f"rules-{_RUNS}", _RUNS, _TAGS, _ROWS),
            "a live row": live,
        }
        least = Least(sets)
    known = json.loads(BUDGET.read_text()) if BUDGET.exists() and not chosen.write else {}
    for _ in range(_TRIES):
        least.measure(chosen.rounds)
        rows = list(least.rows(known))
        failed = any(row[3] for row in rows)
        if not failed:
            break
    print_report(parser, arguments, (row[:3] for row in rows))
    if chosen.write:
        BUDGET.write_text(json.dumps(least.units(), indent=1, sort_keys=True) + "\n")
    sys.exit(failed)


if __name__ == "__main__":
    main()
