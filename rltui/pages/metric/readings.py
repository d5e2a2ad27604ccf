"""What every line of a chart has at the crosshair: as a table, or in one line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from rltui.core.level import Level
from rltui.core.text import cell_width
from rltui.draw.chart.trace import smooth
from rltui.draw.line import (
    LEVEL_TOKEN,
    MUTED,
    STRONG,
    TEXT,
    Line,
    Token,
    column,
    fit_line,
    longest,
    style,
)
from rltui.draw.prose import distinct
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.crosshair import Crosshair, Reading, reading_at
from rltui.facts.groups import setting_of
from rltui.facts.x_axis import axis_of, compared_tag
from rltui.pages.metric.overlays import Compared, charted, sweep_of
from rltui.session import RunView
from rltui.session.hyperparameters import last_part

#: Weight of the averages as long as the user has chosen none.
WEIGHT = 0.6
#: Cells: line and sign, value with badge, average, difference, step of the point.
_SAMPLE, _VALUE, _AVERAGE, _DIFFERENCE, _SEEN = 4, numbers.ALIGNED_WIDTH + 2, 12, 13, 12
#: The name at least and at most, and a setting at most.
_NAME, _WIDEST, _SETTING = 10, 40, 16
#: The name at least where all is in one line.
_SHORT = 6
#: Lines of a chart that spares some for the table, and the percent of them that it may take.
_ROOM, _SHARE = 10, 40
#: From this width on a line has more than name, value and difference.
_ROOMY = 60


class _Row(NamedTuple):
    what: Compared
    reading: Reading | None

    @property
    def value(self) -> float:
        return math.nan if self.reading is None else self.reading.value


def told_lines(
    run: RunView, tag: str, step: int | None, view: View, width: int, room: int
) -> list[Line]:
    """The table below a chart that has ``room`` lines with it; see :func:`reading_lines`."""
    if step is None or room < _ROOM:
        return []
    lines = reading_lines(run, tag, step, view, width, max(3, room * _SHARE // 100))
    return [[], *lines] if lines and room >= 2 * _ROOM else lines


def weight_of(view: View) -> float:
    """The weight of the averages at a crosshair."""
    return view.smooth or WEIGHT


def crosshair_at(run: RunView, tag: str, step: int, view: View) -> Crosshair:
    """The crosshair of the chart of a tag, at a step of the run."""
    axis = axis_of(run, run.shown(tag), view.axis)
    return Crosshair(step, axis.place(step), view.axis, axis.kind)


def reading_lines(
    run: RunView, tag: str, step: int, view: View, width: int, height: int
) -> list[Line]:
    """A head, and a line for each run in the chart of ``tag``: value, average, difference to the
    reference (without one, to ``run``), the step where it was seen and, where there is room,
    settings that differ. At most ``height`` lines, else those with the nearest values; one line has
    values alone. Empty for a run that is alone.
    """
    what, base = charted(run, tag, view), run
    if run.reference is not None and (other := compared_tag(run, tag, run.reference)) is not None:
        base = run.reference
        if all(c.run is not base for c in what):
            factor = base.infos[other].factor_to(run.infos[tag])
            what.append(Compared(base, other, factor, base.name, "", "", Token.BAND))
    if len(what) < 2 or height < 1:
        return []

    cross = crosshair_at(run, tag, step, view)
    rows = [_Row(c, reading_at(c.run, c.tag, cross, c.factor)) for c in what]
    if height == 1:
        return [_in_line(rows, view, width)]
    shown = _nearest(rows, base, height - 1, view)
    table = _Table(rows, shown, base, step, view, width)
    return [table.head(step), *map(table.line, shown)]


def _nearest(rows: Sequence[_Row], base: RunView, most: int, view: View) -> list[_Row]:
    """The first row, that of ``base`` and those with the nearest values, at most ``most``; in the
    order of the lines at the crosshair, or of the marks."""

    def distance(row: _Row) -> tuple[bool, float]:
        apart = abs(row.value - rows[0].value)
        is_fixed = row is rows[0] or row.what.run is base
        return not is_fixed, math.inf if math.isnan(apart) else apart

    shown = sorted(rows, key=distance)[:most]
    if view.by_value:
        return sorted(shown, key=lambda r: (math.isnan(r.value), -r.value))
    return [r for r in rows if r in shown]


def _sample(row: _Row, view: View) -> Line:
    """A piece of the line with its sign, as in a legend."""
    glyphs, token = view.glyphs, row.what.token
    stroke = glyphs.limit if token in (None, Token.BAND) else glyphs.bar
    return [(f"{stroke} {row.what.sign or ' '} ", style(token or Token.BAND))]


def _in_line(rows: Sequence[_Row], view: View, width: int) -> Line:
    """Names and values as far as they have room, the nearest first to stay."""
    for count in range(len(rows), 0, -1):
        shown, rest = _nearest(rows, rows[0].what.run, count, view), len(rows) - count
        values = [numbers.value(None if r.reading is None else r.value) for r in shown]
        taken = sum(_SAMPLE + 4 + cell_width(v) for v in values) + (4 if rest else -3)
        room = (width - taken) // count
        if room >= _SHORT or count == 1:
            break
    line: Line = []
    cut = distinct(tuple(r.what.name for r in shown), max(1, room))
    for row, name, value in zip(shown, cut, values, strict=True):
        line += [*_sample(row, view), (f"{view.glyphs.text(name)} ", TEXT)]
        line.append((view.glyphs.text(value) + "   ", STRONG))
    line[-1] = (line[-1][0] if rest else line[-1][0].rstrip(), STRONG)
    line += [(f"+{rest}", MUTED)] if rest else []
    return fit_line(line, width)


class _Table:
    """The table in one width."""

    def __init__(
        self,
        rows: Sequence[_Row],
        shown: Sequence[_Row],
        base: RunView,
        step: int,
        view: View,
        width: int,
    ) -> None:
        self._view, self._width, self._count = view, width, len(rows) - len(shown)
        self._own, self._base = rows[0], next(r for r in rows if r.what.run is base)
        self._is_roomy = width >= _ROOMY
        self._is_reference = base is not rows[0].what.run
        columns = _VALUE + _DIFFERENCE + (_AVERAGE + _SEEN if self._is_roomy else 0)
        names = [self._name(r) for r in shown]
        most = max(_NAME, min(_WIDEST, width - _SAMPLE - columns))
        self._names = min(most, longest([*names, self._title(step)], _NAME) + 1)
        cut = distinct(tuple(names), self._names - 1)
        self._cut = {id(r): name for r, name in zip(shown, cut, strict=True)}

        left = width - _SAMPLE - columns - self._names
        self._settings: list[tuple[str, int]] = []
        runs = dict.fromkeys(r.what.run for r in shown)
        sweep = sweep_of(rows[0].what.run, view)
        for name in sweep.settings if self._is_roomy else ():
            texts = [last_part(name), *(setting_of(r, name) for r in runs)]
            cells = min(_SETTING, longest(texts) + 2)
            if cells > left:
                break
            self._settings.append((name, cells))
            left -= cells

    def _name(self, row: _Row) -> str:
        is_base = self._is_reference and row is self._base
        return row.what.name + (" (ref.)" if is_base else "")

    def _title(self, step: int) -> str:
        more = f"  +{self._count} more" if self._count else ""
        return f"at {self._own.what.run.step_word} {numbers.step(step)}{more}"

    def head(self, step: int) -> Line:
        """What is read, and the heads of the columns."""
        text = self._title(step)
        weight = numbers.short(weight_of(self._view))
        line: Line = [column(text, _SAMPLE + self._names, style(Token.ACCENT, bold=True))]
        line.append(column("   value", _VALUE, MUTED))
        if self._is_roomy:
            line.append(column(f"smooth {weight}", _AVERAGE, MUTED))
        base = "to reference" if self._is_reference else "to this run"
        line.append(column(base, _DIFFERENCE, MUTED))
        if self._is_roomy:
            line.append(column("seen at", _SEEN, MUTED))
        line += [column(last_part(name), cells, MUTED) for name, cells in self._settings]
        return self._fit(line)

    def line(self, row: _Row) -> Line:
        """One run."""
        reading, base = row.reading, self._base
        look = STRONG if row is self._own else TEXT
        line = [*_sample(row, self._view), column(self._cut[id(row)], self._names, look)]
        if reading is None:
            return self._fit([*line, (f"{numbers.aligned(None)}  not yet", MUTED)])
        alarm = reading.level >= Level.WATCH
        token = LEVEL_TOKEN[reading.level] if alarm else Token.STRONG
        look = style(token, bold=True)
        badge = self._view.glyphs.badge(reading.level) if alarm else " "
        line += [(numbers.aligned(reading.value), look), (f"{badge} ", look)]
        if self._is_roomy:
            average = float(smooth(reading.recent, weight_of(self._view))[-1])
            line.append(column(numbers.aligned(average), _AVERAGE, TEXT))
        apart = row.what.run is not base.what.run
        difference = numbers.signed(reading.value - base.value) if apart else numbers.MISSING
        line.append(column(difference, _DIFFERENCE, TEXT if apart else MUTED))
        if self._is_roomy:
            seen = numbers.step(reading.seen) + (", end" if reading.is_over else "")
            line.append(column(seen, _SEEN, MUTED))
        line += [
            column(setting_of(row.what.run, name) or numbers.MISSING, cells, MUTED)
            for name, cells in self._settings
        ]
        return self._fit(line)

    def _fit(self, line: Line) -> Line:
        text = self._view.glyphs.text
        return fit_line([(text(t), look) for t, look in line], self._width)
