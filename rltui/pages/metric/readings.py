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
    Style,
    Token,
    column,
    fit_line,
    longest,
    style,
)
from rltui.draw.prose import distinct
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.comparison import Crosshair, Reading, reading_at
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

    cross = Crosshair.at(step, axis_of(run, run.shown(tag), view.axis), view.axis)
    rows = [_Row(c, reading_at(c.run, c.tag, cross, c.factor)) for c in what]
    if height == 1:
        return [_in_line(rows, view, width)]
    return _table(rows, _nearest(rows, base, height - 1, view), base, step, view, width)


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
    return fit_line([*line, (f"+{rest}" if rest else "", MUTED)], width)


def _table(
    rows: Sequence[_Row], shown: Sequence[_Row], base: RunView, step: int, view: View, width: int
) -> list[Line]:
    own, origin = rows[0], next(r for r in rows if r.what.run is base)
    is_roomy, more, run = width >= _ROOMY, len(rows) - len(shown), rows[0].what.run
    title = f"at {run.step_word} {numbers.step(step)}" + (f"  +{more} more" if more else "")
    heads = [
        ("   value", _VALUE),
        ("to this run" if origin is own else "to reference", _DIFFERENCE),
    ]
    if is_roomy:
        heads.insert(1, (f"smooth {numbers.short(weight_of(view))}", _AVERAGE))
        heads.append(("seen at", _SEEN))
    names = [r.what.name + (" (ref.)" if r is origin is not own else "") for r in shown]
    left = width - _SAMPLE - sum(cells for _, cells in heads)
    room = min(max(_NAME, min(_WIDEST, left)), longest([*names, title], _NAME) + 1)
    left, settings = left - room, list[str]()

    for name in sweep_of(run, view).settings if is_roomy else ():
        values = (setting_of(r.what.run, name) for r in shown)
        cells = min(_SETTING, longest([last_part(name), *values]) + 2)
        if cells <= left:
            settings.append(name)
            heads.append((last_part(name), cells))
            left -= cells

    lines: list[Line] = [[column(title, _SAMPLE + room, style(Token.ACCENT, bold=True))]]
    lines[0] += [column(text, cells, MUTED) for text, cells in heads]
    for row, name in zip(shown, distinct(tuple(names), room - 1), strict=True):
        line = [*_sample(row, view), column(name, room, STRONG if row is own else TEXT)]
        texts = [
            *_cells(row, origin, view, is_roomy),
            *((setting_of(row.what.run, n), MUTED) for n in settings),
        ]
        line += [column(t, cells, look) for (t, look), (_, cells) in zip(texts, heads, strict=True)]
        lines.append(line)

    text = view.glyphs.text
    return [fit_line([(text(t), look) for t, look in line], width) for line in lines]


def _cells(row: _Row, origin: _Row, view: View, is_roomy: bool) -> list[tuple[str, Style]]:
    """Value with badge, average, difference to ``origin``, and where it was seen."""
    reading, difference = row.reading, numbers.MISSING
    if reading is None:
        texts = [(numbers.aligned(None), MUTED), ("", MUTED), ("", MUTED), ("not yet", MUTED)]
        return texts if is_roomy else texts[::2]
    level = reading.level if reading.level >= Level.WATCH else None
    token = Token.STRONG if level is None else LEVEL_TOKEN[level]
    value = numbers.aligned(reading.value) + ("" if level is None else view.glyphs.badge(level))
    if row.what.run is not origin.what.run:
        difference = numbers.signed(reading.value - origin.value)
    texts = [(value, style(token, bold=True)), (difference, TEXT)]
    if is_roomy:
        average = float(smooth(reading.recent, weight_of(view))[-1])
        texts.insert(1, (numbers.aligned(average), TEXT))
        texts.append((reading.seen_words, MUTED))
    return texts
