"""Verdicts by where runs come from: ``python -m benchmarks.verdicts.across LABELS...``.

The origin of a run is its framework and who made the logs. A third of the origins, chosen by the
hash of the name, is sealed: they are judged with ``--sealed`` alone, once, so that nothing is
chosen by looking at them. The first table has a column for the open origins and, with ``--sealed``,
one for the sealed third and one for all; the second a line for each origin.

No script computes a limit of the shipped rules from runs, so there is nothing to compute anew
without an origin: the figures are those with all at hand.

LABELS are ``labels.yaml`` files, or directories with one.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.machine import table
from benchmarks.verdicts.figures import counts, healthy_alarms, measures, score_all, share
from benchmarks.verdicts.labels import Label, arguments, judged_rules, read_labels
from benchmarks.verdicts.score import Scored

HEAD = ("origin", "runs", "recall", "at bad", "precision", "healthy", "any alarm", "bad alarm")
#: One of this many origins is sealed.
_SEALED_SHARE = 3
_FRAMEWORK_END = re.compile(r"[ ,(/]")
_REPOSITORY = re.compile(r"\s*(?:https?://)?(?:github\.com/|huggingface\.co/)?([\w.-]+)/[\w.-]+")


def origin(corpus: str, framework: str, made: str) -> str:
    """Where a run comes from: the first word of its framework, and the owner of the repository for
    a corpus of published logs, else the name of the corpus."""
    word = _FRAMEWORK_END.split(framework.strip().lower())[0]
    found = _REPOSITORY.match(made) if corpus.startswith("public") else None
    return f"{word} {found[1].lower() if found else corpus}"


def is_sealed(name: str) -> bool:
    """Whether an origin is kept aside, by the hash of its name."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % _SEALED_SHARE == 0


def by_origin(files: Iterable[Path], *, sealed: bool) -> dict[str, list[Label]]:
    """The labels of all files by origin, of the sealed origins or of the others. Raises OSError."""
    found: dict[str, list[Label]] = {}
    for label in (x for file in files for x in read_labels(file)):
        name = origin(label.corpus, label.full_framework, label.made)
        if is_sealed(name) == sealed:
            found.setdefault(name, []).append(label)
    return dict(sorted(found.items()))


def headline(scored: Mapping[str, Sequence[Scored]], *, quick: bool) -> list[str]:
    """The table of all measures: of the open origins, and of the sealed ones and all if any was
    judged."""
    columns = {
        "open origins": {k: v for k, v in scored.items() if not is_sealed(k)},
        "sealed third": {k: v for k, v in scored.items() if is_sealed(k)},
        "all": scored,
    }
    if not columns["sealed third"]:
        columns = {"open origins": scored}
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
    origins = by_origin(options.labels, sealed=False)
    if options.sealed:
        origins |= by_origin(options.labels, sealed=True)
    labels = [label for found in origins.values() for label in found]
    known = judged_rules(labels)
    done = iter(score_all(labels, known, options.jobs, quick=options.quick))
    scored = {name: [next(done) for _ in found] for name, found in origins.items()}
    lines = headline(scored, quick=options.quick)
    lines += ["", *table(HEAD, [figures(*each) for each in sorted(scored.items())])]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
