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
import os
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.machine import table
from benchmarks.verdicts.labels import Label, judged_rules, read_labels
from benchmarks.verdicts.peer import score_peer
from benchmarks.verdicts.replay import Judge
from benchmarks.verdicts.score import FORMS, GRID, Scored, score

_OWN = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "labelled"
_judge: Judge | None = None


def _score(job: tuple[Label, frozenset[str], bool, float]) -> Scored:
    global _judge  # noqa: PLW0603 - one per process: documents are read once
    _judge = _judge or Judge()
    label, known, quick, grid = job
    return score(label, _judge, known, quick=quick, grid=grid)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.verdicts",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("labels", nargs="*", type=Path, metavar="LABELS")
    parser.add_argument("--quick", action="store_true", help="recall and false alarms only")
    parser.add_argument(
        "--grid", type=_share_of_run, default=GRID, help="distance of the prefixes (0.05)"
    )
    parser.add_argument("--only", default="", help="runs whose path contains this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--details", action="store_true", help="also a line for each run")
    parser.add_argument(
        "--rl-doctor", type=Path, metavar="PROGRAM", help="also judged by this rl-doctor"
    )
    options = parser.parse_args()
    for file in options.labels or [_OWN]:
        labels = read_labels(file)
        known = judged_rules(labels)
        jobs = [(x, known, options.quick, options.grid) for x in labels if options.only in x.name]
        with ProcessPoolExecutor(options.jobs) as pool:
            scored = list(pool.map(_score, jobs))
        lines = [f"\n## {file}\n", *summary(scored, quick=options.quick)]
        lines += details(scored) if options.details else []
        if options.rl_doctor:
            peer = [score_peer(x, options.rl_doctor) for x in labels if options.only in x.name]
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
    rows = [*_exact(scored)]
    if not quick:
        rows += [*_appears(scored), *_changed(scored)]
    return [
        *table(("what", "measured"), rows),
        "",
        *table(("rule", "labelled", "found", "false alarms"), _by_rule(scored)),
        "",
        *table(("framework", "runs", "labelled", "found", "false alarms"), _by_framework(scored)),
    ]


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} % ({part} of {whole})" if whole else "none"


def _exact(scored: Sequence[Scored]) -> Iterable[tuple[str, str]]:
    demanded = sum(len(s.label.failures) for s in scored)
    hits = sum(len(s.hits) for s in scored)
    alarms = sum(len(s.alarms) for s in scored)
    healthy = [s for s in scored if s.label.healthy]
    hard = sum(any(s.alarms.values()) for s in healthy)
    soft = sum(bool(s.alarms) for s in healthy)
    yield "runs, healthy ones", f"{len(scored)}, {len(healthy)}"
    yield "recall", _share(hits, demanded)
    yield "recall at level bad", _share(sum(sum(s.hits.values()) for s in scored), demanded)
    yield "precision", _share(hits, hits + alarms)
    yield "healthy runs with a false alarm, at level bad", f"{soft}, {hard}"
    yield "false alarms on all runs", str(alarms)
    yield "not readable", str(sum(s.unreadable for s in scored))


def _appears(scored: Sequence[Scored]) -> Iterable[tuple[str, str]]:
    delays = sorted(d for s in scored for d in s.delays.values())
    if delays:
        at = [delays[min(len(delays) - 1, int(q * len(delays)))] for q in (0.5, 0.9)]
        yield "first appears after, median and 90 %", f"{at[0]:.1%}, {at[1]:.1%} of the run"
    healthy = [s for s in scored if s.label.healthy]
    prefixes = sum(s.prefixes for s in healthy)
    wrong = {(s.label.name, cut) for s in healthy for cut, _, _ in s.prefix_alarms}
    bad = {(s.label.name, cut) for s in healthy for cut, _, hard in s.prefix_alarms if hard}
    yield "prefixes of healthy runs with an alarm", _share(len(wrong), prefixes)
    yield "... at level bad", _share(len(bad), prefixes)


def _changed(scored: Sequence[Scored]) -> Iterable[tuple[str, str]]:
    hits = sum(len(s.hits) for s in scored)
    for form in FORMS:
        kept = sum(len(s.hits.keys() & s.form_hits.get(form, set())) for s in scored)
        new = sum(len(s.form_alarms.get(form, set()) - s.alarms.keys()) for s in scored)
        yield f"{form}: hits lost, new false alarms", f"{_share(hits - kept, hits)}, {new}"
    yield "5 % noise: levels that flip", _share(sum(s.flips for s in scored), 3 * len(scored))


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
