"""The table of a comparison: one line for each run or group, one column for each metric."""

from __future__ import annotations

import math

from rltui.core.level import Level
from rltui.core.text import cell_width, fit, pad
from rltui.draw.line import (
    LEVEL_TOKEN,
    MUTED,
    RULE,
    STRONG,
    TEXT,
    Entry,
    Line,
    Token,
    column,
    fit_line,
    indented,
    longest,
    slot_look,
    style,
    with_ground,
    with_margin,
)
from rltui.draw.prose import distinct, paragraph
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.comparison import (
    Column,
    Comparison,
    Row,
    RowId,
    ends_words,
    group_words,
    settings_words,
    window_words,
)
from rltui.facts.groups import slot_sign

#: Cells of a metric: the value, the sign of the best, a blank; more for a long title.
_METRIC, _WIDEST = numbers.ALIGNED_WIDTH + 2, 20
#: Cells of the verdict, at most.
_VERDICT = 28
#: Cells of the difference, beside the metric that is chosen.
_DIFFERENCE = 13
#: Lines of the sentences on groups, and the width from which two suffice.
_ON_GROUPS, _WIDE = 3, 100


class ComparisonTable:
    """The table at one width: one line for each run or group, and of the metrics those around the
    ``chosen`` one that fit."""

    def __init__(self, comparison: Comparison, chosen: int, width: int, view: View) -> None:
        self._comparison = comparison
        self._chosen = chosen
        self._width = width
        self._view = view
        self._margin = 2 if width >= 110 else 1
        most = _VERDICT if width >= 120 else 18 if width >= 100 else 0
        words = [*map(comparison.verdict_words, comparison.rows), "verdict"]
        self._verdict = min(most, longest(words) + 2)
        self._step = 8 if width >= 80 else 0
        self._difference = _DIFFERENCE if width >= 60 else 0

        names = longest([r.name for r in comparison.rows], 8) + 1
        rest = width - 5 - self._margin - self._verdict - self._step - self._difference
        name = max(8, min(names, rest - _METRIC, max(20, rest // 2)))
        widths = [min(_WIDEST, max(_METRIC, cell_width(c.title) + 2)) for c in comparison.columns]
        first, end = _visible(widths, chosen, rest - name)

        if end - first == len(widths) and names > name:
            name = min(names, rest - sum(widths))
        self._name = name
        self._visible = list(enumerate(widths[first:end], first))
        """The visible metrics with their widths."""

    def head(self) -> Line:
        """The heads of the columns."""
        comparison, glyphs = self._comparison, self._view.glyphs
        grouped = comparison.grouping is not None
        what = "Group" if grouped else "Run"
        line: Line = [(" " * self._margin, TEXT), (f"{what} ", style(Token.STRONG, bold=True))]
        line.append((glyphs.rule * max(0, self._name + 2 - len(what)) + " ", RULE))

        if self._verdict:
            line.append(column("verdict", self._verdict, MUTED))
        if self._step:
            line.append(column("runs" if grouped else "step", self._step, MUTED, right=True))
        for index, width in self._visible:
            here, metric = index == self._chosen, comparison.columns[index]
            look = style(Token.STRONG, bold=True, underline=True) if here else MUTED
            title = fit(glyphs.text(metric.title), width - 2, ellipsis=glyphs.ellipsis)
            line += [(" " * (width - 2 - cell_width(title)), TEXT), (title, look), ("  ", TEXT)]
            if here and self._difference:
                base, word = comparison.base(metric)
                word = "± over runs" if grouped else "" if base is None else word
                line.append(column(word, self._difference, MUTED))

        return line

    def entries(self, rows: list[Row]) -> list[Entry[RowId]]:
        """One entry per row."""
        cut = distinct(tuple(r.name for r in rows), self._name - 1, self._view.glyphs.ellipsis)
        found = self._comparison.columns
        best = {n: self._comparison.best(found[n]) for n, _ in self._visible}

        def entry(row: Row, name: str) -> Entry[RowId]:
            def draw(cursor: bool) -> list[Line]:
                line, cells = self._line(row, name, cursor), self._width - self._margin - 1
                for index, width in self._visible:
                    value = self._comparison.value(row, found[index])
                    line += _value(value, best[index], width, self._view, cursor)
                    if index == self._chosen and self._difference:
                        text = _difference(self._comparison, row, found[index])
                        line.append(column(self._view.glyphs.text(text), self._difference, MUTED))
                return [with_margin(line, cells, self._margin, self._view, cursor=cursor)]

            return Entry(row.id, draw)

        return [entry(row, name) for row, name in zip(rows, cut, strict=True)]

    def _line(self, row: Row, name: str, cursor: bool) -> Line:
        """What stands before the metrics of a row."""
        glyphs, level, alarm = self._view.glyphs, row.level, row.level >= Level.WATCH
        look = style(Token.STRONG, bold=cursor) if cursor or alarm else TEXT
        name = fit(glyphs.text(name), self._name - 1, ellipsis=glyphs.ellipsis)
        line: Line = [
            (f"{slot_sign(row.slot)} ", slot_look(row.slot)),
            (f"{glyphs.badge(level)} ", style(LEVEL_TOKEN[level], bold=alarm)),
            # the blanks have a look of their own: 16 colours reverse the name at the cursor
            (name, look),
            (" " * (self._name - cell_width(name)), TEXT),
        ]

        if self._verdict:
            words = glyphs.text(self._comparison.verdict_words(row))
            mild = style(LEVEL_TOKEN[level]) if alarm else MUTED
            line.append(column(words, self._verdict, mild, ellipsis=glyphs.ellipsis))
        if self._step:
            last = row.runs[0].progress.last_step if row.runs[0].progress else None
            text = str(len(row.runs)) if isinstance(row.id, str) else numbers.step(last)
            line.append(column(text, self._step, MUTED, right=True))

        return line


def _visible(widths: list[int], chosen: int, room: int) -> tuple[int, int]:
    """The first metric that is visible and the one after the last: those around the chosen one
    that fit."""
    first, end = chosen, min(len(widths), chosen + 1)
    room, grows = room - sum(widths[first:end]), True
    while grows:
        to_left = first > 0 and (end - chosen > chosen - first or end == len(widths))
        grows = to_left and widths[first - 1] <= room
        if grows:
            first -= 1
            room -= widths[first]
        if end < len(widths) and widths[end] <= room:
            grows = True
            room -= widths[end]
            end += 1

    return first, end


def _value(value: float | None, best: float | None, width: int, view: View, cursor: bool) -> Line:
    is_best = best is not None and value == best
    # in the row at the cursor bold is the look of the name, which 16 colours reverse
    strong = style(Token.STRONG, bold=not cursor)
    look = strong if is_best else STRONG if best is None else TEXT
    text = numbers.aligned(value)
    if is_best:
        text = f"{text.rstrip()}*"
    return [(" " * (width - _METRIC), TEXT), (pad(view.glyphs.text(text), _METRIC), look)]


def _difference(comparison: Comparison, row: Row, metric: Column) -> str:
    """The spread of a group, or how far a run is from the best or from the reference."""
    if comparison.grouping is not None:
        found = comparison.numbers_of(row, metric)
        return f"± {numbers.value(float(found.std(ddof=1)))}" if len(found) > 1 else ""
    base, value = comparison.base(metric)[0], comparison.value(row, metric)
    if base is None or value is None or not math.isfinite(value - base):
        return ""
    difference = value - base
    if not difference:
        return "best" if comparison.base(metric)[1] == "to best" else "reference"

    return f"{'+' if difference > 0 else '-'} {numbers.value(abs(difference))}"


def comparison_header(
    comparison: Comparison, total: int, label: str, view: View, width: int
) -> Line:
    """Line 1: how many runs, and what they are grouped by."""
    shown = len(comparison.runs)
    words = f"{shown} of {total} runs" if shown < total else f"{shown} runs"
    line: Line = [(" Compare ", style(Token.STRONG, bold=True)), (f" {label}  ", TEXT)]
    line.append((words, TEXT))

    if comparison.grouping is not None:
        count = len(comparison.grouping.groups)
        groups = "1 group" if count == 1 else f"{count} groups"
        line.append((f"  {groups} by {comparison.grouping.title}", TEXT))
    line.append((f"  {window_words()}   * best", MUTED))
    line = fit_line(
        [(view.glyphs.text(t), s) for t, s in line], width, ellipsis=view.glyphs.ellipsis
    )

    return with_ground(line, Token.RAISED)


def comparison_text(comparison: Comparison, rows: list[Row]) -> str:
    """The table with all metrics, for the clipboard: cells parted by tabs."""
    heads = ["run" if comparison.grouping is None else "group", "verdict"]
    lines = [[*heads, *(m.title for m in comparison.columns)]]
    for row in rows:
        values = [comparison.value(row, m) for m in comparison.columns]
        lines.append([row.name, comparison.verdict_words(row), *(numbers.value(v) for v in values)])
    return "\n".join("\t".join(line) for line in lines)


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
