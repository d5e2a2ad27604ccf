"""Settings in which runs differ, and a metric by two of them, as tables above that of the runs."""

from __future__ import annotations

import math
from collections import Counter

from rltui.core.level import Level
from rltui.core.text import clean, first_of, pad, spaced
from rltui.draw.line import (
    LEVEL_LOOK,
    MUTED,
    RULE,
    TEXT,
    Block,
    Span,
    alarm_look,
    fit_line,
    joined,
    line_width,
    longest,
)
from rltui.draw.prose import distinct, paragraph
from rltui.draw.table import heading
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.comparison import Comparison, MetricColumn, RunRow
from rltui.facts.groups import (
    Grouping,
    difference,
    is_unread,
    logged_settings,
    setting_of,
    setting_words,
    sortable,
)
from rltui.session.limits import session_limits

#: Cells of a column at least, and at most.
_LEAST = 8
_MOST = 32
#: The look of the best cells of a matrix, of those between, and of the worst.
_LOOKS = LEVEL_LOOK[Level.OK], TEXT, LEVEL_LOOK[Level.BAD]


class Matrix:
    """One metric of the groups of a comparison: a row for each value of the first setting, a column
    for each of the second, if there are two."""

    def __init__(self, comparison: Comparison, grouping: Grouping, metric: MetricColumn) -> None:
        self.comparison = comparison
        self.metric = metric
        cells = {g.values: row for g, row in zip(grouping.groups, comparison.rows, strict=True)}
        down, across = (
            sorted({values[part] for values in cells}, key=lambda x: [*map(sortable, x)])
            for part in (slice(1), slice(1, None))
        )
        self.heads = [grouping.title, *(x[0] if x else metric.title for x in across)]
        """The heads of the columns: without a second setting the name of the metric."""
        self.rows = [(y[0], [cells.get(y + x) for x in across]) for y in down]
        """A value of the first setting and the cells of its row; None without runs."""
        ranked = (
            (row, comparison.value(row, metric)) for row in comparison.ordered("metric", metric)
        )
        means = {row: x for row, x in ranked if x is not None and math.isfinite(x)}
        self.places: dict[RunRow | None, float] = {}
        """Where the mean of a cell lies between the best (0) and the worst (1), the best first;
        empty where no direction is better, or all are equal."""
        if (best := comparison.best(metric)) is not None:
            *_, worst = means.values()
            self.places |= {row: (best - x) / (best - worst) for row, x in means.items()}

    def words(self, cell: RunRow | None) -> str:
        """Mean, standard deviation and number of the runs of a cell; whether it is the best one, or
        differs from that by more than chance explains."""
        comparison = self.comparison
        metric = self.metric
        sign = ""
        if cell is None or not len(found := comparison.numbers_of(cell, metric)):
            return ""
        if (best := next(iter(self.places), None)) is not None:
            tested = difference(comparison.numbers_of(best, metric), found)
            sign = "*" if cell is best else "≠" * (tested is not None and tested.is_real)
        mean = comparison.value(cell, metric)
        spread = comparison.spread_words(cell, metric)
        return spaced(numbers.value(mean), spread, f"({len(found)})", sign, by=" ")

    def note(self) -> str:
        """What the numbers and signs are, and what else differs inside the cells."""
        chance = numbers.plain(session_limits().groups.chance)
        said = f"mean ± sd (runs), * best, ≠ differs from it (p ≤ {chance}, by permutation)"
        rows = self.comparison.rows
        mixed = [
            name
            for name in self.comparison.sweep.settings
            if any(len({setting_of(r, name) for r in row.runs}) > 1 for row in rows)
        ]
        others = clean(", ".join(mixed))
        return said + f"; runs of one cell differ in {others}" * bool(others)

    def text(self) -> str:
        """The table with cells parted by tabs, and its note."""
        rows = [self.heads, *([value, *map(self.words, cells)] for value, cells in self.rows)]
        return "\n".join([*map("\t".join, rows), self.note()])


def settings_table(comparison: Comparison) -> list[list[str]]:
    """One line for each setting in which the runs differ, one column for each row of the
    comparison; what is logged as a metric as it was at the crosshair."""
    step = None if comparison.cross is None else comparison.cross.step
    table = [["setting", *(row.name for row in comparison.rows)]]
    for name in comparison.sweep.settings:
        values = ({setting_words(r, name, step): 0 for r in row.runs} for row in comparison.rows)
        table.append([clean(name), *map(", ".join, values)])
    return table


def settings_lines(comparison: Comparison, view: View, width: int, height: int) -> Block:
    """The table of settings, or where its columns have no room how many runs have each value."""
    unread = [run.name for run in comparison.runs if is_unread(run)]
    cross = comparison.cross
    names = comparison.sweep.settings.keys()
    logged = any(names & logged_settings(run).keys() for run in comparison.runs)
    taken = "largest so far" if cross is None else f"at step {numbers.step(cross.step)}"
    note = f"not read yet: {first_of(unread)}" if unread else f"logged settings: {taken}" * logged
    head, *rows = settings_table(comparison)
    names_width = min(_MOST, longest([name for name, *_ in rows]))
    if names_width + len(head[1:]) * (_LEAST + 2) > width:
        head = ["setting", "values"]
        counts = ((name, Counter(values).most_common()) for name, *values in rows)
        rows = [[name, ", ".join(f"{x} in {n}" for x, n in found)] for name, found in counts]
    if not rows:
        head = ["none in the files read so far" if unread else "none but seeds, names and paths"]
    lines = _drawn([[(text, TEXT) for text in row] for row in (head, *rows)], width)
    lines.insert(0, heading(f"Settings that differ {len(names)}", width, view, note))

    if len(lines) > height:
        more = len(lines) - height + 1
        lines[height - 1 :] = [[(f"and {more} more: w writes all", MUTED)]]
    return [fit_line(line, width) for line in lines]


def matrix_lines(matrix: Matrix, view: View, width: int, height: int) -> Block:
    """The groups as a matrix, the cells near the best and the worst one in colour, and what its
    signs are. Of one hyperparameter each row ends in a mark for each of its runs."""
    looks = {cell: _LOOKS[round(2 * at)] for cell, at in matrix.places.items()}
    table = [[(head, MUTED) for head in matrix.heads]]
    for value, cells in matrix.rows:
        table.append([(value, TEXT), *((matrix.words(c), looks.get(c, TEXT)) for c in cells)])
    said = paragraph(matrix.note(), width, MUTED, limit=max(1, height - 1 - len(table)))
    lines = _drawn(table, width)[: max(1, height - 1 - len(said))]
    room = width - line_width(lines[0]) - 1
    if len(matrix.heads) < 3 and room > _MOST:
        marks = _marks(matrix, view, room)
        lines = [[*line, *spans] for line, spans in zip(lines, marks, strict=False)]
    lines = [fit_line(line, width) for line in lines]
    title = f"{matrix.metric.title} by {matrix.heads[0]}"
    return [heading(title, width, view, "x: other settings"), *lines, *said]


def _marks(matrix: Matrix, view: View, width: int) -> Block:
    """The ends of a scale, then the runs of each row on it, the worst over others: a bad run, or
    one to watch, is its badge."""
    runs = matrix.comparison.runs
    values = ((r, matrix.comparison.value_of(r, matrix.metric)) for r in runs)
    known = {r: x for r, x in values if x is not None and math.isfinite(x)}
    low = min(known.values(), default=0.0)
    high = max(known.values(), default=0.0)
    ends = numbers.value(low), numbers.value(high)
    lines: Block = [[(ends[0] + pad(ends[1], width - len(ends[0]), right=True), MUTED)]]

    for _, (cell,) in matrix.rows:
        marks: list[Span] = [("·", RULE)] * width
        found = known.keys() & (cell.runs if cell is not None else ())
        for run in sorted(found, key=lambda r: r.verdict.level):
            level = run.verdict.level
            at = (known[run] - low) / ((high - low) or 1)
            glyph = view.glyphs.badge(level) if level >= Level.WATCH else view.glyphs.live
            marks[round(at * (width - 1))] = glyph, alarm_look(level)
        lines.append(joined(marks))
    return lines


def _drawn(table: Block, width: int) -> Block:
    """A table whose first line are heads; those that are too long keep the part in which they
    differ."""
    columns = [longest([text for text, _ in column]) for column in zip(*table, strict=True)]
    lead = min(_MOST, columns[0])
    most = max(_LEAST, (width - lead) // max(1, len(columns) - 1) - 2)
    sizes = [lead, *(min(most, cells) for cells in columns[1:])]
    first, *heads = (text for text, _ in table[0])
    named = [(head, MUTED) for head in (first, *distinct(tuple(heads), most))]
    return [
        [(pad(text, cells) + "  ", look) for (text, look), cells in zip(row, sizes, strict=True)]
        for row in [named, *table[1:]]
    ]
