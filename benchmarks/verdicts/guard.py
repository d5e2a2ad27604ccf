"""What ``rltui guard`` would have done to labelled runs: ``python -m benchmarks.verdicts.guard``.

Each run grows row by row, and is recognised and judged by what it had logged until then. A table
says for each ``--hold`` how many sick runs would have been stopped, and what share of their rows
since the label's first failure would have been saved; in how many the reason was none that the
label demands or tolerates, or came before the failure; and which healthy ones would have been
stopped. Runs of sealed origins are left out (see ``across``).

LABELS are ``labels.yaml`` files, or directories with one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from typing import NamedTuple

import numpy as np

from benchmarks.machine import table
from benchmarks.verdicts.labels import Label, arguments, by_origin
from benchmarks.verdicts.replay import Judge, Logged
from rltui.health.engine import Engine
from rltui.session.guarding import Hold, Reason, first_held, reason_to_stop

#: Rows that a reason must have held for.
HOLDS = (0, 5, 10, 20, 50)


class Stop(NamedTuple):
    """Where a run would have been stopped, and why."""

    hold: int
    step: int
    symptom: str
    rule: str
    rows: int
    """Of the run."""
    left: int
    """Logged after it."""
    sick: int
    """Logged after the first failure of the label."""


def stops(job: tuple[Label, Sequence[int]]) -> list[Stop]:
    """The first stop of each hold in the longest run of a label."""
    label, holds = job
    judge = _judge()
    runs = judge.read(label.path)
    return [stop for run in runs for stop in _stops(judge, run, label, holds)]


@cache
def _judge() -> Judge:
    """One per process: documents are read once."""
    return Judge()


def _stops(judge: Judge, run: Logged, label: Label, holds: Iterable[int]) -> list[Stop]:
    steps = np.unique(np.concatenate([points[0] for points in run.tags.values()]))
    onset = min((f.visible_from for f in label.failures), default=0)
    times, out = np.zeros(len(steps)), []

    @cache
    def reason(row: int) -> Reason | None:
        view = judge.view(run.until(steps[row]))
        assert view.recognition is not None
        report = Engine(judge.rules).evaluate(view.data, view.infos, view.recognition, 0.0)
        return reason_to_stop(report)

    for hold in sorted(holds, reverse=True):  # what was asked for is known to the next
        found = first_held(reason, times, Hold(rows=hold))
        if found is None:
            continue
        why = reason(found[1])
        assert why is not None
        left, sick = len(steps) - 1 - found[1], int((steps > onset).sum())
        step = int(steps[found[1]])
        out.append(
            Stop(hold, step, why.diagnosis.symptom.id, why.finding.rule, len(steps), left, sick)
        )
    return out


def row(hold: int, labels: Sequence[Label], found: Sequence[Sequence[Stop]]) -> tuple[str, ...]:
    """A row of the table, see :data:`HEAD`."""
    own = [[s for s in stops if s.hold == hold] for stops in found]
    sick = [(x, s) for x, s in zip(labels, own, strict=True) if not x.healthy]
    stopped = [(label, s[0]) for label, s in sick if s]
    wrong = sum(s.rule not in label.allowed for label, s in stopped)
    early = sum(
        s.step < min(f.begins(label.steps) for f in label.failures)
        for label, s in stopped
        if label.failures
    )
    saved = [min(1.0, s.left / s.sick) for _, s in stopped if s.sick]
    killed = sum(bool(s) for x, s in zip(labels, own, strict=True) if x.healthy)
    share = f"{np.mean(saved):.0%}, {sum(s.left for _, s in stopped)}" if saved else "none"
    return str(hold), str(len(sick)), str(len(stopped)), share, str(wrong), str(early), str(killed)


HEAD = (
    *("hold, rows", "sick runs", "stopped", "saved of what followed, rows"),
    *("reason not in label", "before the failure", "healthy stopped"),
)


def main() -> int:
    """Judge the labelled runs, and print the table."""
    parser = arguments(".guard", __doc__)
    parser.add_argument("--hold", type=int, nargs="+", default=HOLDS, metavar="ROWS")
    parser.add_argument("--details", action="store_true", help="also a line for each stop")
    options = parser.parse_args()
    opened = by_origin(options.labels, sealed=False)
    labels = [label for found in opened.values() for label in found]
    with ProcessPoolExecutor(options.jobs) as pool:
        found = []
        for own in pool.map(stops, [(label, options.hold) for label in labels]):
            found.append(own)
            sys.stderr.write(f"\r{len(found)} of {len(labels)} runs")
    sys.stderr.write("\n")
    rows = [row(hold, labels, found) for hold in sorted(options.hold)]
    healthy = sum(label.healthy for label in labels)
    lines = [f"{len(labels)} runs of {len(opened)} origins, {healthy} healthy", ""]
    lines += table(HEAD, rows)
    for label, own in zip(labels, found, strict=True):
        for s in own if options.details or label.healthy else ():
            kind = "HEALTHY" if label.healthy else "sick"
            lines.append(
                f"{kind} {label.corpus}/{label.name}: hold {s.hold}, at {s.step}, {s.left} of "
                f"{s.rows} rows left: {s.symptom} ({s.rule}); label: {sorted(label.allowed)}"
            )
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
