"""The list of runs: state, framework, step, age, verdict, headline sparkline."""

from __future__ import annotations

from collections.abc import Sequence

from rltui.core.batch import Note, RunKey
from rltui.core.level import Level
from rltui.core.text import pad
from rltui.health.model import Finding
from rltui.present.kit import numbers, sentences
from rltui.present.kit.file_note import trouble_count, trouble_line, troubles_in
from rltui.present.kit.glyph import GlyphSet
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
    line_width,
    style,
)
from rltui.present.kit.names import distinct
from rltui.present.screens.diagnosis import cause_of
from rltui.present.screens.entries import Entry, fixed, longest, with_margin, words_match
from rltui.present.screens.finding_rows import FindingRow, finding_rows, worst_rows
from rltui.present.screens.first_movers import change_words
from rltui.present.screens.header import state_spans
from rltui.present.screens.log import crashed_line
from rltui.present.screens.marks import slot_look, slot_of, slot_sign
from rltui.present.screens.metric_rows import newest_of
from rltui.present.screens.metric_table import spark_line
from rltui.present.screens.run_state import since_step
from rltui.present.screens.view import View
from rltui.session import RunView

#: Cells for the worst finding beside the number of unreadable files in words.
_WORST_AND_COUNT = 50
#: Lines about hosts, servers and directories that cannot be read.
_MOST_TROUBLES = 3


class _Columns:
    """Widths of the columns at a screen width; 0 leaves a column out."""

    def __init__(self, width: int, longest: int, marks: bool) -> None:
        """``marks``: with a column for the signs of marked runs."""
        self.mark = 2 if marks else 0
        self.left = 2 if width >= 110 else 1
        self.framework = 15 if width >= 110 else 13 if width >= 80 else 0
        self.state = 14 if width >= 110 else 12 if width >= 60 else 0
        self.step = 8 if width >= 60 else 0
        self.age = 7 if width >= 100 else 0
        self.title = 11 if width >= 110 else 7 if width >= 80 else 0
        self.value = 10 if width >= 50 else 0
        self._share_out(width, longest)
        if width < 110 and self.framework and self.name < longest + 2:
            self.framework = 0  # names differ, frameworks rarely do
            self._share_out(width, longest)

    def _share_out(self, width: int, longest: int) -> None:
        """Give what is left to the name and the sparkline."""
        gaps = 2 if self.value else 1
        used = (
            self.left
            + self.mark
            + 2
            + self.framework
            + self.state
            + self.step
            + self.age
            + self.title
        )
        rest = width - used - self.value - gaps - 1
        least_spark = 24 if width >= 110 else 8 if width >= 80 else 0
        self.name = max(8, min(longest + 2, rest - least_spark))
        self.spark = min(60, rest - self.name) if rest - self.name >= 6 else 0


def runs_shown(runs: list[RunView], order: str, text: str) -> list[RunView]:
    """The runs that pass the filter ``text``, by ``order``: verdict, name or newest."""
    shown = runs_matching(runs, text)
    if order == "name":
        return sorted(shown, key=lambda r: r.key)
    if order == "newest":
        return sorted(shown, key=lambda r: (-_written(r), r.key))
    return sorted(shown, key=_by_verdict)


def runs_matching(runs: list[RunView], text: str) -> list[RunView]:
    """The runs that pass the filter ``text``, in their order."""
    return [r for r in runs if words_match(_searched_words(r), text)] if text else runs


def _written(run: RunView) -> float:
    at = run.progress.written_at if run.progress else run.data.files.modified
    return at or 0.0


def _searched_words(run: RunView) -> str:
    known, progress = run.recognition, run.progress
    words = [run.name, run.key.name, run.verdict.level.word]
    if known is not None:
        words += [known.framework, known.title, known.algorithm or ""]
    if progress is not None:
        words.append(run.verdict.state_word)
    return " ".join(words)


def _by_verdict(run: RunView) -> tuple[int, int, RunKey]:
    order = {Level.BAD: 0, Level.WATCH: 1, Level.OK: 2, Level.UNKNOWN: 3}
    firing = sum(f.level >= Level.WATCH for f in run.report.firing()) if run.report else 0
    return order[run.verdict.level], -firing, run.key


class RunRows:
    """The list of runs at one width."""

    def __init__(
        self,
        runs: list[RunView],
        view: View,
        width: int,
        reading: float | None = None,
        reference: RunView | None = None,
    ) -> None:
        """``reading`` is the share of the logs that has been read, None when all has been;
        ``reference`` is the run that the others are compared with."""
        self._runs = runs
        self._view = view
        self._width = width
        self._reading = reading
        self._reference = reference
        names = [r.name for r in runs]
        self._columns = _Columns(width, longest(names, 8), bool(view.marked))
        short = distinct(tuple(names), self._columns.name - 1, view.glyphs.ellipsis)
        self._names = dict(zip((r.key for r in runs), short, strict=True))

    def head(self) -> Line:
        """The column heads, set into a rule."""
        return _head(self._columns, self._width, self._view)

    def entries(self, hidden: int, notes: Sequence[Note] = ()) -> list[Entry[RunKey]]:
        """One entry per run, after trouble that concerns no single run (``notes``); ``hidden``
        runs did not pass the filter."""
        entries = self._troubles(troubles_in(notes)) + [self._entry(run) for run in self._runs]
        if hidden:
            entries.append(fixed([("  ", TEXT), (f"{hidden} hidden by the filter", MUTED)]))
        return entries

    def _troubles(self, troubles: list[Note]) -> list[Entry[RunKey]]:
        """One line each of the first ones; the last line counts the others."""
        shown = [[note] for note in troubles[: _MOST_TROUBLES - 1]]
        rest = troubles[_MOST_TROUBLES - 1 :]
        margin, width = self._columns.left, self._width - self._columns.left - 1
        return [
            fixed([(" " * margin, TEXT), *trouble_line(notes, width, self._view.glyphs)])
            for notes in (*shown, *([rest] if rest else ()))
        ]

    def _entry(self, run: RunView) -> Entry[RunKey]:
        room = self._width - self._columns.left - self._columns.mark - 6
        said: Line = []
        if run is self._reference:
            said = [("the others are compared with it", MUTED)]
            room -= line_width(said) + 3
        below = _below(run, self._view, room, self._reading)
        below = [*said, *([("   ", TEXT)] if said and below else []), *below]

        def draw(cursor: bool) -> list[Line]:
            lines = [_line(run, self._names[run.key], self._columns, self._view, cursor)]
            lines += [[(" " * (4 + self._columns.mark), TEXT), *below]] if below else []
            cells, left = self._width - self._columns.left - 1, self._columns.left
            return [with_margin(x, cells, left, self._view, cursor=cursor) for x in lines]

        return Entry(run.key, draw, 2 if below else 1)


def _head(columns: _Columns, width: int, view: View) -> Line:
    """The column heads, set into a rule."""
    heads = [
        ("Run", columns.mark + columns.name + 2),
        ("framework", columns.framework),
        ("state", columns.state),
    ]
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


def _line(run: RunView, name: str, columns: _Columns, view: View, here: bool) -> Line:
    glyphs, level = view.glyphs, run.verdict.level
    look = style(LEVEL_TOKEN[level], bold=level >= Level.WATCH)
    name_look = STRONG if level >= Level.WATCH or here else TEXT
    slot = slot_of(view.marked, run)
    sign: Line = [("  ", TEXT)] if slot is None else [(f"{slot_sign(slot)} ", slot_look(slot))]
    return [
        *(sign if columns.mark else []),
        (f"{glyphs.badge(level)} ", look),
        column(name, columns.name, name_look),
        *_facts(run, columns, view),
        *_headline(run, columns, view),
    ]


def _facts(run: RunView, columns: _Columns, view: View) -> Line:
    known, progress = run.recognition, run.progress
    line: Line = []
    if columns.framework:
        words = [known.title if known else "", (known.algorithm or "") if known else ""]
        text = " · ".join(w for w in words if w) or "–"
        text = view.glyphs.text(text)
        line.append(column(text, columns.framework, MUTED, ellipsis=view.glyphs.ellipsis))
    if columns.state:
        line.extend(
            fit_line(state_spans(run, view), columns.state - 1, ellipsis=view.glyphs.ellipsis)
        )
        line.append((" ", TEXT))
    if columns.step:
        last = progress.last_step if progress else None
        text = numbers.step(last)
        if last is not None and run.step_word != "step":
            text = f"{run.step_word} {text}" if len(text) + 4 <= columns.step else text
        line.append(column(text, columns.step, right=True))
    if columns.age:
        age = progress.age_s if progress else None
        line.append(column(numbers.age(age), columns.age, MUTED, right=True))
    return line


def _headline(run: RunView, columns: _Columns, view: View) -> Line:
    tag = run.headline()
    if tag is None or not columns.value:
        return []
    info, value = run.infos[tag], numbers.aligned(newest_of(run, run.shown(tag)))
    line: Line = [(" ", TEXT)]
    if columns.title:
        title = view.glyphs.text(info.title)
        blank = len(value) - len(value.lstrip())
        cells = columns.title + blank  # a long title reaches up to the value
        line.append(column(title, cells, MUTED, ellipsis=view.glyphs.ellipsis))
        value = value[blank:]
    line.append((value, STRONG))
    if columns.spark:
        line.append((" ", TEXT))
        line.extend(spark_line(run, tag, columns.spark, view, judged=True))
    return line


def _below(run: RunView, view: View, width: int, share: float | None) -> Line:
    """The second line: why it died or the worst finding, why there is nothing to judge, and files
    that cannot be read."""
    troubles = troubles_in(run.data.files.notes)
    if run.data.files.reading:
        return [(f"reading {numbers.percent(share)}" if share is not None else "reading", MUTED)]
    line = crashed_line(run, view)
    if not line and run.infos:
        firing = [r for r in finding_rows(run) if r.is_firing]
        line = _worst_line(run, firing, view) if firing else []
    if line and troubles:
        count = trouble_count(troubles, view.glyphs, short=width < _WORST_AND_COUNT)
        room = max(0, width - line_width([count]) - 3)
        return [*_cut(line, room, view.glyphs), ("   ", TEXT), count]
    if troubles:
        return trouble_line(troubles, width, view.glyphs)
    if not line and not run.infos:
        size = sum(s.size for s in run.data.files.sources.values())
        return [(f"no scalar yet: {numbers.exact(size)} bytes read", MUTED)]
    return line


def _cut(line: Line, width: int, glyphs: GlyphSet) -> Line:
    """The line in at most ``width`` cells."""
    return fit_line(line, min(width, line_width(line)), ellipsis=glyphs.ellipsis)


def _worst_line(run: RunView, firing: list[FindingRow], view: View) -> Line:
    """The cause, the worst finding, and how many more. What is about the state of the run alone
    says how long it has been quiet: the state has its column."""
    worst, cause = worst_rows(firing, 1)[0].finding, cause_of(run)
    look, words = style(LEVEL_TOKEN[worst.level]), view.glyphs.text
    if worst.tag is None:
        return [(words(sentences.short(worst)), look)]
    line: Line = []
    if cause is not None:
        change = f"{run.infos[cause.tag].title} {change_words(cause)}"
        line += [(words(change), look), (f" at {numbers.step(cause.step)}, then ", MUTED)]
    line.append((words(worst.title), look))
    line.append((_since(run, worst), MUTED))
    if len(firing) > 1:
        line.append((f"  and {len(firing) - 1} more", MUTED))
    return line


def _since(run: RunView, finding: Finding) -> str:
    return "" if finding.since_step is None else f"  since {since_step(run, finding)}"
