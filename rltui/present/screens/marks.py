"""Runs that were marked to be compared, and how they are told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rltui.present.kit.line import MUTED, Style, Token, style
from rltui.present.kit.names import distinct
from rltui.session import RunView

#: The colours of compared runs, by slot. More lines cannot be told apart in one chart.
RUN_TOKENS = (Token.RUN_1, Token.RUN_2, Token.RUN_3, Token.RUN_4, Token.RUN_5)


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
    taken = {m.slot for m in rest}
    free = next(i for i in range(len(rest) + 1) if i not in taken)
    return tuple(sorted([*rest, Marked(run, free)], key=lambda m: m.slot))


def slot_of(marked: Sequence[Marked], run: RunView) -> int | None:
    """The slot of a run; None when it is not marked."""
    return next((m.slot for m in marked if m.run is run), None)


def slot_sign(slot: int) -> str:
    """One cell that names a slot without colour: 1 to 9, then ``+``."""
    return str(slot + 1) if slot < 9 else "+"


def slot_look(slot: int) -> Style:
    """The look of the sign of a slot: its colour, if it has a line of its own."""
    return style(RUN_TOKENS[slot], bold=True) if slot < len(RUN_TOKENS) else MUTED


def short_names(runs: Sequence[RunView], width: int, ellipsis: str = "…") -> tuple[str, ...]:
    """The names of runs in at most ``width`` cells, without what all of them begin with."""
    return distinct(tuple(differing_parts([r.name for r in runs])), width, ellipsis)


def differing_parts(names: Sequence[str]) -> list[str]:
    """The names from the first whole word on in which they differ."""
    if len(set(names)) < 2:
        return list(names)
    low, high = min(names), max(names)
    pairs = zip(low, high, strict=False)
    shared = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(low), len(high)))
    begin = max((low.rfind(c, 0, shared) for c in "/-_. "), default=-1) + 1
    rest = [n[begin:] for n in names]
    return rest if all(rest) else list(names)
