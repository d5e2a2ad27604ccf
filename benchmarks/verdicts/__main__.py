"""Recall, false alarms, delay and steadiness of the verdicts on labelled runs.

- recall: labelled failures that were found, from a tenth of the run before they are visible on;
- false alarms: rules that spoke though the label neither demands nor tolerates them;
- appears: judged by prefixes of 5 % of the run (or ``--grid``), how long after it was visible a
  finding appears;
- alarms on prefixes of healthy runs;
- hits lost and new alarms with every second and every third row, and with 5 % noise on all values.

LABELS are ``labels.yaml`` files, or directories with one; without any, the runs of this project.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.machine import table
from benchmarks.verdicts.figures import measures, score_all
from benchmarks.verdicts.labels import arguments, judged_rules, read_labels
from benchmarks.verdicts.peer import score_peer
from benchmarks.verdicts.score import FORMS, GRID, Scored

_OWN = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "labelled"


def main() -> int:
    parser = arguments("", __doc__, needed=False)
    parser.add_argument("--quick", action="store_true", help="recall and false alarms only")
    parser.add_argument(
        "--grid", type=_share_of_run, default=GRID, help="distance of the prefixes (0.05)"
    )
    parser.add_argument("--only", default="", help="runs whose path contains this")
    parser.add_argument("--details", action="store_true", help="also a line for each run")
    parser.add_argument(
        "--rl-doctor", type=Path, metavar="PROGRAM", help="also judged by this rl-doctor"
    )
    options = parser.parse_args()
    for file in options.labels or [_OWN]:
        labels = read_labels(file)
        known = judged_rules(labels)
        chosen = [x for x in labels if options.only in x.name]
        scored = score_all(chosen, known, options.jobs, quick=options.quick, grid=options.grid)
        lines = [f"\n## {file}\n", *summary(scored, quick=options.quick)]
        lines += details(scored) if options.details else []
        if options.rl_doctor:
            peer = [score_peer(x, options.rl_doctor) for x in chosen]
            lines += ["\n### rl-doctor\n", *summary(peer, quick=True)]
        sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _share_of_run(text: str) -> float:
    share = float(text)
    if not 0.0 < share <= 1.0:
        raise argparse.ArgumentTypeError("a share of the run, above 0 and at most 1")
    return share


def summary(scored: Sequence[Scored], *, quick: bool) -> list[str]:
    """The table of all measures, and one line per rule and framework."""
    return [
        *table(("what", "measured"), measures(scored, quick=quick)),
        "",
        *table(("rule", "labelled", "found", "false alarms"), _by_rule(scored)),
        "",
        *table(("framework", "runs", "labelled", "found", "false alarms"), _by_framework(scored)),
    ]


def _by_rule(scored: Sequence[Scored]) -> Iterable[tuple[str, ...]]:
    rules = sorted({x.rule for s in scored for x in s.label.failures})
    rules += sorted({r for s in scored for r in s.alarms} - set(rules))
    for rule in rules:
        demanded = sum(x.rule == rule for s in scored for x in s.label.failures)
        hits, alarms = (sum(rule in x for x in each) for each in (
            [s.hits for s in scored], [s.alarms for s in scored]))  # fmt: skip
        yield rule, str(demanded), str(hits), str(alarms)


def _by_framework(scored: Sequence[Scored]) -> Iterable[tuple[str, ...]]:
    for name in sorted({s.label.framework for s in scored}):
        mine = [s for s in scored if s.label.framework == name]
        yield (
            name,
            str(len(mine)),
            str(sum(len(s.label.failures) for s in mine)),
            str(sum(len(s.hits) for s in mine)),
            str(sum(len(s.alarms) for s in mine)),
        )


def details(scored: Sequence[Scored]) -> list[str]:
    """What was missed, wrongly said, late or lost, run by run."""
    lines = []
    for s in scored:
        demanded = {x.rule for x in s.label.failures}
        parts = [
            *(f"MISSED {r}" for r in sorted(demanded - s.hits.keys())),
            *(f"ALARM {r}{'!' if bad else ''}" for r, bad in sorted(s.alarms.items())),
            *(f"late {r} {d:.0%}" for r, d in sorted(s.delays.items()) if d > 0.05),
            *(f"prefix {cut:.0%} {r}{'!' if bad else ''}" for cut, r, bad in s.prefix_alarms
              if r not in s.alarms),
            *(f"{form} lost {r}" for form in FORMS
              for r in sorted(s.hits.keys() - s.form_hits.get(form, s.hits.keys()))),
            *(f"{form} alarm {r}" for form in FORMS
              for r in sorted(s.form_alarms.get(form, set()) - s.alarms.keys())),
            *((f"flips {s.flips} of 3",) if s.flips else ()),
        ]  # fmt: skip
        if parts:
            lines.append(f"{s.label.name}: " + "; ".join(parts))
    return lines


if __name__ == "__main__":
    sys.exit(main())
