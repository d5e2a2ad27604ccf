"""``rltui snapshot --svg``: the state of the runs as a picture."""

from __future__ import annotations

from rltui.core.level import Level
from rltui.draw.line import Line, side_by_side
from rltui.draw.theme import Theme
from rltui.draw.view import View
from rltui.facts.metrics import OVERVIEW, tab_sections
from rltui.facts.runs import ListedRuns
from rltui.output.svg import coloured, ground_of, svg
from rltui.pages.run.header import run_header, runs_header, sentence_lines
from rltui.pages.run.tab import (
    first_to_look_at,
    overview_entries,
    side_lines,
    tab_layout,
    tag_to_chart,
)
from rltui.pages.runs.lines import RunRows
from rltui.session import JudgedRun, Session

#: Cells of the picture, and lines of the Overview of a run.
_WIDTH = 160
_HEIGHT = 42
#: Runs whose Overview is drawn under the list of several.
_MOST = 3


def snapshot_svg(session: Session, theme: Theme) -> str:
    """One run: its Overview. Several: the list of runs, and the Overview of those that are bad."""
    view = View()
    runs = [r for r in session.runs() if r.is_readable]
    if len(runs) == 1:
        lines = _overview(runs[0], view)
    else:
        listed = ListedRuns(runs)
        ordered = listed.shown("verdict", "")
        shown = [x.run for x in ordered]
        rows = RunRows(ordered, view, _WIDTH)
        lines = [
            runs_header(listed.counts, ", ".join(session.naming.labels), view, _WIDTH),
            [],
            rows.head(),
        ]
        lines += [line for entry in rows.entries(0) for line in entry.draw(False)]
        for run in [r for r in shown if r.verdict.level >= Level.WATCH and r.infos][:_MOST]:
            lines += [[], *_overview(run, view)]
    title = ", ".join(r.name for r in runs[:_MOST])

    return svg([coloured(x, theme) for x in lines], _WIDTH, ground_of(theme)[1], title)


def _overview(run: JudgedRun, view: View) -> list[Line]:
    header = run_header(run, view, _WIDTH, None)
    sections = tab_sections(run, OVERVIEW)
    count = sum(len(s.rows) for s in sections)
    if not count:
        return [header]
    layout = tab_layout(OVERVIEW, _WIDTH, _HEIGHT, count)
    first = first_to_look_at(run, OVERVIEW, sections)
    entries = overview_entries(run, sections, view, layout, first)
    left = [line for entry in entries for line in entry.draw(False)]
    tag = tag_to_chart(run, OVERVIEW, None, first)
    said = sentence_lines(run, view, _WIDTH, _HEIGHT)
    # beside the first row: a row is read before what stands beside it
    right = [[], *side_lines(run, OVERVIEW, tag, view, layout.side - 1, _HEIGHT - 1)]
    rows = min(_HEIGHT, max(len(left), len(right)))

    return [header, *said, [], *side_by_side(left, right, layout.left, 2, rows)]
