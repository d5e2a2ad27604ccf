"""The list of runs: state, framework, step, age, verdict, headline sparkline."""

from __future__ import annotations

from rltui.core.level import Level
from rltui.core.text import cell_width, pad
from rltui.health.model import Finding
from rltui.present.kit import numbers
from rltui.present.kit.line import (
    LEVEL_TOKEN,
    MUTED,
    RULE,
    STRONG,
    TEXT,
    Line,
    Token,
    column,
    fit_line,
    style,
    with_ground,
)
from rltui.present.kit.names import distinct
from rltui.present.screens.frame_model import Body, run_id, runs_shown
from rltui.present.screens.header import state_spans
from rltui.present.screens.log import crashed_line
from rltui.present.screens.metric_table import spark_line
from rltui.present.screens.view import View
from rltui.session import RunView, Session


class _Columns:
    """Widths of the columns at a screen width; 0 leaves a column out."""

    def __init__(self, width: int, longest: int) -> None:
        self.left = 2 if width >= 110 else 1
        self.framework = 15 if width >= 110 else 13 if width >= 80 else 0
        self.state = 14 if width >= 110 else 12 if width >= 60 else 0
        self.step = 8 if width >= 60 else 0
        self.age = 7 if width >= 100 else 0
        self.title = 11 if width >= 110 else 9 if width >= 80 else 0
        self.value = 10 if width >= 50 else 0
        self._share_out(width, longest)
        if width < 110 and self.framework and self.name < longest + 2:
            self.framework = 0  # the name tells runs apart, the framework rarely does
            self._share_out(width, longest)

    def _share_out(self, width: int, longest: int) -> None:
        """Give what is left to the name and the sparkline."""
        gaps = 2 if self.value else 1
        used = self.left + 2 + self.framework + self.state + self.step + self.age + self.title
        rest = width - used - self.value - gaps - 1
        least_spark = rest * 2 // 5 if width >= 80 else 0
        self.name = max(8, min(longest + 2, rest - least_spark))
        self.spark = min(60, rest - self.name) if rest - self.name >= 6 else 0


def runs_body(session: Session, view: View, width: int, height: int) -> Body:
    """The list, scrolled so that the cursor is visible."""
    runs = runs_shown(session, view)
    items = [run_id(r.key) for r in runs]
    cursor = view.cursor.get("runs")
    if items and (cursor not in items or "runs" not in view.moved):
        cursor = view.cursor["runs"] = items[0]
    longest = max((cell_width(r.name) for r in runs), default=8)
    columns = _Columns(width, longest)
    names = distinct(tuple(r.name for r in runs), columns.name - 1, view.glyphs.ellipsis)
    lines: list[Line] = (
        [[], _head(columns, width, view)] if height > 20 else [_head(columns, width, view)]
    )
    room = max(1, height - len(lines))
    heights = [2 if _below(session, r, view) else 1 for r in runs]
    at = items.index(cursor) if cursor in items else 0
    first = _first_visible(heights, at, view.offset.get("runs", 0), room)
    view.offset["runs"] = first
    hits: dict[int, str] = {}
    for run, name, item in zip(runs[first:], names[first:], items[first:], strict=True):
        if len(lines) >= height:
            break  # only what is visible is drawn: there may be a thousand runs
        for line in _entry(session, run, name, columns, width, view, item == cursor):
            hits[len(lines)] = item
            lines.append(line)
    hidden = len(session.views) - len(runs)
    if hidden and len(lines) < height:
        lines.append([("  ", TEXT), (f"{hidden} hidden by the filter", MUTED)])
    note = f"{len(runs)} of {len(session.views)}"
    return Body(lines[:height], items, hits, [], note)


def _first_visible(heights: list[int], at: int, offset: int, room: int) -> int:
    """The first entry to draw: near ``offset``, with entry ``at`` in sight, no room wasted."""
    if not heights:
        return 0
    first = max(0, min(offset, at, len(heights) - 1))
    taken = sum(heights[first : at + 1])
    while first < at and taken > room:
        taken -= heights[first]
        first += 1
    rest = sum(heights[first:])
    while first > 0 and rest + heights[first - 1] <= room:
        first -= 1
        rest += heights[first]
    return first


def _head(columns: _Columns, width: int, view: View) -> Line:
    """The column heads, set into a rule."""
    heads = [("Run", columns.name + 2), ("framework", columns.framework), ("state", columns.state)]
    rule = view.glyphs.rule
    line: Line = [(" " * columns.left, TEXT)]
    for i, (head, room) in enumerate(heads):
        if room:
            line.append((f"{head} ", style(Token.STRONG, bold=True) if i == 0 else MUTED))
            line.append((rule * max(0, room - len(head) - 2) + " ", RULE))
    for head, room in (("step", columns.step), ("age", columns.age)):
        if room:
            line.append((pad(head, room - 1, right=True) + " ", MUTED))
    if columns.value:
        line.append((" ", TEXT))
        line.append((pad("headline", columns.title + columns.value), MUTED))
    if columns.spark:
        line.append(
            (" " + pad("over the run" if columns.spark >= 12 else "run", columns.spark), MUTED)
        )
    return fit_line(line, width - 1)


def _entry(
    session: Session,
    run: RunView,
    name: str,
    columns: _Columns,
    width: int,
    view: View,
    here: bool,
) -> list[Line]:
    """One run: its line, and what is worst about it below."""
    glyphs = view.glyphs
    level = run.verdict.level
    look = style(LEVEL_TOKEN[level], bold=level >= Level.WATCH)
    line: Line = [(f"{glyphs.badge(level)} ", look)]
    name_look = STRONG if level >= Level.WATCH or here else TEXT
    line.append(column(name, columns.name, name_look))
    line.extend(_facts(run, columns, view))
    line.extend(_headline(run, columns, view))
    lines = [line]
    below = _below(session, run, view)
    if below:
        lines.append([("    ", TEXT), *below])
    return [_margin(x, columns, width, view, here) for x in lines]


def _facts(run: RunView, columns: _Columns, view: View) -> Line:
    known, progress = run.recognition, run.progress
    line: Line = []
    if columns.framework:
        words = [known.title if known else "", (known.algorithm or "") if known else ""]
        text = " · ".join(w for w in words if w) or "–"
        text = view.glyphs.text(text)
        line.append(column(text, columns.framework, MUTED, ellipsis=view.glyphs.ellipsis))
    if columns.state:
        spans = state_spans(progress, view, words=False)[:2]
        if progress is not None and spans[1][0].startswith(("ended", "no points")):
            spans = [spans[0], ("unknown", MUTED)]
        line.extend(fit_line(spans, columns.state - 1, ellipsis=view.glyphs.ellipsis))
        line.append((" ", TEXT))
    if columns.step:
        last = progress.last_step if progress else None
        line.append(column(numbers.step(last), columns.step, right=True))
    if columns.age:
        age = progress.age_s if progress else None
        line.append(column(numbers.age(age), columns.age, MUTED, right=True))
    return line


def _headline(run: RunView, columns: _Columns, view: View) -> Line:
    tag = run.headline()
    if tag is None or not columns.value:
        return []
    info, line = run.infos[tag], []
    line.append((" ", TEXT))
    if columns.title:
        title = view.glyphs.text(info.title)
        line.append(column(title, columns.title, MUTED, ellipsis=view.glyphs.ellipsis))
    last = run.shown(tag).last
    line.append((numbers.aligned(last[2] if last else None), STRONG))
    if columns.spark:
        line.append((" ", TEXT))
        line.extend(spark_line(run, tag, columns.spark, view, judged=True))
    return line


def _below(session: Session, run: RunView, view: View) -> Line:
    """The second line: why it died, the worst finding, or why there is nothing to judge."""
    if run.data.files.reading:
        share = session.reading()
        return [(f"reading {numbers.percent(share)}" if share is not None else "reading", MUTED)]
    if not run.infos:
        size = sum(s.size for s in run.data.files.sources.values())
        return [(f"no scalar yet: {numbers.exact(size)} bytes read", MUTED)]
    crashed = crashed_line(run, view)
    if crashed:
        return crashed
    firing = run.report.firing() if run.report else ()
    if not firing:
        return []
    worst = firing[0]
    line: Line = [(worst.title, style(LEVEL_TOKEN[worst.level]))]
    line.append((_since(worst), MUTED))
    if len(firing) > 1:
        line.append((f"  and {len(firing) - 1} more", MUTED))
    return line


def _since(finding: Finding) -> str:
    return "" if finding.since_step is None else f"  since {numbers.step(finding.since_step)}"


def _margin(line: Line, columns: _Columns, width: int, view: View, here: bool) -> Line:
    if not here:
        return [(" " * columns.left, TEXT), *line]
    bar = (" " * (columns.left - 1) + view.glyphs.cursor, style(Token.ACCENT, bold=True))
    return [bar, *with_ground(fit_line(line, width - columns.left - 1), Token.SEL)]
