"""Settings in which runs differ, and a metric by two of them, as tables above that of the runs."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from itertools import accumulate

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
from rltui.draw.prose import distinct, fact_table, paragraph
from rltui.draw.table import heading
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.comparison import Comparison, MetricColumn, RunRow
from rltui.facts.groups import (
    BY,
    Grouping,
    difference,
    is_unread,
    logged_settings,
    setting_of,
    setting_words,
    sortable,
)
from rltui.session.hyperparameters import last_part
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
        self.words = {row: self._words(row) for row in (None, *comparison.rows)}
        """Words of each cell, and those without its standard deviation."""

    def _words(self, cell: RunRow | None) -> tuple[str, str]:
        """Mean, standard deviation and number of the runs of a cell; whether it is the best one, or
        differs from that by more than chance explains."""
        comparison = self.comparison
        metric = self.metric
        sign = ""
        if cell is None or not len(found := comparison.numbers_of(cell, metric)):
            return "", ""
        if (best := next(iter(self.places), None)) is not None:
            tested = difference(comparison.numbers_of(best, metric), found)
            sign = "*" if cell is best else "≠" * (tested is not None and tested.is_real)
        mean = numbers.value(comparison.value(cell, metric))
        spread = comparison.spread_words(cell, metric)
        count = spaced(f"({len(found)})", sign, by=" ")
        return spaced(mean, spread, count, by=" "), f"{mean} {count}"

    def note(self, short: int = 0) -> str:
        """What the numbers and signs are, and what else differs inside the cells."""
        chance = numbers.plain(session_limits().groups.chance)
        mean = "mean" if short else "mean ± sd"
        said = f"{mean} (runs), * best, ≠ differs from it (p ≤ {chance}, by permutation)"
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
        rows = [self.heads, *([x, *(self.words[c][0] for c in cells)] for x, cells in self.rows)]
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
    if not rows:
        head = ["none in the files read so far" if unread else "none but seeds, names and paths"]
    names_width = min(_MOST, longest([name for name, *_ in rows]))
    if rows and names_width + len(head[1:]) * (_LEAST + 2) > width:
        counts = ((name, Counter(values).most_common()) for name, *values in rows)
        told = [(name, ", ".join(f"{x} in {n}" for x, n in found)) for name, found in counts]
        lines = fact_table(told, width, names_width + 2)
    else:
        lines = _drawn([[(text, TEXT) for text in row] for row in (head, *rows)], width)
    lines.insert(0, heading(f"Settings that differ {len(names)}", width, view, note))

    if len(lines) > height:
        lines[height - 1 :] = [[("further settings: w writes all", MUTED)]]
    return [fit_line(line, width) for line in lines]


def matrix_lines(matrix: Matrix, view: View, width: int, height: int) -> Block:
    """The groups as a matrix, the cells near the best and the worst one in colour, and what its
    signs are. Of one hyperparameter each row ends in a mark for each of its runs."""
    looks = {cell: _LOOKS[round(2 * at)] for cell, at in matrix.places.items()}
    best = next(iter(looks), None)
    rows = matrix.rows
    places = [(x, y) for y, (_, cells) in enumerate(rows) for x, c in enumerate(cells) if c is best]
    x, y = places[0] if best else (0, 0)
    corner = last_part(matrix.heads[0].partition(BY)[0])
    room = width - longest([corner, *(value for value, _ in rows)])
    columns = len(matrix.heads) - 1
    for short in (0, 1):
        cells = longest([words[short] for words in matrix.words.values()]) + 1
        first, end = visible([cells] * columns, x, room)
        if end - first == columns:
            break
    said = paragraph(matrix.note(short), width, MUTED, limit=max(1, height - 3))
    top, bottom = visible([0] * len(rows), y, height - 2 - len(said))
    table = [[(head, MUTED) for head in (corner, *matrix.heads[first + 1 : end + 1])]]
    for value, row in rows[top:bottom]:
        spans = ((matrix.words[c][short], looks.get(c, TEXT)) for c in row[first:end])
        table.append([(value, TEXT), *spans])
    lines = _drawn(table, width)
    shown = end - first, bottom - top
    sizes = columns, len(rows)
    note = "x: other settings"
    if shown != sizes:
        note = f"{shown[0]} of {sizes[0]} columns, {shown[1]} of {sizes[1]} rows"
    room = width - line_width(lines[0]) - 1
    if columns == 1 and room > _MOST:
        marks = _marks(matrix, view, room)
        lines = [[*line, *spans] for line, spans in zip(lines, marks, strict=False)]
    lines = [fit_line(line, width) for line in lines]
    title = f"{matrix.metric.title} by {matrix.heads[0]}"
    return [heading(title, width, view, note), *lines, *said]


def visible(widths: list[int], chosen: int, room: int) -> tuple[int, int]:
    """The first column that is visible and the one after the last: as many as fit, with a blank
    behind each, the ``chosen`` one among them."""
    ends = [0, *accumulate(cells + 1 for cells in widths)]
    last = min(len(widths), chosen + 1)
    first = next((n for n in range(chosen) if ends[last] - ends[n] <= room), last and chosen)
    return first, max(last, bisect_right(ends, ends[first] + room) - 1)


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
