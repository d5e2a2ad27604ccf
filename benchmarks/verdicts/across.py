"""Verdicts by where runs come from: ``python -m benchmarks.verdicts.across LABELS...``.

The origin of a run is its framework and who made the logs. A third of the origins, chosen by the
hash of the name, is sealed: they are judged with ``--sealed`` alone, once, so that nothing is
chosen by looking at them, and no limit is computed from them.

The first column of the first table is the headline: each open origin is judged with limits that
are computed from the healthy runs of all others (see ``limits``). Beside it stand the open origins
judged with the limits that are shipped and, with ``--sealed``, the sealed third and all. The second
table has a line for each origin, judged without itself if it is an open one.

LABELS are ``labels.yaml`` files, or directories with one.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from benchmarks.machine import table
from benchmarks.verdicts.figures import counts, healthy_alarms, measures, score_all, share
from benchmarks.verdicts.labels import arguments, by_origin, is_sealed, judged_rules
from benchmarks.verdicts.limits import limits_without, reached_by_origin
from benchmarks.verdicts.score import Scored

HEAD = ("origin", "runs", "recall", "at bad", "precision", "healthy", "any alarm", "bad alarm")


def headline(
    without: Mapping[str, Sequence[Scored]], scored: Mapping[str, Sequence[Scored]], *, quick: bool
) -> list[str]:
    """The table of all measures: of the open origins by limits ``without`` themselves and by those
    of all, of the sealed ones and of all if any sealed one was judged."""
    columns = {
        "without itself": without,
        "open origins": {k: v for k, v in scored.items() if not is_sealed(k)},
        "sealed third": {k: v for k, v in scored.items() if is_sealed(k)},
        "all": scored,
    }
    if not columns["sealed third"]:
        columns = dict(list(columns.items())[:2])
    cells = [dict(_measures(found, quick=quick)) for found in columns.values()]
    rows = [(what, *(each.get(what, "none") for each in cells)) for what in cells[-1]]
    return table(("what", *columns), rows)


def _measures(scored: Mapping[str, Sequence[Scored]], *, quick: bool) -> list[tuple[str, str]]:
    """Those of the runs of all origins, and in how many origins something is wrong."""
    missed = sum(any(len(s.hits) < len(s.label.failures) for s in x) for x in scored.values())
    alarmed = sum(any(s.alarms for s in x) for x in scored.values())
    first = ("origins, with a missed failure, a false alarm", f"{len(scored)}, {missed}, {alarmed}")
    return [first, *measures([s for x in scored.values() for s in x], quick=quick)]


def figures(name: str, scored: Sequence[Scored]) -> tuple[str, ...]:
    """A row of the table by origin, see ``HEAD``."""
    demanded, hits, at_bad, alarms = counts(scored)
    return (
        name,
        str(len(scored)),
        share(hits, demanded),
        share(at_bad, demanded),
        share(hits, hits + alarms),
        *map(str, healthy_alarms(scored)),
    )


def main() -> int:
    """Judge the labelled runs, and print the tables."""
    parser = arguments(".across", __doc__)
    parser.add_argument("--sealed", action="store_true", help="the sealed origins, too")
    parser.add_argument("--quick", action="store_true", help="recall and false alarms only")
    options = parser.parse_args()
    opened = by_origin(options.labels, sealed=False)
    origins = opened | (by_origin(options.labels, sealed=True) if options.sealed else {})
    labels = [label for found in origins.values() for label in found]
    known = judged_rules(labels)
    done = iter(score_all(labels, known, options.jobs, quick=options.quick))
    scored = {name: [next(done) for _ in found] for name, found in origins.items()}
    changed = limits_without(reached_by_origin(opened, options.jobs))
    again = {
        name: score_all(opened[name], known, options.jobs, quick=options.quick, limits=limits)
        for name, limits in changed.items()
    }
    without = {name: again.get(name, scored[name]) for name in opened}
    lines = headline(without, scored, quick=options.quick)
    rows = [figures(*each) for each in sorted((scored | without).items())]
    sys.stdout.write("\n".join([*lines, "", *table(HEAD, rows)]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
