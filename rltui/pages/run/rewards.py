"""What earns the reward: a table of its parts above the rows of a tab."""

from __future__ import annotations

import math

from rltui.core.level import Level
from rltui.draw.line import (
    MUTED,
    STRONG,
    TEXT,
    Line,
    badge_span,
    fit_line,
)
from rltui.draw.prose import distinct
from rltui.draw.table import Cells, Table, heading, table_for
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.reward import Part, earned
from rltui.pages.run.metric_table import spark_head, spark_line
from rltui.session import JudgedRun

#: Lines of the tab, and cells, that leave room for it.
_LEAST_HEIGHT = 16
_LEAST_WIDTH = 58
#: Part of the lines that it may take.
_SHARE = 3
_LAYOUTS = """
   name mean> change spark level>1 variance>1 rise>1 success
82  19    8     9      *      9        9        9       10
 0  19    8     9      *      8        -        8       -
"""
#: Cells from which the names grow.
_WIDE = 84
_HEADS = {"mean": "mean", "change": "overall", "level": "of level", "variance": "variance"}
_HEADS |= {"rise": "of rise", "success": "success"}


def earning_lines(run: JudgedRun, view: View, width: int, height: int) -> list[Line]:
    """Heading, a line for each part, what pays most first, and a sentence about one that buys the
    rise; a blank line at the end. Empty for a run without parts, and without room."""
    if height < _LEAST_HEIGHT or width < _LEAST_WIDTH:
        return []
    found = earned(run)
    if found is None:
        return []
    order = {p.tag: n for n, p in enumerate(found.parts)}
    # the worst badge of each part: also that of its spread, its maximum, ...
    owners = {run.infos[p.tag].family or p.tag: p.tag for p in found.parts}
    level = {p.tag: run.verdict.tag_level(p.tag) for p in found.parts}
    for tag, info in run.infos.items():
        if (owner := owners.get(info.family or tag)) is not None:
            level[owner] = max(level[owner], run.verdict.tag_level(tag))

    parts = sorted(
        found.parts, key=lambda p: (-level[p.tag], -_known(p.rise), -_known(p.level), order[p.tag])
    )
    shown = parts[: max(2, height // _SHARE - 3)]
    columns = table_for(_LAYOUTS, width - 2)  # room for the badge of the heading
    columns = columns.moved(max(0, width - _WIDE) // 3, "spark", "name")
    titles = tuple(run.infos[p.tag].title for p in shown)
    title = "What earns the reward?" if found.weighted else "Parts, weights unknown"
    heads = columns.heads(_HEADS | {"spark": spark_head(run, columns["spark"])})
    lines = [heading(title, width, view, level=max(level.values()), heads=heads)]
    for part, name in zip(shown, distinct(titles, columns["name"]), strict=True):
        lines.append(_part_line(run, part, name, level[part.tag], columns, view))
    if len(shown) < len(parts):
        lines.append([(f"  and {len(parts) - len(shown)} more parts", MUTED)])
    for part in parts:
        verb = {"falls": "falls", "stands": "is flat"}.get(part.success)
        if verb and part.rise > 0 and level[part.tag] >= Level.WATCH:
            title = run.infos[part.tag].title
            words = f"  {title}: {_percent(part.rise)} of the rise; success {verb}"
            lines.append(fit_line([(words, TEXT)], width))
            break

    return [*lines, []]


def _known(share: float) -> float:
    return share if math.isfinite(share) else -1.0


def _percent(share: float) -> str:
    return f"{round(100 * share)} %" if math.isfinite(share) else "–"


def _part_line(
    run: JudgedRun, part: Part, name: str, level: Level, columns: Table, view: View
) -> Line:
    glyphs = view.glyphs
    alarm = level >= Level.WATCH
    change = "" if part.moves else "no move"
    if part.moves and part.change:
        change = numbers.change(0, part.change)
    cells: Cells = {
        "name": (name, STRONG if alarm else TEXT),
        "mean": (numbers.short(part.mean), STRONG),
        "change": (change, MUTED),
        "level": (_percent(part.level), MUTED),
        "variance": (_percent(part.variance), MUTED),
        "rise": (_percent(part.rise), STRONG if alarm else MUTED),
        "success": (part.success or "–", MUTED),
    }
    if columns["spark"]:
        cells["spark"] = spark_line(run, part.tag, columns["spark"], view, judged=alarm)
    return columns.line([badge_span(level, glyphs)], cells)
