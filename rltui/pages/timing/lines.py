"""The Timing tab of a run that logs the stages of its steps: where the time of one step goes, and
a table of the stages."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from rltui.core.level import Level
from rltui.core.text import cell_width
from rltui.draw.chart.stack import bar_line
from rltui.draw.line import (
    LEVEL_TOKEN,
    MUTED,
    STRONG,
    TEXT,
    TITLE,
    Entry,
    Line,
    fit_line,
    fixed,
    line_width,
    style,
)
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.metrics import Row, tab_sections
from rltui.facts.timing import Anatomy, anatomy
from rltui.pages.run.metric_table import columns_for, row_entries, section_line
from rltui.pages.timing.timing_table import (
    OTHER,
    by_cost,
    colours_of,
    stage_columns,
    stage_entries,
    stage_rows,
)
from rltui.session import RunView
from rltui.session.limits import stage_limits

TIMING = "timing"
#: Stages below this share of the step are not worth a word.
_NAMED_SHARE = 0.05
#: Cells of the bar on Overview, at least.
_BAR = 70
#: Cells that the names of other times have more than those of metrics.
_LONGER = 6


@dataclass(frozen=True, slots=True)
class TimingLayout:
    """Heights in lines and widths in cells of the parts of the tab."""

    margin: int
    width: int
    """Width of a row."""
    top: int
    """Title and bar of one step, with a blank line where there is room."""
    rows: int
    """Lines of the list, without its heading."""
    plot: int
    """Lines of the stacked area with its heading; 0 for none."""


def timing_layout(width: int, height: int, rows: int) -> TimingLayout:
    """The layout for a list of ``rows`` lines in ``width`` x ``height``."""
    margin = 2 if width >= 110 else 1
    roomy = height >= 24
    top = 3 if roomy else 2 if height >= 8 else 0
    left = height - top - 1
    least = 10 if left >= 18 else 0
    plot = max(least, min(left - rows, max(least, height * 3 // 5)))
    if plot < 8:
        plot = 0
    return TimingLayout(margin, max(10, width - margin - 2), top, max(1, left - plot), plot)


# -- one step --------------------------------------------------------------------------------


def step_lines(run: RunView, found: Anatomy, view: View, width: int) -> list[Line]:
    """What one step takes now, against its usual time, and a bar of its stages."""
    newest = f"median of the newest {min(stage_limits().recent, len(found.steps))}"
    words = [*_title_words(run, found, view), *_slowed_words(run, found, view), (newest, MUTED)]
    line: Line = [("One step", TITLE)]
    for span in words:
        if line_width(line) + cell_width(span[0]) + 2 > width:
            break
        line += [("  ", TEXT), span]
    return [line, bar_line(_shares(run, found), width, view.glyphs)]


def _title_words(run: RunView, found: Anatomy, view: View) -> Line:
    whole = found.whole
    level = run.verdict.tag_level(found.total) if found.total else Level.UNKNOWN
    look = style(LEVEL_TOKEN[level], bold=True) if level >= Level.WATCH else STRONG
    words: Line = [(numbers.duration(whole.now, tenths=True), look)]
    if not math.isnan(whole.drift) and found.usual_steps is not None:
        usual = numbers.duration(whole.usual, tenths=True)
        steps = f"{run.step_word}s {numbers.step_range(*found.usual_steps)}"
        factor = numbers.factor(whole.drift).lstrip("× ")
        as_usual = stage_limits().as_usual
        near = 1 / as_usual < whole.drift < as_usual
        text = f"as usual ({steps})" if near else f"{factor} × its usual {usual} ({steps})"
        words.append((view.glyphs.text(text), MUTED))

    return words


def _slowed_words(run: RunView, found: Anatomy, view: View) -> Line:
    """Which stage lengthened the step, and since when."""
    if found.slowed is None:
        return []
    stage, since = found.slowed
    factor = numbers.factor(found.costs[stage.tag].drift)
    text = f"slower by {run.infos[stage.tag].title} {factor} since {run.step_word} "
    return [(view.glyphs.text(text + numbers.step(since)), TEXT)]


def _shares(run: RunView, found: Anatomy) -> list[tuple[str, float, int]]:
    """Label, share and colour of the named stages, then of all others together."""
    colours, parts, rest = colours_of(found), [], found.other / (found.length or 1.0)
    for stage in by_cost(found):
        share = found.share(stage)
        if stage.depth or math.isnan(share):
            continue
        if colours[stage.tag] == OTHER:
            rest += share
        else:
            label = f"{run.infos[stage.tag].title} {numbers.percent(share, whole=True)}"
            parts.append((label, share, colours[stage.tag]))
    return [*parts, (f"other {numbers.percent(rest, whole=True)}", rest, OTHER)]


def step_line(run: RunView, view: View, width: int) -> Line | None:
    """One step in one line, for Overview: its time and a bar of its stages, or where that is too
    short for their names the longest of them; None without any."""
    found = anatomy(run)
    if found is None or math.isnan(found.whole.now):
        return None
    line: Line = [("One step  ", TITLE), *_title_words(run, found, view)[:1]]
    slowed = _slowed_words(run, found, view)
    for text, look in slowed:
        line += [("  ", TEXT), (text, look)]
    begin = line_width(line)
    if width - begin - 2 >= _BAR:
        return [*line, ("  ", TEXT), *bar_line(_shares(run, found), width - begin - 2, view.glyphs)]
    for label, share, _ in _shares(run, found):
        text = view.glyphs.text(("  " if line_width(line) == begin else ", ") + label)
        if share < _NAMED_SHARE or line_width(line) + cell_width(text) > width:
            break
        line.append((text, MUTED if slowed else TEXT))

    return fit_line(line, width, ellipsis=view.glyphs.ellipsis)


# -- the list --------------------------------------------------------------------------------


def timing_entries(
    run: RunView, found: Anatomy, view: View, width: int, margin: int, text: str
) -> list[Entry[str]]:
    """The stages, and below them the other timings as ordinary rows."""
    rows = stage_rows(run, found, text)
    entries = stage_entries(run, rows, stage_columns(width), view, margin)
    shown = {r.tag for r in rows}
    others = [r for s in tab_sections(run, TIMING, text) for r in s.rows if r.tag not in shown]
    if others:
        columns = columns_for(width)
        if columns.spark >= 2 * _LONGER:  # names such as "reference per token"
            columns = replace(columns, name=columns.name + _LONGER, spark=columns.spark - _LONGER)
        head = section_line(f"Other times {len(others)}", width, view, heads=columns)
        entries += [fixed([]), fixed([(" " * margin, TEXT), *head])]
        entries += row_entries(run, others, columns, view, margin)

    return entries


def timing_rows(run: RunView, found: Anatomy) -> int:
    """Lines of the stages alone."""
    return len(stage_rows(run, found))


def timing_note(run: RunView, found: Anatomy, text: str) -> str:
    """ "Timing 4 of 22": what a filter left."""

    def count(text: str) -> int:
        stages = {r.tag for r in stage_rows(run, found, text) if r.tag is not None}
        return len(stages | {_tag(r) for s in tab_sections(run, TIMING, text) for r in s.rows})

    return f"Timing {count(text)} of {count('')}"


def _tag(row: Row) -> str:
    return row.tag
