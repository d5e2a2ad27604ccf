"""The runs, chosen by rules, and what a right answer about each is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from benchmarks.verdicts.failures_2026 import FAILURES, ROWS, Log, framework, logs, write
from benchmarks.verdicts.labels import Label, read_labels
from rltui.demo import SCENARIOS, DemoRun
from rltui.demo.scenario import Rows
from rltui.demo.verl_tags import SB3_STRIDE

OWN = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "labelled"
#: Strength of a made failure, in times its limit.
_STRENGTH = "1.2"
#: Rows of a run of the demo, and their seed.
_ROWS, _SEED = 200, 7
#: How a run of the demo ends, as its label.
_ENDINGS = {"crash": "out_of_memory", "hang": "stalled"}
#: What else names the failure of a scenario: its NaN comes two rows after a spike of the gradient.
_ALSO = {"nan": ("gradient_explosion",)}


class Failure(NamedTuple):
    """One failure of a run."""

    rules: tuple[str, ...]
    """Ids of the rules that name it, or how the run ended."""
    earliest: float
    """Step from which it may be told to begin, and up to which."""
    latest: float
    is_over: bool = False
    """It is no more at the end: to be mentioned, and nothing is left to do."""


class Case(NamedTuple):
    """One run."""

    name: str
    kind: str
    """Where it is from: recorded, demo, made, or the name of a corpus."""
    path: Path
    failures: tuple[Failure, ...] = ()
    """Any of them may be told first; none in a healthy run."""


def cases(folder: Path, corpora: Iterable[Label], held: ExitStack) -> Iterator[Case]:
    """All runs; those that are made are written below ``folder``, and ``held`` open as by a process
    that hangs."""
    yield from (_labelled(label, "recorded") for label in read_labels(OWN))
    yield from _demo(folder, held)
    yield from _made(folder)
    yield from (_labelled(label, label.corpus) for label in corpora)


def _around(
    rules: tuple[str, ...], step: float, steps: float, first: float, until: float | None = None
) -> Failure:
    """A failure that begins at a step, or ``first`` there, give or take a tenth of the run; it is
    over where it lasted ``until`` more than that before the end."""
    margin = 0.1 * steps
    is_over = until is not None and until < steps - margin
    return Failure(rules, min(step, first) - margin, step + margin, is_over)


def _labelled(label: Label, kind: str) -> Case:
    failures = []
    for f in label.failures:
        first = f.visible_from if f.earliest is None else f.earliest
        failures.append(_around(f.rules, f.visible_from, label.steps, first, f.until))
    return Case(label.name, kind, label.path, tuple(failures))


def _demo(folder: Path, held: ExitStack) -> Iterator[Case]:
    """Every scenario of the demo that is one run."""
    for name, scenario in SCENARIOS.items():
        if scenario.runs:
            continue
        path = folder / "demo" / name
        held.enter_context(closing(DemoRun(path, name, _SEED, _ROWS))).write_history(_ROWS)
        named = scenario.rule or _ENDINGS.get(scenario.ending)
        stride = Rows(scenario, _SEED, _ROWS).stride
        onset = (scenario.onset_of(_ROWS) or 0) * stride
        rules = (named or "", *_ALSO.get(name, ()))
        found = (_around(rules, onset, _ROWS * stride, onset),) if named else ()
        yield Case(name, "demo", path, found)


def _made(folder: Path) -> Iterator[Case]:
    """Of each failure of the list the first row, and the first of its healthy logs that have
    something like it."""
    for _, rows in groupby(FAILURES, lambda f: f.row.rstrip("abcdefgh")):
        of_kind = [log for row in rows if not row.quiet for log in logs(row)]
        make = partial(_written, folder / "made")
        usual = (_STRENGTH, "0.8", "2", "healthy", "noisy")
        yield from [make(log) for log in of_kind if log.kind == _STRENGTH][:1]
        yield from [make(log) for log in of_kind if log.kind not in usual][:1]


def _written(folder: Path, log: Log) -> Case:
    """It can be seen once a sign is beyond its limit, and may be told since the sign began."""
    path, failure = write(log, folder), log.failure
    slide = min(s.crossed(failure.onset, float(_STRENGTH)) for s in failure.signs.values())
    stride = SB3_STRIDE if framework(failure.framework).rows == "sb3" else 1
    onset, steps = (failure.onset + 1) * stride, ROWS * stride
    found = _around(failure.rules, onset + slide * stride, steps, onset)
    return Case(log.name, "made", path, () if log.healthy else (found,))
