"""The list of runs: state, framework, step, age, verdict, headline sparkline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from rltui.core.address import AUTO, RAY, SSH, RemotePath
from rltui.core.batch import Note, RunKey
from rltui.core.level import Level
from rltui.core.text import cell_width, clean, counted, fit, fit_middle
from rltui.draw.line import (
    CHOSEN_HEAD,
    LEVEL_BOLD,
    LEVEL_LOOK,
    MUTED,
    RULE,
    STRONG,
    TEXT,
    TITLE,
    Block,
    Entry,
    LazyEntries,
    Line,
    Span,
    Style,
    badge_span,
    column,
    fit_line,
    fixed,
    indented,
    line_width,
    side_by_side,
    slot_look,
    with_margin,
)
from rltui.draw.prose import distinct, note_lines, trouble_count, trouble_line, troubles_in, wrap
from rltui.draw.table import Cells, heading
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.groups import slot_of, slot_sign
from rltui.facts.metrics import OVERVIEW
from rltui.facts.run_columns import column_of
from rltui.facts.runs import ListedRun, Names, absent_words
from rltui.facts.series_stats import newest_of
from rltui.facts.story import main_story
from rltui.facts.verdict_sentence import verdict_sentence
from rltui.pages.findings.findings_pane import file_lines, timeline_lines
from rltui.pages.run.header import run_header, sentence_lines, state_spans
from rltui.pages.run.metric_table import spark_line, titled_chart
from rltui.pages.run.tab import companions, tag_to_chart
from rltui.pages.runs.columns import WIDE, RunColumns
from rltui.session import JudgedRun
from rltui.session.notes import note_on
from rltui.session.session import Search

#: Cells from which the number of unreadable files stands in words after the worst finding.
_WORST_AND_COUNT = 50
#: Lines about hosts, servers and directories that cannot be read.
_MOST_TROUBLES = 3
#: Hosts that are named while their search is under way.
_MOST_SEARCHES = 8
#: Fewest lines under the list that leave room for the preview.
_LEAST_HEIGHT = 14
#: Most lines of the preview: a taller chart says no more.
_MOST_HEIGHT = 34
#: Cells between the findings and the charts, and between two charts.
_GAP = 4
#: Most cells of the findings, and fewest of a chart.
_FINDINGS = 70
_CHART = 50
#: Lines of a chart, and cells of the screen, that the preview needs.
_LOW = 7
_LEAST_CELLS = 60


class RunRows:
    """The list of runs at one width."""

    def __init__(
        self,
        listed: Sequence[ListedRun],
        view: View,
        width: int,
        reading: float | None = None,
        reference: JudgedRun | None = None,
        everyone: Names | None = None,
        order: str = "",
    ) -> None:
        """``reading`` is the share of the logs that has been read, None when all has been;
        ``reference`` is the run that the others are compared with; ``everyone`` are the names
        of all runs, with those that the filter hides: the column stays while it is typed. A column
        that gives the ``order`` is underlined."""
        self._listed = listed
        self._view = view
        self._width = width
        self._reading = reading
        self._reference = reference
        all_of = everyone or Names.of(listed)
        self._order = order
        self._columns = RunColumns(width, all_of, view, order.removeprefix("-"))
        self._names = _short_names(all_of.names, self._columns.name - 1)

    def is_verdict(self, x: int) -> bool:
        """Whether a column of the screen shows the badges, or the worst findings."""
        columns = self._columns
        first = columns.left + columns.mark + 2
        return x < first or x >= self._width - 1 - columns.says

    def head(self) -> Line:
        """The column heads, set into a rule."""
        columns = self._columns
        over = "over the run" if columns.spark >= 12 else "run"
        over = "headline" if columns.chosen and columns.spark >= 8 else over
        over = "top finding or trend" if columns.says and not columns.parted else over

        def titled(head: str, room: int, look: Style = MUTED) -> Line:
            return [(f"{head} ", look), ("─" * (room - len(head) - 2), RULE)]

        cells: Cells = {
            "framework": titled("framework", columns.framework),
            "state": titled("state", columns.state),
            "step": ("step", MUTED),
            "age": ("age", MUTED),
            "headline": (" headline", MUTED),
            "spark": (" " * (not columns.value) + over, MUTED),
        }
        for text, room in columns.chosen.items():
            here = text == self._order.removeprefix("-")
            look = CHOSEN_HEAD if here else MUTED
            head = fit_middle(text, room - 1)
            cells[f"={text}"] = [(" " * (room - 1 - cell_width(head)), TEXT), (head, look)]
        run = titled("Run", columns.mark + columns.name + 2, TITLE)
        line = columns.table.line([(" " * columns.left, TEXT), *run, (" ", TEXT)], cells)
        if columns.parted:
            line = fit_line(line, self._width - 1 - columns.says)
            line.append(("worst finding", MUTED))

        return fit_line(line, self._width - 1)

    def entries(
        self, hidden: int, notes: Sequence[Note] = (), searching: Sequence[Search] = ()
    ) -> Sequence[Entry[RunKey]]:
        """One entry per run, below the ``notes`` that concern no single run and the first searches
        under way; ``hidden``: number of runs that did not pass the filter."""
        margin = (" " * self._columns.left, TEXT)
        room = self._width - self._columns.left - 1
        glyphs = self._view.glyphs
        troubles = troubles_in(notes)
        shown = [[note] for note in troubles[: _MOST_TROUBLES - 1]]
        shown += [rest] if (rest := troubles[_MOST_TROUBLES - 1 :]) else []
        above: list[Entry[RunKey]] = [
            fixed([margin, *trouble_line(some, room, glyphs, whole=True)]) for some in shown
        ]
        badge = badge_span(Level.UNKNOWN, glyphs)
        searches = search_lines(searching, room - 2, _MOST_TROUBLES)
        above += [fixed([margin, badge, *line]) for line in searches]
        below = list[Entry[RunKey]]()
        if hidden:
            below.append(fixed([margin, (f"{hidden} hidden by the filter", MUTED)]))
        first = len(above)
        last = len(above) + len(self._listed)

        def make(at: int) -> Entry[RunKey]:
            if at < first:
                return above[at]
            run = at - first
            return self._entry(self._listed[run], heights[run]) if at < last else below[at - last]

        ids = [*(e.id for e in above), *(x.key for x in self._listed), *(e.id for e in below)]
        reference = self._reference
        heights = [2 if x.run is reference or note_on(x.run) else 1 for x in self._listed]

        return LazyEntries(ids, [*(1 for _ in above), *heights, *(1 for _ in below)], make)

    def _entry(self, listed: ListedRun, height: int) -> Entry[RunKey]:
        columns = self._columns
        view = self._view
        cells = self._width - columns.left - 1
        left = columns.left

        def draw(cursor: bool) -> Block:
            lines = [_line(listed.run, self._names[listed.name], columns, view, cursor)]
            if height == 1 and listed.says_more and columns.says:
                said = said_more(listed.run, view, columns.says, self._reading)
                lines[0] = [*fit_line(lines[0], cells - columns.says), *said]
            if height > 1:
                room = cells - columns.mark - 5
                said = list[Span]()
                if note := note_on(listed.run):
                    said = [(fit(note, room // 2), STRONG)]
                    room -= line_width(said) + 3
                if listed.run is self._reference:
                    said += [("   ", TEXT)] if said else []
                    said += [("the others are compared with it", MUTED)]
                    room -= line_width(said[-1:]) + 3
                more = said_more(listed.run, view, room, self._reading)
                gap = [("   ", TEXT)] if said and more else []
                lines.append([(" " * (4 + columns.mark), TEXT), *said, *gap, *more])

            return [with_margin(x, cells, left, cursor=cursor) for x in lines]

        return Entry(listed.key, draw, height)


@lru_cache(maxsize=4)
def _short_names(names: tuple[str, ...], width: int) -> Mapping[str, str]:
    """Each name -> the text shown for it in a column."""
    return dict(zip(names, distinct(names, width), strict=True))


def _line(run: JudgedRun, name: str, columns: RunColumns, view: View, here: bool) -> Line:
    """Mark, badge, name, framework, state, step, age and headline of a run."""
    glyphs = view.glyphs
    level = run.verdict.mark
    progress = run.progress
    alarm = level >= Level.WATCH
    slot = slot_of(view.marked, run)
    signs = list[Span]()

    if columns.mark:
        signs.append(("  ", TEXT) if slot is None else (f"{slot_sign(slot)} ", slot_look(slot)))
    signs.append(badge_span(level, glyphs))
    known = run.recognition
    last = progress.last_step if progress else None
    kinds = [word for word in (known.title, known.algorithm) if word] if known else ["–"]
    step = numbers.step(last)
    if last is not None and run.step_word != "step" and len(step) + 4 <= columns.step:
        step = f"{run.step_word} {step}"
    cells: Cells = {
        "name": (name, STRONG if alarm or here else TEXT),
        "framework": (" · ".join(kinds), MUTED),
        "state": state_spans(run, view),
        "step": (step, TEXT),
        "age": (numbers.age(progress.age_s if progress else None), MUTED),
    }
    for chosen in columns.chosen:
        value = column_of(chosen).value(run)
        text = value if isinstance(value, str) else numbers.aligned(value)
        cells[f"={chosen}"] = text, STRONG if value is not None else MUTED

    return columns.table.line(signs, cells | _headline(run, columns, view))


def _headline(run: JudgedRun, columns: RunColumns, view: View) -> Cells:
    """Title and value of the headline, if they have a column, and its sparkline."""
    tag = run.headline()
    cells = Cells()
    if tag is None:
        return cells
    before: Line = [(" ", TEXT)]
    if columns.value:
        value = numbers.aligned(newest_of(run, run.shown(tag)))
        title = run.infos[tag].title
        number = value.lstrip()
        if columns.title:  # a long title reaches up to the value
            before.append(column(title, columns.title + len(value) - len(number), MUTED))
        cells["headline"] = [*before, (number if columns.title else value, STRONG)]
        before = []
    if columns.spark:
        cells["spark"] = [*before, *spark_line(run, tag, columns.spark, view, judged=True)]
    return cells


def said_more(run: JudgedRun, view: View, width: int, share: float | None) -> Line:
    """What else the list says of a run: why it died or its worst finding, or why it is not judged;
    and its files that cannot be read. ``share``: of the logs that has been read."""
    troubles = run.troubles
    if run.data.files.reading:
        return [(f"reading {numbers.percent(share)}" if share is not None else "reading", MUTED)]
    story = main_story(run)
    line: Line = []
    if story is not None:
        words = verdict_sentence(run).words(width)
        line = [(words, LEVEL_BOLD[story.level] if story.crash else LEVEL_LOOK[story.level])]
        if story.crash is not None and story.crash.line:
            line.append((f"  {story.crash.line}", STRONG))
    if line and troubles:
        count = trouble_count(troubles, view.glyphs, short=width < _WORST_AND_COUNT)
        room = min(max(0, width - line_width([count]) - 3), line_width(line))
        return [*fit_line(line, room), ("   ", TEXT), count]
    if troubles:
        return trouble_line(troubles, width, view.glyphs)
    if not line and not run.infos:
        size = sum(s.size for s in run.data.files.sources.values())
        return [(f"no scalar yet: {numbers.exact(size)} bytes read", MUTED)]

    return line


def waiting_lines(
    logdirs: Sequence[Path],
    expected: int,
    troubles: Sequence[Note],
    width: int,
    height: int,
    unmatched: str,
    searching: Sequence[Search],
    awaited: Mapping[Path, Path | None],
) -> Block:
    """The screen without a run: whether the ``expected`` number of runs is being read or none was
    found, where rltui searches, and which troubles there are. ``unmatched`` says that the chosen
    runs are not among those that were found; ``searching``: logdirs whose first search is under
    way; ``awaited``: logdirs that do not exist yet -> a path of nearly the same name."""
    troubles = [note for note in troubles if note.path not in awaited]
    below = Block()
    failed = troubles_in(troubles)
    refused = [n for n in troubles if n.level < Level.WATCH]
    for title, notes in (("trouble reading", failed), ("not understood as a log", refused)):
        if notes:
            below += [[], [(f"  {title}", TEXT)], *note_lines(notes, width)]
    if searching and not expected:
        lines = [[], *([("  ", TEXT), *line] for line in search_lines(searching, width - 3))]
        return [*lines, *below][:height]

    names = [fit(clean(str(p)), width - 6) for p in logdirs]
    doing = "no log could be read in" if troubles else "waiting for logs in"
    if expected:
        doing = f"reading {counted(expected, 'run')} in"
    said = wrap(unmatched, max(1, width - 4)) if unmatched else []
    lines = [[], *([(f"  {x}", TEXT)] for x in [*said, doing])]

    for name, path in zip(names[: max(1, height - 7)], logdirs, strict=False):
        lines.append([("    ", TEXT), (name, STRONG)])
        if path in awaited:
            lines.append([(f"      {absent_words(awaited[path])}", MUTED)])
    if not expected:
        there = "a log can be read" if troubles else "its first file does"
        lines += [[], [(f"  a run appears here as soon as {there}", MUTED)]]

    return [*lines, *below][:height]


def search_lines(searching: Sequence[Search], width: int, most: int = _MOST_SEARCHES) -> Block:
    """One line for each host whose first search is under way: "connecting to node7 for 3 s"; the
    last of ``most`` lines counts the others."""
    waits = {}
    for search in searching:
        path = search.logdir
        verb = "connecting to" if search.connecting else "searching"
        where = clean(str(path))
        if isinstance(path, RemotePath) and path.scheme == RAY:
            host = "" if path.authority == AUTO else f" at {clean(path.authority)}"
            where = f"the Ray cluster{host}"
        elif isinstance(path, RemotePath) and path.scheme == SSH and search.connecting:
            where = clean(path.authority)
        waits[f"{verb} {where}"] = search.seconds
    shown = [*waits.items()]

    if len(shown) > most:
        shown, rest = shown[: most - 1], len(shown) - most + 1
        shown.append((f"and searching {rest} others", waits.popitem()[1]))
    lines = []
    for words, seconds in shown:
        lasts = f" for {numbers.duration(seconds)}" if seconds >= 1 else ""
        lines.append([(fit(words, width - len(lasts)), TEXT), (lasts, MUTED)])

    return lines


def tiny_lines(
    runs: Sequence[JudgedRun], reading: float | None, view: View, width: int, height: int
) -> Block:
    """The header of each run, for screens too small for anything else."""
    lines = [run_header(r, view, max(width, 1), reading) for r in runs[:height]]
    return lines or [[("waiting for logs", MUTED)]]


def preview_height(width: int, room: int) -> int:
    """Lines of the preview on a screen ``width`` cells wide with ``room`` lines under the list."""
    return max(1, min(room, _MOST_HEIGHT)) if width >= _LEAST_CELLS else 1


def preview_lines(run: JudgedRun, view: View, width: int, height: int) -> Block:
    """The preview of a run in ``width`` x ``height`` cells: a blank line, its name, then findings
    beside one or two charts; where there is less room the verdict, and above one chart. Where not
    even the verdict has room, a line says what the row of the run may have no room for."""
    if width < WIDE or height < _LEAST_HEIGHT:
        # the head of the findings says no more than the header of the screen
        lines = sentence_lines(run, view, width - 2, height)
        lines += file_lines(run, width - 2, view)
        if len(lines) > height:
            return indented([said_more(run, view, width - 3, None)], 2)
        if len(lines) + 2 <= height:
            lines = [[], _preview_title(run, view, width - 2), *lines]
        tag = tag_to_chart(run, OVERVIEW, None, run.headline())
        room = height - len(lines)
        if room >= _LOW and tag is not None and tag in run.infos:
            lines += titled_chart(run, tag, view, width - 2, room)
        return indented(lines, 1)

    body = height - 3
    left = min(_FINDINGS, (width - _GAP - 3) // 2)
    space = width - 3 - left - _GAP
    count = 2 if space >= 2 * _CHART + _GAP else 1
    cells = (space - (count - 1) * _GAP) // count
    # what the worst finding is about, the headline, and further vital signs
    headline = run.headline()
    tags = list[str]()
    first = tag_to_chart(run, OVERVIEW, None, headline)

    if first is not None and first in run.infos:
        others = [headline] if headline is not None else []
        tags = list(dict.fromkeys([first, *others, *companions(run, first)]))
    charts: Block = []

    for at, tag in enumerate(tags[:count]):
        timeline = "unnamed" if at else "named"
        chart = titled_chart(run, tag, view, cells, body, timeline=timeline)
        charts = side_by_side(charts, chart, cells, _GAP, body) if at else chart
    said = sentence_lines(run, view, left, body)
    told = timeline_lines(run, view, left, body - len(said) - 1)
    lines = side_by_side([*said, [], *told], charts, left, _GAP, body)

    return [[], *indented([_preview_title(run, view, width - 3), [], *lines], 2)]


def _preview_title(run: JudgedRun, view: View, room: int) -> Line:
    note = "Enter opens it"
    name = fit(run.name, room - len(note) - 2)
    return heading(name, room, view, note)
