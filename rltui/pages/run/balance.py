"""Above the rows of Balance: how evenly the work is spread, and what that costs per step."""

from __future__ import annotations

import math

from rltui.core.text import cell_width
from rltui.draw.line import MUTED, STRONG, TEXT, Line, Token, column, fit_line, style
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.timing import Load, anatomy, loads
from rltui.pages.findings.lines import heading
from rltui.session import RunView
from rltui.session.limits import stage_limits

BALANCE = "balance"
#: Fewest lines of the tab that leave room for it.
_LEAST_HEIGHT = 14
_NAME, _END, _EXCESS = 18, 7, 17


def top_lines(run: RunView, tab: str, view: View, width: int, height: int) -> list[Line]:
    """What stands above the rows of a tab ``height`` lines high: on Balance the spread of every
    load with what waiting for the fullest costs, elsewhere nothing."""
    if tab != BALANCE or height < _LEAST_HEIGHT or width < 58:
        return []
    found = loads(run)
    if not found:
        return []
    note = f"emptiest, mean and fullest, newest {stage_limits().recent} {run.step_word}s"
    lines = [heading("Spread", width, view, note)]
    lines += [_load_line(load, _scale(load, found, run), width, view) for load in found]
    lines += [_wait_line(run, load, width, view) for load in found if not math.isnan(load.wait)]
    return [*lines, []]


def _scale(load: Load, found: list[Load], run: RunView) -> tuple[float, float]:
    """The least and the largest value of all loads in the same unit."""
    unit = run.infos[load.tag].unit
    same = [x for x in found if run.infos[x.tag].unit == unit]
    return min(x.low for x in same), max(x.high for x in same)


def _load_line(load: Load, scale: tuple[float, float], width: int, view: View) -> Line:
    glyphs = view.glyphs
    cells = max(7, width - _NAME - 2 * (_END + 1) - _EXCESS)
    size = scale[1] - scale[0]

    def place(value: float) -> int:
        return round((value - scale[0]) / size * (cells - 1)) if size > 0 else cells // 2

    begin, middle, end = place(load.low), place(min(load.mean, load.high)), place(load.high)
    bar = [" "] * cells
    bar[begin : end + 1] = [glyphs.rule] * (end - begin + 1)
    bar[middle] = glyphs.text("●")
    excess = f"{numbers.percent(load.excess, whole=True)} above mean" if load.excess > 0 else ""
    line: Line = [
        column(glyphs.text(load.title), _NAME, TEXT, ellipsis=glyphs.ellipsis),
        (f"{numbers.short(load.low):>{_END}} ", STRONG),
        ("".join(bar), style(Token.SERIES)),
        (f" {numbers.short(load.high):<{_END}}", STRONG),
        (f" {excess}", MUTED),
    ]
    return fit_line(line, width, ellipsis=glyphs.ellipsis)


def _wait_line(run: RunView, load: Load, width: int, view: View) -> Line:
    """What the average rank waits for the fullest one, per step."""
    found, words = anatomy(run), view.glyphs.text
    wait = numbers.duration(load.wait, tenths=True) if load.wait > 0 else "0 s"
    line: Line = [(words(f"{load.title}: the others wait "), TEXT), (f"{wait} per step", STRONG)]
    if found is not None and found.length > 0:
        share = numbers.percent(load.wait / found.length, whole=True)
        tail = f", {share} of {numbers.duration(found.length, tenths=True)}"
        if sum(cell_width(t) for t, _ in line) + cell_width(tail) <= width:
            line.append((tail, MUTED))
    return fit_line(line, width, ellipsis=view.glyphs.ellipsis)
