"""Runs that were marked to be compared, and what distinguishes them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from rltui.core.batch import RunKey
from rltui.core.text import cell_width
from rltui.present.kit.line import MUTED, RUN_TOKENS, Style, style
from rltui.present.kit.names import distinct
from rltui.session import RunView
from rltui.session.groups import Sweep, setting_of
from rltui.session.hyperparameters import last_part

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


def slot_look(slot: int) -> Style:
    """The look of the sign of a slot: its colour, if it has a line of its own."""
    return style(RUN_TOKENS[slot], bold=True) if slot < len(RUN_TOKENS) else MUTED


def run_labels(sweep: Sweep, width: int, ellipsis: str = "…") -> tuple[str, ...]:
    """What distinguishes each run of a sweep, in at most ``width`` cells: the values of the main
    hyperparameters that differ, the part of the name in which they differ, or both."""
    names = differing_parts([r.name for r in sweep.runs])
    for most in range(_MOST_SETTINGS, 0, -1):
        settings = setting_words(sweep, most)
        if all(settings) and len(set(settings)) == len(names):
            labels = settings
        else:
            pairs = zip(names, settings, strict=True)
            labels = [" ".join(x for x in pair if x) for pair in pairs]
        if all(cell_width(x) <= width for x in labels):
            return tuple(labels)
    return distinct(tuple(names), width, ellipsis)


def setting_words(sweep: Sweep, most: int = _MOST_SETTINGS) -> list[str]:
    """For each run of a sweep the main hyperparameters in which they differ, ``most`` of them;
    empty texts where there are none but those that the names hold."""
    runs = sweep.runs
    found = list(islice((n for n in sweep.settings if not _is_named(runs, n)), most))
    return [
        ", ".join(f"{last_part(n)} {setting_of(r, n) or 'not set'}" for n in found) for r in runs
    ]


def _is_named(runs: Sequence[RunView], setting: str) -> bool:
    """Whether the name of every run holds its value of a hyperparameter."""
    return all((value := setting_of(r, setting)) and value in r.name for r in runs)


def differing_parts(names: Sequence[str]) -> list[str]:
    """The names from the first whole word on in which they differ."""
    if len(set(names)) < 2:
        return list(names)
    low, high = min(names), max(names)
    pairs = zip(low, high, strict=False)
    shared = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(low), len(high)))
    begin = max((low.rfind(c, 0, shared) for c in "/-_. "), default=-1) + 1
    while begin and any(n[begin : begin + 1].isdigit() for n in names):
        if low[begin - 1] not in "-_ ":
            break  # else a number keeps its word: lr-1e-6, seed_3
        begin = max((low.rfind(c, 0, begin - 1) for c in "/-_. "), default=-1) + 1
    rest = [n[begin:] for n in names]
    return rest if all(rest) else list(names)
