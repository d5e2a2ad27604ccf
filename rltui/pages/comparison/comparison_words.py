"""Sentences on a comparison: whether groups differ, and what makes runs hard to compare."""

from __future__ import annotations

from collections.abc import Sequence

from rltui.draw.entries import indented
from rltui.draw.line import MUTED, Line
from rltui.draw.prose import paragraph
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.difference import difference
from rltui.facts.groups import setting_of
from rltui.pages.comparison.lines import Column, Comparison, Row

#: Runs whose last steps differ by more than this factor are said to end apart.
_APART = 1.1
#: Hyperparameters in the sentence on a run.
_MOST_SETTINGS = 6
#: Lines of the sentences on groups, and the width from which two suffice.
_ON_GROUPS, _WIDE = 3, 100


def count_of_lines(comparison: Comparison, width: int) -> int:
    """Lines that the sentences take."""
    if comparison.grouping is not None:
        return _ON_GROUPS - (width >= _WIDE)
    return 1 if comparison.sweep.settings or ends_words(comparison) else 0


def lines_of_words(
    comparison: Comparison, metric: Column, here: Row | None, view: View, width: int, height: int
) -> list[Line]:
    """All sentences in at most ``height`` lines of ``width`` cells."""
    found = (
        group_words(comparison, comparison.ordered("metric", metric), metric, here),
        settings_words(comparison, here),
        ends_words(comparison),
    )
    text = view.glyphs.text("; ".join(x for x in found if x))
    margin = 2 if width >= 110 else 1
    lines = paragraph(text, width - margin - 1, MUTED, limit=height) if text else []
    return indented(lines, margin)


def group_words(
    comparison: Comparison, rows: Sequence[Row], metric: Column, here: Row | None
) -> str:
    """Whether the group at the cursor differs from the best one (the best from the second), in
    words; empty without groups."""
    ranked = [r for r in rows if len(comparison.numbers_of(r, metric))]
    if comparison.grouping is None or here is None or len(ranked) < 2 or here not in ranked:
        return ""
    other = ranked[0] if here is not ranked[0] else ranked[1]
    first, second = (here, other) if here is ranked[0] else (other, here)
    a, b = comparison.numbers_of(first, metric), comparison.numbers_of(second, metric)
    found = difference(a, b)
    if found is None:
        return ""
    sign = "+" if found.difference > 0 else "-"
    size = f"{sign} {numbers.value(abs(found.difference))}" if found.difference else "no difference"
    facts = f"{first.name} against {second.name}: {size} in {metric.title}"
    chance = f"chance alone: {numbers.percent(found.chance)}"
    runs = f"{len(a)} and {len(b)} runs"
    if found.is_real:
        verdict = f"larger than the spread over runs explains ({chance}; {runs})"
    elif found.can_tell:
        verdict = f"no larger than the spread over runs ({chance}; {runs})"
    elif found.chance <= found.rarest * 1.001 and len(a) + len(b) > 2:
        verdict = f"the runs do not overlap, but {runs} are too few to be sure ({chance})"
    else:
        verdict = f"{runs} are too few to tell"
    return f"{facts}; {verdict}"


def settings_words(comparison: Comparison, here: Row | None) -> str:
    """The hyperparameters in which the runs differ, with the values of the row at the cursor;
    empty where none is logged."""
    if here is None or comparison.grouping is not None:
        return ""
    names = [n for n in comparison.sweep.settings if setting_of(here.runs[0], n)]
    if not names:
        return ""
    shown = [f"{n} {setting_of(here.runs[0], n)}" for n in names[:_MOST_SETTINGS]]
    more = len(names) - len(shown)
    return f"{here.name}: {', '.join(shown)}" + (f" and {more} more" if more else "")


def ends_words(comparison: Comparison) -> str:
    """That the runs did not get equally far; empty when they did."""
    last = [r.progress.last_step for r in comparison.runs if r.progress is not None]
    known = [s for s in last if s]
    if not known or max(known) < _APART * min(known):
        return ""
    return f"the runs are at steps {numbers.step(min(known))} to {numbers.step(max(known))}"
