"""Runs or groups of runs side by side, as text or Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rltui.core.errors import UsageError
from rltui.core.text import cell_width, pad
from rltui.core.yaml_document import nearest
from rltui.facts import numbers
from rltui.facts.comparison import Column, Comparison, Row, ends_words, group_words, window_words
from rltui.facts.groups import Grouping, Sweep
from rltui.output.markdown import escaped
from rltui.session import RunView
from rltui.session.naming import called

#: Groupings that an error names.
_MOST_NAMED = 8
#: Metrics of the table: the headline and the first vital signs.
_MOST_METRICS = 6


def compared(runs: Sequence[RunView], names: Sequence[str]) -> list[RunView]:
    """The runs that ``names`` (or globs) refer to, in that order. Raises UsageError for a name
    without a run."""
    found: dict[RunView, None] = {}
    known = {run: run.names for run in runs}
    for name in names:
        matching = called(name, known)
        if not matching:
            raise UsageError(f"no run {name!r}", hint=nearest(name, [r.name for r in runs]))
        found.update(dict.fromkeys(matching))
    return list(found)


def grouping_named(runs: Sequence[RunView], name: str) -> Grouping:
    """The grouping ``name``: ``name``, or a hyperparameter. Raises UsageError when the runs cannot
    be grouped by it."""
    found = Sweep(runs).groupings
    for grouping in found:
        if grouping.title == name:
            return grouping
    known = ", ".join(g.title for g in found[:_MOST_NAMED])
    if len(found) > _MOST_NAMED:
        known += f" and {len(found) - _MOST_NAMED} more settings"
    known = known or "nothing: most runs share no name or setting"
    hint = nearest(name, [g.title for g in found])
    raise UsageError(f"cannot group by {name!r}; the runs can be grouped by {known}", hint=hint)


def comparison_text(runs: Sequence[RunView], by: str, reference: RunView | None) -> str:
    """The table in columns, and below it whether the groups differ."""
    heads, rows, notes = _contents(runs, by, reference)
    table = [heads, *rows]
    widths = [max(cell_width(line[n]) for line in table) for n in range(len(heads))]
    lines = [
        "  ".join(pad(cell, width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in table
    ]
    return "\n".join([*lines, *(["", *notes] if notes else [])]) + "\n"


def comparison_markdown(runs: Sequence[RunView], by: str, reference: RunView | None) -> str:
    """The same as Markdown."""
    heads, rows, notes = _contents(runs, by, reference)
    lines = [_table_row(heads, escaped), _table_row(["---"] * len(heads), str)]
    lines += [_table_row(row, escaped) for row in rows]
    return "\n".join([*lines, *(x for n in notes for x in ("", escaped(n)))]) + "\n"


def _table_row(cells: Sequence[str], write: Callable[[str], str]) -> str:
    return f"| {' | '.join(write(c) for c in cells)} |"


def _contents(
    runs: Sequence[RunView], by: str, reference: RunView | None
) -> tuple[list[str], list[list[str]], list[str]]:
    """Heads, rows, and sentences below them."""
    if by:
        grouping_named(runs, by)
    comparison = Comparison(runs, (), by, None, reference)
    metrics = comparison.columns[:_MOST_METRICS]
    first = metrics[0] if metrics else None
    heads = ["group" if by else "run", "runs" if by else "step", "verdict"]
    heads += [m.title for m in metrics]
    ordered = comparison.ordered("metric", first)
    rows = []
    for row in ordered:
        last = row.runs[0].progress.last_step if row.runs[0].progress else None
        count = str(len(row.runs)) if by else numbers.step(last)
        cells = [row.name, count, comparison.verdict_words(row)]
        rows.append(cells + [_cell(comparison, row, m) for m in metrics])
    notes = [] if first is None else [group_words(comparison, ordered, first, r) for r in ordered]
    notes = list(dict.fromkeys(n for n in [*notes, ends_words(comparison)] if n))
    if metrics:
        notes.append(window_words() + (", ± standard deviation over runs" if by else ""))
    if any(comparison.best(m) is not None for m in metrics):
        notes.append("* the best")

    return heads, rows, notes


def _cell(comparison: Comparison, row: Row, metric: Column) -> str:
    """The value of a metric in a row, or the mean and the spread of its runs."""
    value = comparison.value(row, metric)
    text = numbers.value(value)
    if comparison.grouping is not None:
        found = comparison.numbers_of(row, metric)
        text += f" ± {numbers.value(float(found.std(ddof=1)))}" if len(found) > 1 else ""
    return f"{text} *" if value is not None and value == comparison.best(metric) else text
