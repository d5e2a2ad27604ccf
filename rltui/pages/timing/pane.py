"""The Timing tab of a run that logs the stages of its steps: the usual step, a list of its stages,
and a plot of every step."""

from __future__ import annotations

import math
from collections.abc import Iterator

from textual.app import ComposeResult
from textual.geometry import Size

from rltui.core.level import Level
from rltui.core.text import cell_width
from rltui.draw.chart.stack import bar_line
from rltui.draw.line import (
    MUTED,
    TEXT,
    TITLE,
    Block,
    Entry,
    Line,
    alarm_look,
    fit_line,
    fixed,
    indented,
    line_width,
    margin_of,
)
from rltui.draw.table import heading
from rltui.draw.view import PaneLayout, View
from rltui.facts import numbers
from rltui.facts.cache import kept
from rltui.facts.lanes import lanes, waste
from rltui.facts.metrics import rows_in, tab_sections
from rltui.facts.timers import title_of
from rltui.facts.timing import Anatomy, anatomy
from rltui.facts.x_axis import span_of
from rltui.pages.run.metric_table import columns_for, metric_heads, row_entries
from rltui.pages.run_pane import RunPane
from rltui.pages.timing.lanes import lane_columns, lane_rows, lane_shares, lane_strips, tail_name
from rltui.pages.timing.timing_table import (
    OTHER,
    StageRow,
    by_cost,
    colours_of,
    stacked_lines,
    stage_columns,
    stage_entries,
    stage_rows,
    stages_head,
)
from rltui.session import JudgedRun
from rltui.session.limits import session_limits
from rltui.tui.widgets.lines import Lines

TIMING = "timing"
#: Stages below this share of the step are not worth a word.
_NAMED_SHARE = 0.05
#: Cells of the bar on Overview, at least.
_BAR = 70
#: Cells that the names of other times have more than those of metrics.
_LONGER = 6


def timing_layout(width: int, height: int, rows: int, *, strips: bool = False) -> PaneLayout:
    """The layout for a list of ``rows`` lines in ``width`` x ``height``; ``strips``: with lanes,
    which are the picture, and need room."""
    margin = margin_of(width)
    top = 3 if height >= 24 else 2 if height >= 8 else 0
    left = height - top - 1
    least = (left // 2 if strips else 10) if left >= 18 else 0
    plot = max(least, min(left - rows, max(least, height * 3 // 5)))
    if plot < 8:
        plot = 0
    rows = max(10, width - margin - 2)
    return PaneLayout(margin, rows, width, 0, max(1, left - plot), plot, top)


# -- one step --------------------------------------------------------------------------------


def step_lines(run: JudgedRun, found: Anatomy, view: View, width: int) -> Block:
    """The time of a step now and usually, and a bar of its stages."""
    newest = f"median of the newest {min(session_limits().stages.recent, len(found.steps))}"
    line: Line = [("One step", TITLE)]
    for text, look in [*_step_words(run, found), (newest, MUTED)]:
        if line_width(line) + cell_width(text) + 2 > width:
            break
        line += [("  ", TEXT), (text, look)]
    bar = bar_line(_shares(run, found), width, view.glyphs)
    idle, hours, leaf = waste(run)
    hours = hours if cell_width(idle + hours + leaf) <= width else ""
    return [line, fit_line([(idle + hours + leaf, TEXT)], width), bar] if idle else [line, bar]


def _step_words(run: JudgedRun, found: Anatomy, *, short: bool = False) -> Line:
    """The time of a step now, its usual time (not when ``short``), and which stage lengthened it
    since when."""
    whole = found.whole
    level = run.verdict.tag_level(found.total) if found.total else Level.UNKNOWN
    line: Line = [(numbers.duration(whole.now, tenths=True), alarm_look(level))]

    if not (short or math.isnan(whole.drift) or found.usual_steps is None):
        usual = numbers.duration(whole.usual, tenths=True)
        steps = f"{run.step_word}s {numbers.step_range(*found.usual_steps)}"
        text = f"{numbers.factor(whole.drift).lstrip('× ')} × its usual {usual} ({steps})"
        as_usual = session_limits().stages.as_usual
        if 1 / as_usual < whole.drift < as_usual:
            text = f"as usual ({steps})"
        line.append((text, MUTED))
    if found.slowed is not None:
        stage, since = found.slowed
        factor = numbers.factor(found.costs[stage.tag].drift)
        text = f"slower by {title_of(run, stage.tag)} {factor} since {run.step_word} "
        line.append((text + numbers.step(since), TEXT))

    return line


def _shares(run: JudgedRun, found: Anatomy) -> list[tuple[str, float, int]]:
    """Label, share and colour of the named stages, then of all others together."""
    if lanes(run):
        return lane_shares(run)
    colours = colours_of(found)
    parts = []
    rest = found.other / (found.length or 1.0)
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


def step_line(run: JudgedRun, view: View, width: int) -> Line | None:
    """One step in one line, for Overview: its time and a bar of its stages, or where that is too
    short for their names the longest of them; None without any."""
    found = anatomy(run)
    if found is None or math.isnan(found.whole.now):
        return None
    time, *slowed = _step_words(run, found, short=True)
    line: Line = [("One step  ", TITLE), time]

    for span in slowed:
        line += [("  ", TEXT), span]
    begin = line_width(line)
    if width - begin - 2 >= _BAR:
        return [*line, ("  ", TEXT), *bar_line(_shares(run, found), width - begin - 2, view.glyphs)]

    for label, share, _ in _shares(run, found):
        text = ("  " if line_width(line) == begin else ", ") + label
        if share < _NAMED_SHARE or line_width(line) + cell_width(text) > width:
            break
        line.append((text, MUTED if slowed else TEXT))

    return fit_line(line, width)


def rows_of(run: JudgedRun, found: Anatomy, text: str = "") -> list[StageRow]:
    """The rows of the list that pass the filter ``text``: lanes where a run has them, else
    stages."""
    return (lane_rows if lanes(run) else stage_rows)(run, found, text)


# -- the list --------------------------------------------------------------------------------


def timing_entries(
    run: JudgedRun, found: Anatomy, view: View, width: int, margin: int, text: str
) -> list[Entry[str]]:
    """The stages, and below them the other timings as ordinary rows."""
    rows = rows_of(run, found, text)
    columns = lane_columns(run, width) if lanes(run) else stage_columns(width)
    entries = stage_entries(run, rows, columns, view, margin)
    shown = {r.tag for r in rows}
    others = [r for r in rows_in(tab_sections(run, TIMING, text)) if r.tag not in shown]
    if others:
        wide = columns_for(width)
        if wide["spark"] >= 2 * _LONGER:  # names such as "reference per token"
            wide = wide.moved(_LONGER, "spark", "name")
        heads = metric_heads(wide, "")
        head = heading(f"Other times {len(others)}", width, view, heads=heads)
        entries.append(fixed([], *indented([head], margin)))
        entries += row_entries(run, others, wide, view, margin)

    return entries


class TimingPane(RunPane):
    """The usual step above, a list of its stages, a plot of every step below."""

    DEFAULT_CSS = """
    TimingPane { height: 1fr; }
    TimingPane #stages-head { height: 1; }
    """

    def __init__(self, run: JudgedRun) -> None:
        super().__init__(run, "stages", timing_layout(80, 20, 0))
        self._text = ""
        self.shares = False
        """Whether the plot shows shares of the step instead of seconds."""

    def compose(self) -> ComposeResult:
        yield Lines(self._draw_step, id="step")
        yield Lines(self._draw_head, id="stages-head")
        yield self.items
        yield Lines(self._draw_plot, id="plot")

    @property
    def note(self) -> str:
        """ "Timing 4 of 22": what the filter left."""
        run = self._run
        found = anatomy(self._run)
        if found is None:
            return ""

        def tags(text: str) -> Iterator[str]:
            yield from (r.tag for r in rows_of(run, found, text) if r.tag is not None)
            yield from (r.tag for r in rows_in(tab_sections(run, TIMING, text)))

        return f"Timing {len(set(tags(self._text)))} of {len(set(tags('')))}"

    def show(self, text: str, size: Size) -> None:
        """Show the stages after the filter ``text``, in a pane of ``size``."""
        run = self._run
        found = anatomy(self._run)
        if found is None:
            return
        self._text = text
        strips = bool(lanes(run))
        rows = len(rows_of(run, found))
        layout = timing_layout(size.width, size.height, rows, strips=strips)
        self._layout = layout
        entries = timing_entries(run, found, self.view, layout.rows, layout.margin, text)
        entries = entries or [fixed([("  no row matches the filter", TEXT)])]

        for name, height in (("#step", layout.top), ("#plot", layout.below)):
            part = self.query_one(name)
            part.styles.height = height or 1
            part.display = height > 0
        self.items.styles.height = layout.list_height
        self.items.show(entries)

        for lines in self.query(Lines):
            lines.update()

    # -- drawing ---------------------------------------------------------------------------

    def _draw_step(self, _width: int, height: int) -> Block:
        found = anatomy(self._run)
        layout = self._layout
        if found is None:
            return []
        lines = step_lines(self._run, found, self.view, layout.rows)
        return indented(lines[:height], layout.margin)

    def _draw_head(self, _width: int, _height: int) -> Block:
        layout = self._layout
        run = self._run
        width = layout.rows
        view = self.view
        if lanes(run):
            head = stages_head(run, lane_columns(run, width), width, view, "Lanes", tail_name(run))
        else:
            head = stages_head(run, stage_columns(width), width, view)
        return indented([head], layout.margin)

    def _draw_plot(self, _width: int, height: int) -> Block:
        found = anatomy(self._run)
        layout = self._layout
        view = self.view
        if found is None:
            return []
        run = self._run
        width = layout.rows
        height -= 1
        shares = self.shares
        draw = lane_strips if lanes(run) else stacked_lines
        key = draw.__name__, width, height, view.glyphs, view.axis, shares, span_of(run)[2]
        lines = kept(run, key, lambda: draw(run, found, view, width, height, shares=shares))
        return [[], *indented(lines, layout.margin)]
