"""What earns the reward: a table of its parts above the rows of a tab."""

from __future__ import annotations

import math

from rltui.core.level import Level
from rltui.core.text import cell_width
from rltui.draw.line import (
    LEVEL_TOKEN,
    MUTED,
    STRONG,
    TEXT,
    Line,
    Token,
    column,
    fit_line,
    style,
)
from rltui.draw.prose import distinct
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.reward import Earned, Part, earned
from rltui.pages.run.metric_table import section_line, spark_head, spark_line
from rltui.session import RunView

#: Lines of the tab, and cells, that leave room for it.
_LEAST_HEIGHT, _LEAST_WIDTH = 16, 58
#: Part of the lines that it may take.
_SHARE = 3
_NAME, _NUMBER, _CHANGE, _SUCCESS = 19, 8, 9, 10
#: From this width on there are shares of the variance and success, too.
_ALL = 84


def earning_lines(run: RunView, view: View, width: int, height: int) -> list[Line]:
    """Heading, a line for each part, what pays most first, and a sentence about one that buys the
    rise; a blank line at the end. Empty for a run without parts, and without room."""
    if height < _LEAST_HEIGHT or width < _LEAST_WIDTH:
        return []
    found = earned(run)
    if found is None:
        return []
    order = {p.tag: n for n, p in enumerate(found.parts)}
    level = _levels(run, found)
    parts = sorted(
        found.parts, key=lambda p: (-level[p.tag], -_known(p.rise), -_known(p.level), order[p.tag])
    )
    shown = parts[: max(2, height // _SHARE - 3)]
    names = distinct(
        tuple(view.glyphs.text(run.infos[p.tag].title) for p in shown), _name_cells(width)
    )
    lines = [_head(run, found, max(level.values()), view, width)]
    lines += [
        _part_line(run, part, name, level[part.tag], view, width)
        for part, name in zip(shown, names, strict=True)
    ]
    if len(shown) < len(parts):
        lines.append([(f"  and {len(parts) - len(shown)} more parts", MUTED)])
    alarming = (p for p in parts if level[p.tag] >= Level.WATCH)
    words = next(filter(None, (_bought(run, p) for p in alarming)), "")
    lines += [fit_line([(f"  {view.glyphs.text(words)}", TEXT)], width)] if words else []

    return [*lines, []]


def _levels(run: RunView, found: Earned) -> dict[str, Level]:
    """The worst badge of each part, by its tag: also that of its spread, its maximum, ..."""
    owners = {run.infos[p.tag].family or p.tag: p.tag for p in found.parts}
    levels = {p.tag: run.verdict.tag_level(p.tag) for p in found.parts}
    for tag, info in run.infos.items():
        if (owner := owners.get(info.family or tag)) is not None:
            levels[owner] = max(levels[owner], run.verdict.tag_level(tag))
    return levels


def _bought(run: RunView, part: Part) -> str:
    """What a part makes of a rise that success does not follow; "" for none."""
    verb = {"falls": "falls", "stands": "stands still"}.get(part.success)
    if verb is None or not part.rise > 0:
        return ""
    return f"{run.infos[part.tag].title}: {_percent(part.rise)} of the rise; success {verb}"


def _known(share: float) -> float:
    return share if math.isfinite(share) else -1.0


def _percent(share: float) -> str:
    return f"{round(100 * share)} %" if math.isfinite(share) else "–"


def _name_cells(width: int) -> int:
    return _NAME + (max(0, width - _ALL) // 3 if width >= _ALL else 0)


def _shares(part: Part, width: int) -> list[tuple[str, float]]:
    """Head and value of the columns of shares."""
    out = [("of level", part.level), ("of rise", part.rise)]
    return [out[0], ("variance", part.variance), out[1]] if width >= _ALL else out


def _share_cells(width: int) -> int:
    return _NUMBER + (width >= _ALL)  # "variance" needs a blank on either side


def _spark_cells(width: int) -> int:
    columns = 3 if width >= _ALL else 2
    used = 2 + _name_cells(width) + 1 + _NUMBER + 1 + _CHANGE + 1
    used += columns * (_share_cells(width) + 1) + (_SUCCESS + 1) * (width >= _ALL)
    return max(0, width - used - 2)  # room for the badge of the heading


def _head(run: RunView, found: Earned, level: Level, view: View, width: int) -> Line:
    spark, at = _spark_cells(width), 2 + _name_cells(width) + 1
    heads = [("mean", at + 4, at + 4), ("overall", at + _NUMBER + 1, at + _NUMBER + 2)]
    at += _NUMBER + 1 + _CHANGE + 1
    heads.append((spark_head(run, spark), at, at))
    at += spark + 1
    for name, _ in _shares(found.parts[0], width):
        begin = at + _share_cells(width) - 1 - cell_width(name)  # right above the numbers
        heads.append((name, begin, begin))
        at += _share_cells(width) + 1
    if width >= _ALL:
        heads.append(("success", at, at + 1))
    title = "What earns the reward?" if found.weighted else "Parts, weights unknown"
    if heads[0][1] <= cell_width(title) + 1:
        heads = heads[1:]
    return section_line(title, width, view, level=level, heads=heads)


def _part_line(run: RunView, part: Part, name: str, level: Level, view: View, width: int) -> Line:
    glyphs, alarm, token = view.glyphs, level >= Level.WATCH, LEVEL_TOKEN[level]
    line: Line = [
        (f"{glyphs.badge(level)} ", style(token, bold=alarm)),
        column(name, _name_cells(width) + 1, style(Token.STRONG) if alarm else TEXT),
        (f"{numbers.short(part.mean):>{_NUMBER}} ", STRONG),
    ]
    change = ""
    if part.moves and part.change:
        change = numbers.change(0, part.change, up=glyphs.up, down=glyphs.down)
    line.append(column(change if part.moves else "no move", _CHANGE + 1, MUTED))
    if cells := _spark_cells(width):
        line += [*spark_line(run, part.tag, cells, view, judged=alarm), (" ", TEXT)]
    for head, share in _shares(part, width):
        look = STRONG if alarm and head == "of rise" else MUTED
        line.append((f"{_percent(share):>{_share_cells(width) - 1}}  ", look))
    if width >= _ALL:
        line.append(column(part.success or "–", _SUCCESS, MUTED))

    return fit_line(line, width)
