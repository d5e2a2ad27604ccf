"""Compares what was said of a run with its label."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from benchmarks.verdicts.labels import Failure, Label
from benchmarks.verdicts.replay import Judge, Logged, Said

#: Distance of the prefixes that are judged, as share of the run.
GRID = 0.05
#: Changed forms of a run, by name.
FORMS = ("every 2nd row", "every 3rd row", "5 % noise")
_NOISE, _SEEDS = 0.05, (1, 2, 3)


@dataclass(slots=True)
class Scored:
    """One labelled run: what was found in it, and when."""

    label: Label
    hits: dict[str, bool] = field(default_factory=dict)
    """Demanded rule -> whether it was found at level bad; missing: not found."""
    alarms: dict[str, bool] = field(default_factory=dict)
    """Rule that nobody labelled -> whether at level bad."""
    delays: dict[str, float] = field(default_factory=dict)
    """Demanded rule -> how long after it was visible it first appeared, as share of the run."""
    prefix_alarms: list[tuple[float, str, bool]] = field(default_factory=list)
    """(share of the run, rule, at level bad): what was wrongly said of a prefix."""
    form_hits: dict[str, set[str]] = field(default_factory=dict)
    """Changed form -> demanded rules found in it."""
    form_alarms: dict[str, set[str]] = field(default_factory=dict)
    """Changed form -> rules that nobody labelled."""
    flips: int = 0
    """Noisy forms whose worst level is another one."""
    unreadable: bool = False
    prefixes: int = 0
    """How many prefixes were judged."""


def cuts(grid: float) -> tuple[float, ...]:
    """The prefixes that are judged, as shares of the run: multiples of ``grid``, the last one is
    the whole run."""
    count = round(1 / grid)
    return (*(round(grid * i, 6) for i in range(1, count)), 1.0)


def score(
    label: Label,
    judge: Judge,
    known: frozenset[str],
    *,
    quick: bool = False,
    grid: float = GRID,
) -> Scored:
    """Judge a labelled run; ``known``: rules that labels speak of. ``quick``: as it is only.
    ``grid``: distance of the prefixes, as share of the run."""
    runs = judge.read(label.path)
    out = Scored(label, unreadable=not runs)
    said = [s for run in runs for s in judge.judge(run)]
    out.hits = {s.rule: any(f.bad for f in found) for s, found in met_by(label, said) if found}
    out.alarms = alarms_of(label, said, known)
    if not quick:
        _replay(out, runs, judge, known, grid)
        _change(out, runs, judge, known, level_of(said))
    return out


def met_by(label: Label, said: Iterable[Said]) -> list[tuple[Failure, list[Said]]]:
    """Each demanded failure with the findings that meet it."""
    said = list(said)
    return [
        (
            failure,
            [
                f
                for f in said
                if f.rule in failure.rules
                and (f.since is None or f.since >= failure.begins(label.steps))
            ],
        )
        for failure in label.failures
    ]


def alarms_of(label: Label, said: Iterable[Said], known: frozenset[str]) -> dict[str, bool]:
    """Wrong alarms; of rules that no label names only on healthy runs."""
    out: dict[str, bool] = {}
    for f in said:
        if f.rule not in label.allowed and (f.rule in known or label.healthy):
            out[f.rule] = out.get(f.rule, False) or f.bad
    return out


def level_of(said: Iterable[Said]) -> int:
    """0 without a finding, 1 for watch, 2 for bad."""
    return max((2 if f.bad else 1 for f in said), default=0)


def _replay(
    out: Scored, runs: Sequence[Logged], judge: Judge, known: frozenset[str], grid: float
) -> None:
    label = out.label
    for share in cuts(grid):
        out.prefixes += 1
        said: list[Said] = []
        newest = 0.0
        for run in runs:
            first, last = run.span
            cut = first + share * (last - first)
            newest = max(newest, cut)
            said += judge.judge(run.until(cut))
        for failure, found in met_by(label, said):
            if found and failure.rule not in out.delays:
                late = (newest - failure.visible_from) / max(label.steps, 1)
                out.delays[failure.rule] = max(0.0, late)
        out.prefix_alarms += [(share, r, bad) for r, bad in alarms_of(label, said, known).items()]


def _change(
    out: Scored, runs: Sequence[Logged], judge: Judge, known: frozenset[str], level: int
) -> None:
    forms = {
        FORMS[0]: [[run.thinned(2) for run in runs]],
        FORMS[1]: [[run.thinned(3) for run in runs]],
        FORMS[2]: [[run.noisy(_NOISE, seed) for run in runs] for seed in _SEEDS],
    }
    for name, samples in forms.items():
        for sample in samples:
            said = [s for run in sample for s in judge.judge(run)]
            hits = {s.rule for s, found in met_by(out.label, said) if found}
            before = out.form_hits.setdefault(name, hits)
            out.form_hits[name] = before & hits
            out.form_alarms.setdefault(name, set()).update(alarms_of(out.label, said, known))
            if name == FORMS[2] and level_of(said) != level:
                out.flips += 1
