"""Runs that were marked to be compared, and what distinguishes them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from rltui.core.batch import RunKey
from rltui.facts.groups import Sweep, setting_of
from rltui.session import RunView
from rltui.session.hyperparameters import last_part

#: Runs that have a line of their own in a chart, each in a colour of its own.
LINES = 5
#: Hyperparameters in the label of a run.
_MOST_SETTINGS = 2


@dataclass(frozen=True, slots=True)
class Marked:
    """A run with the slot that it keeps for as long as it is marked."""

    run: RunView
    slot: int


def toggled(marked: Sequence[Marked], run: RunView) -> tuple[Marked, ...]:
    """The marks with one more run, in the lowest free slot, or without it."""
    rest = [m for m in marked if m.run is not run]
    if len(rest) < len(marked):
        return tuple(rest)
    mark = Marked(run, _free({m.slot for m in rest}))
    return tuple(sorted([*rest, mark], key=lambda m: m.slot))


def following(marked: tuple[Marked, ...], runs: Mapping[RunKey, RunView]) -> tuple[Marked, ...]:
    """The marks on the records of the runs that are shown now; without those that vanished."""
    if all(runs.get(m.run.key) is m.run for m in marked):
        return marked
    return tuple(Marked(runs[m.run.key], m.slot) for m in marked if m.run.key in runs)


def marked_again(
    marked: tuple[Marked, ...],
    slots: Mapping[RunKey, int],
    runs: Mapping[RunKey, RunView],
) -> tuple[Marked, ...]:
    """The marks with those of ``slots`` whose runs are there; where a slot has been taken, in the
    lowest free one."""
    for key, slot in slots.items():
        run = runs.get(key)
        if run is not None and slot_of(marked, run) is None:
            taken = {m.slot for m in marked}
            marked = (*marked, Marked(run, _free(taken) if slot in taken else slot))
    return tuple(sorted(marked, key=lambda m: m.slot))


def _free(taken: Collection[int]) -> int:
    """The lowest free slot."""
    return next(i for i in range(len(taken) + 1) if i not in taken)


def slot_of(marked: Sequence[Marked], run: RunView) -> int | None:
    """The slot of a run; None when it is not marked."""
    return next((m.slot for m in marked if m.run is run), None)


def slot_sign(slot: int) -> str:
    """One cell that names a slot without colour: 1 to 9, then ``+``."""
    return str(slot + 1) if slot < 9 else "+"


def run_labels(sweep: Sweep) -> list[tuple[str, str]]:
    """The name of each run of a sweep, and as a note its values of the main hyperparameters in
    which the runs differ, but for those that the names hold: "fox", "(lr 1e-6)"."""
    runs = sweep.runs
    found = list(islice((n for n in sweep.settings if not _is_named(runs, n)), _MOST_SETTINGS))
    labels = []
    for run in runs:
        values = (f"{last_part(n)} {setting_of(run, n) or 'not set'}" for n in found)
        labels.append((run.name, f"({', '.join(values)})" if found else ""))
    return labels


def _is_named(runs: Sequence[RunView], setting: str) -> bool:
    """Whether the name of every run holds its value of a hyperparameter."""
    return all((value := setting_of(r, setting)) and value in r.name for r in runs)
