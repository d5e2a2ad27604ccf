"""What is said of many labelled runs together: recall, precision, alarms, delay, steadiness."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache

from benchmarks.verdicts.labels import Label
from benchmarks.verdicts.replay import Judge
from benchmarks.verdicts.score import FORMS, GRID, Scored, score
from rltui.health.parameters import Healthy
from rltui.health.rules import load_rules

Job = tuple[Label, frozenset[str], bool, float, Healthy | None]


def score_all(
    labels: Iterable[Label],
    known: frozenset[str],
    jobs: int,
    *,
    quick: bool = False,
    grid: float = GRID,
    limits: Healthy | None = None,
) -> list[Scored]:
    """Judge labelled runs in ``jobs`` processes, by the shipped rules or these with other
    ``limits`` from healthy runs; see :func:`benchmarks.verdicts.score.score`."""
    with ProcessPoolExecutor(jobs) as pool:
        return list(pool.map(_score, [(label, known, quick, grid, limits) for label in labels]))


def _score(job: Job) -> Scored:
    label, known, quick, grid, limits = job
    return score(label, _judge(limits), known, quick=quick, grid=grid)


@cache
def _judge(limits: Healthy | None) -> Judge:
    """One per process: documents are read once."""
    return Judge(load_rules(limits=limits.of) if limits else None)


def measures(scored: Sequence[Scored], *, quick: bool) -> list[tuple[str, str]]:
    """(what, measured) for a table; ``quick``: only what needs no prefixes and changed forms."""
    rows = [*_exact(scored)]
    return rows if quick else [*rows, *_appears(scored), *_changed(scored)]


def share(part: int, whole: int) -> str:
    """In percent, with both numbers."""
    return f"{100 * part / whole:.0f} % ({part} of {whole})" if whole else "none"


def counts(scored: Sequence[Scored]) -> tuple[int, int, int, int]:
    """Failures demanded, found, found at level bad; false alarms."""
    return (
        sum(len(s.label.failures) for s in scored),
        sum(len(s.hits) for s in scored),
        sum(sum(s.hits.values()) for s in scored),
        sum(len(s.alarms) for s in scored),
    )


def healthy_alarms(scored: Sequence[Scored]) -> tuple[int, int, int]:
    """Healthy runs, those with a false alarm of any level, with one at level bad."""
    healthy = [s for s in scored if s.label.healthy]
    hard = sum(any(s.alarms.values()) for s in healthy)
    return len(healthy), sum(bool(s.alarms) for s in healthy), hard


def _exact(scored: Sequence[Scored]) -> Iterable[tuple[str, str]]:
    demanded, hits, at_bad, alarms = counts(scored)
    healthy, soft, hard = healthy_alarms(scored)
    yield "runs, healthy ones", f"{len(scored)}, {healthy}"
    yield "recall", share(hits, demanded)
    yield "recall at level bad", share(at_bad, demanded)
    yield "precision", share(hits, hits + alarms)
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
    wrong = {(s.label.path, cut) for s in healthy for cut, _, _ in s.prefix_alarms}
    bad = {(s.label.path, cut) for s in healthy for cut, _, hard in s.prefix_alarms if hard}
    yield "prefixes of healthy runs with an alarm", share(len(wrong), prefixes)
    yield "... at level bad", share(len(bad), prefixes)


def _changed(scored: Sequence[Scored]) -> Iterable[tuple[str, str]]:
    demanded, hits, *_ = counts(scored)
    for form in FORMS:
        found = sum(len(s.form_hits.get(form, set())) for s in scored)
        kept = sum(len(s.hits.keys() & s.form_hits.get(form, set())) for s in scored)
        new = sum(len(s.form_alarms.get(form, set()) - s.alarms.keys()) for s in scored)
        yield f"{form}: recall", share(found, demanded)
        yield f"{form}: hits lost, new false alarms", f"{share(hits - kept, hits)}, {new}"
    yield "5 % noise: levels that flip", share(sum(s.flips for s in scored), 3 * len(scored))
