"""Verdicts by where runs come from: ``python -m benchmarks.verdicts.across LABELS...``.

The origin of a run is its framework and who made the logs. A third of the origins is sealed: they
are judged with ``--sealed`` alone, once, so that no limit is chosen by looking at them.

The runs are judged with the limits as shipped. None of these is fitted to runs yet, so leaving an
origin out of their making changes nothing, and the figures of an origin are those without it.

LABELS are ``labels.yaml`` files, or directories with one.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.machine import table
from benchmarks.verdicts.labels import Label, judged_rules, read_labels
from benchmarks.verdicts.replay import Judge
from benchmarks.verdicts.score import Scored, score

HEAD = ("origin", "runs", "recall", "at bad", "precision", "healthy", "any alarm", "bad alarm")
#: One of this many origins is sealed.
_SEALED_SHARE = 3
_FRAMEWORK_END = re.compile(r"[ ,(/]")
_REPOSITORY = re.compile(r"\s*(?:https?://)?(?:github\.com/|huggingface\.co/)?([\w.-]+)/[\w.-]+")
_judge: Judge | None = None


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


def figures(name: str, scored: Sequence[Scored]) -> tuple[str, ...]:
    """A row of the table, see ``HEAD``."""
    demanded = sum(len(s.label.failures) for s in scored)
    hits = sum(len(s.hits) for s in scored)
    alarms = sum(len(s.alarms) for s in scored)
    healthy = [s for s in scored if s.label.healthy]
    return (
        name,
        str(len(scored)),
        _share(hits, demanded),
        _share(sum(sum(s.hits.values()) for s in scored), demanded),
        _share(hits, hits + alarms),
        str(len(healthy)),
        str(sum(bool(s.alarms) for s in healthy)),
        str(sum(any(s.alarms.values()) for s in healthy)),
    )


def report(scored: Mapping[str, Sequence[Scored]]) -> list[str]:
    """The table: all runs, then each origin."""
    everything = figures("all", [s for found in scored.values() for s in found])
    return table(HEAD, [everything, *(figures(name, found) for name, found in scored.items())])


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} % ({part} of {whole})" if whole else "none"


def _score(job: tuple[Label, frozenset[str]]) -> Scored:
    global _judge  # noqa: PLW0603 - one per process: documents are read once
    _judge = _judge or Judge()
    return score(job[0], _judge, job[1], quick=True)


def main() -> int:
    """Judge the labelled runs, and print the table."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.verdicts.across",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("labels", nargs="+", type=Path, metavar="LABELS")
    parser.add_argument("--sealed", action="store_true", help="only the sealed origins")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    origins = by_origin(options.labels, sealed=options.sealed)
    labels = [label for found in origins.values() for label in found]
    known = judged_rules(labels)
    with ProcessPoolExecutor(options.jobs) as pool:
        done = iter(list(pool.map(_score, [(label, known) for label in labels])))
    scored = {name: [next(done) for _ in found] for name, found in origins.items()}
    sys.stdout.write("\n".join(report(scored)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
