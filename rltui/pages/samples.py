"""Texts and samples of a run: a list at one step, and the sample at the cursor."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from textual.app import ComposeResult
from textual.containers import Container

from rltui.core.level import Level
from rltui.core.text import cell_width, clean, spaced, words_match
from rltui.draw.line import (
    LEVEL_LOOK,
    MUTED,
    STRONG,
    TEXT,
    TITLE,
    Block,
    Entry,
    LazyEntries,
    Line,
    Span,
    column,
    fit_line,
    fixed,
    indented,
    line_width,
    longest,
    row_entry,
    side_by_side,
    style,
)
from rltui.draw.prose import hard_wrap, paragraph
from rltui.draw.table import Cells, Table, heading
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.samples import FILTERS, SampleBrowser, passing, root_of
from rltui.pages.run.header import run_header
from rltui.session import JudgedRun, Session
from rltui.sources.side_files.trajectory import MODEL, TOOL, Sample, SampleRow, Turn
from rltui.tui.keys import SAMPLES, next_of
from rltui.tui.overlay import ExplainScreen
from rltui.tui.screen import LEAST, ListScreen, ReadingScreen, Work
from rltui.tui.widgets.lines import LineList, Lines
from rltui.tui.widgets.status import Status

#: The orders of the list, as the footer calls them -> the key that rows are sorted by.
_ORDERS: dict[str, Callable[[SampleRow], tuple[float, ...]]] = {
    "worst reward first": lambda r: (math.isnan(r.reward), r.reward),
    "best reward first": lambda r: (math.isnan(r.reward), -r.reward),
    "longest first": lambda r: (-(r.tokens or r.length),),
    "shortest first": lambda r: (r.tokens or r.length,),
    "as logged": lambda _: (),
}
#: Cells of the text at least, of another column at most, and of who speaks.
_TEXT, _CELLS, _WHO = 9, 13, 11
_REWARD, _END = "reward", "end"
#: Lines of the last turn, characters of a further text that stands among the figures, and rows that
#: say which columns there are.
_LAST_TURN, _SHORT, _LOOKED_AT = 12, 40, 256
#: Larger figures are written with an exponent.
_WHOLE = 1e15
#: Width from which the sample stands right of the list, else below it.
SIDE_BY_SIDE = 100
#: Keys that need a sample, another step and another kind.
_OF_SAMPLES = ("up", "down", "first", "last", "half_up", "half_down", "enter", "filter",
               "sample_order", "sample_filter", "same_prompt", "beside", "copy")  # fmt: skip
_OF_STEPS, _OF_KINDS = ("earlier", "later"), ("previous_kind", "next_kind")

SampleId = tuple[int, int]
"""Place and item of a row."""


class _Column(NamedTuple):
    """A column of the list."""

    head: str
    cell: Callable[[SampleRow], str]
    place: int
    """Columns stand in this order, which is not that of their importance."""


def _columns_of(rows: Sequence[SampleRow], view: View, cells: int) -> tuple[list[_Column], Table]:
    """The columns that a list of ``cells`` has room and something for, and with the text their
    table."""
    looked_at, found = rows[:_LOOKED_AT], dict[_Column, int]()
    has_tokens = any(r.tokens for r in looked_at)
    names = dict.fromkeys(name for row in looked_at for name, _ in row.parts)

    def end(row: SampleRow) -> str:
        if row.marks or row.right is None:
            return (row.marks or (row.end,))[0].split(" or ")[0]
        return f"answer {view.glyphs.badge(Level.OK if row.right else Level.BAD)}"

    def part(name: str, row: SampleRow) -> str:
        return next((numbers.short(value) for n, value in row.parts if n == name), "")

    def known(text: str, is_known: bool) -> str:
        return text if is_known else ""

    for wanted in (  # the most important ones first
        _Column(_REWARD, lambda r: known(numbers.aligned(r.reward), not math.isnan(r.reward)), 0),
        _Column("tokens", lambda r: known(numbers.exact(r.tokens), r.tokens > 0), 3)
        if has_tokens
        else _Column("chars", lambda r: numbers.exact(r.length), 3),
        _Column(_END, end, 5),
        _Column("turns", lambda r: known(numbers.exact(r.turns), r.turns > 1), 2),
        _Column("time", lambda r: known(numbers.duration(r.seconds, True), r.seconds >= 0), 4),
        *(_Column(re.sub(r".*/|_?rewards?_?", "", n), partial(part, n), 1) for n in names),
    ):
        head, told = wanted.head, {wanted.cell(row) for row in looked_at} - {""}
        width = min(longest([head, *told]) + 1, _CELLS)
        if told and width <= cells - _TEXT - sum(found.values()):
            found[wanted._replace(head=head)] = width
    columns = sorted(found, key=lambda c: c.place)
    sizes = {str(n): found[c] - 1 for n, c in enumerate(columns)}
    right = {str(n): ">" for n, c in enumerate(columns) if c.head != _END}
    return columns, Table(sizes | {"text": cells - sum(found.values())}, right, 0)


def _step_words(rows: Sequence[SampleRow]) -> list[str]:
    """What to say of a step, the longest first: how the rewards are spread, what is wrong."""
    rewards = [r.reward for r in rows if math.isfinite(r.reward)]
    if not rewards:
        return []
    mean, least, most = sum(r / len(rewards) for r in rewards), min(rewards), max(rewards)
    spread = f"mean reward {numbers.value(mean)}, {numbers.value(least)} to {numbers.value(most)}"
    wrong = [f"{name} {count}" for name in FILTERS if (count := len(passing(rows, name)))]
    shorter = [" · ".join(wrong[:n]) for n in range(len(wrong), 0, -1)]
    return [*(f"{spread}   {x}" for x in shorter[:1]), *shorter, spread]


def _no_samples_words(root: Path) -> str:
    """What to do to get samples below a directory."""
    return (
        f"No texts in the logs and no samples below {clean(str(root))}. rltui reads the texts of "
        "TensorBoard and W&B, TRL's completions (log_completions=True), verl's "
        "trainer.rollout_data_dir, the rollouts of prime-rl and NeMo-RL, evaluations of "
        "verifiers and SkyRL, completions.jsonl of ms-swift, tables of W&B, and what TRL and verl "
        "print."
    )


def sample_lines(sample: Sample, view: View, width: int, *, folded: bool) -> Block:
    """A whole sample: its figures, as many on a line as fit, then its turns, one line for each but
    the last where they are ``folded``; then its texts with their own line ends."""
    texts = sample.texts
    further = texts[sample.spoken or len(texts) :]
    short = [(n, t) for n, t in further if len(t) <= _SHORT and "\n" not in t]
    lines = Block()
    for name, value in (*((n, _figure(v)) for n, v in sample.figures), *short):
        pair: Line = [(f"{name} ", MUTED), (value, STRONG)]
        if lines and line_width(lines[-1]) + 3 + line_width(pair) <= width:
            lines[-1] = [*lines[-1], ("   ", TEXT), *pair]
        else:
            lines.append(pair)
    lines += [[]] if lines and sample.turns else []
    for turn in sample.turns:
        most = _LAST_TURN if turn is sample.turns[-1] else 1
        lines += _turn_lines(turn, view, width, most if folded else None)
    for name, text in texts[sample.spoken if sample.turns else 0 :]:
        if (name, text) not in short:
            lines += [[]] * bool(lines)
            lines.append(heading(name, width, view, f"{numbers.exact(len(text))} chars"))
            lines += [[(x, TEXT)] for x in hard_wrap(text, width)]

    return lines


def _turn_lines(turn: Turn, view: View, width: int, limit: int | None) -> Block:
    """One turn in at most ``limit`` lines: who, what, how long, its reward, whether it failed."""
    level, tail = Level.BAD if turn.failed else Level.OK, list[Span]()
    if not math.isnan(turn.reward):
        tail.append((f"  reward {numbers.value(turn.reward)}", MUTED))
    if not math.isnan(turn.seconds):
        tail.append((f"  {numbers.duration(turn.seconds, tenths=True)}", MUTED))
    if turn.role == TOOL:
        tail.append((f"  {view.glyphs.badge(level)}", LEVEL_LOOK[level]))

    look = STRONG if turn.role == MODEL else MUTED
    line = [column(turn.role, _WHO, look), (f"{turn.name[:width]} ".lstrip(), STRONG)]
    room = max(1, width - line_width([*line, *tail]))
    text = turn.text
    if limit == 1 or ("\n" not in text and cell_width(text) < room):
        short = " ".join(text[: 4 * width].split())
        return [[*line, column(short, room, TEXT), *tail]]
    below = hard_wrap(text, max(1, width - 2), limit)
    return [[*line, (" " * room, TEXT), *tail], *([(f"  {x}", TEXT)] for x in below)]


def _figure(value: float) -> str:
    whole = value.is_integer() and abs(value) < _WHOLE
    return numbers.exact(int(value)) if whole else numbers.value(value)


class SampleScreen(ListScreen, ReadingScreen, places=(SAMPLES,)):
    """Shows one kind of samples at one step."""

    title_words = "Samples"

    DEFAULT_CSS = """
    SampleScreen > #header { height: 1; }
    SampleScreen > #head { height: 2; }
    SampleScreen > #panes { height: 1fr; layout: vertical; }
    SampleScreen > #panes.-wide { layout: horizontal; }
    """

    def __init__(self, session: Session, run: JudgedRun, step: int | None) -> None:
        """``step``: show the samples nearest to it; None for the newest."""
        super().__init__()
        self._session = session
        self._run = run
        root = partial(root_of, run, session.runs(), session.logdirs[run.key.logdir])
        self._browser = SampleBrowser(run, root, step)
        self._order = next(iter(_ORDERS))
        self._filter = ""
        """The one of :data:`FILTERS` in force."""
        self._beside: Sample | None = None
        """The answer that stays beside the one at the cursor."""
        self._shown: list[SampleRow] = []
        """The rows that pass the filter, in order."""
        self._made_of: tuple[object, ...] = ()
        """What the list shows: samples, how and how wide, filters, order."""
        self._columns: tuple[list[_Column], Table] = [], Table({})
        """The columns of the list before the text, and the table of all."""
        self._words: list[str] = []
        """What to say of the step, the longest first."""

    def compose(self) -> ComposeResult:
        run, reading = self._run, self._session.reading
        yield Lines(lambda w, _: [run_header(run, self.view, w, reading())], id="header")
        yield Lines(self._draw_head, id="head")
        with Container(id="panes"):
            yield LineList[SampleId](id="rows")
            yield LineList[None](id="text")
        yield Status(self.footer, lambda: f"{len(self._shown)} of {len(self._browser.rows)}")

    def state_words(self) -> str:
        kept = "same prompt" * bool(self._browser.prompt)
        return "" if self._is_empty else spaced(kept, self._filter, self._sorted_by)

    @property
    def _orders(self) -> list[str]:
        """The orders that there are: none by reward where there are no rewards."""
        rewarded = any(not math.isnan(r.reward) for r in self._browser.rows)
        return [name for name in _ORDERS if rewarded or "reward" not in name]

    @property
    def _sorted_by(self) -> str:
        return self._order if self._order in self._orders else "as logged"

    @property
    def _is_empty(self) -> bool:
        """Whether the search found nothing."""
        return self._browser.kinds is not None and not self._browser.kinds

    def idle(self, action: str) -> str:
        browser = self._browser
        of_steps, of_kinds = action in _OF_STEPS, action in _OF_KINDS
        if browser.kinds is None:
            return ""
        if self._is_empty and (of_steps or of_kinds or action in _OF_SAMPLES):
            return "no texts or samples to show"
        if of_kinds and len(browser.kinds) < 2:
            return "there is no other kind"
        return "there is no other step" if of_steps and len(browser.steps) < 2 else ""

    # -- the step --------------------------------------------------------------------------

    def action_step_sample(self, by: int) -> None:
        """Show the samples of a later step, or of an earlier one."""
        self._browser.step_by(by)
        self._show_first()

    def action_step_kind(self, by: int) -> None:
        """Show the next kind of samples, or the one before."""
        self._browser.kind_by(by)
        self._show_first()

    def _show_first(self) -> None:
        self.items.chosen = None
        self.update()

    def action_sample_order(self) -> None:
        """Sort by the next order and put the cursor on the first sample."""
        self._order = next_of(self._orders, self._sorted_by)
        self._show_first()

    def action_sample_filter(self) -> None:
        """Show the samples alone that the next filter finds, at last all again."""
        rows = self._browser.rows
        names = ["", *(name for name in FILTERS if passing(rows, name))]
        self._filter = next_of(names, self._filter, absent=0)
        if len(names) == 1:
            known = any(r.right is not None for r in rows)
            self.say("nothing is wrong" if known else "no column says what is right")
        self._show_first()

    def action_same_prompt(self) -> None:
        """Show the answers to the prompt at the cursor alone, at all steps; then all again."""
        row = self._row
        browser = self._browser
        browser.prompt = 0 if browser.prompt or row is None else row.prompt
        if row is not None and not row.prompt:
            self.say("no prompt is known of this sample")
        self.update()

    def action_beside(self) -> None:
        """Keep the answer at the cursor beside those that the cursor moves to; then no longer."""
        found = self._sample if self._beside is None else None
        self._beside = found if isinstance(found, Sample) else None
        self.say("kept: move on, also to another step" if found else "no longer kept")
        self.update()

    def leave_line(self) -> bool:
        """Leave the line of text, else whatever narrows the list. Returns whether there was any."""
        narrowed = bool(self._filter or self._browser.prompt or self._beside)
        if super().leave_line():
            return True
        self._filter, self._browser.prompt, self._beside = "", 0, None
        self.update()
        return narrowed

    # -- what is shown ---------------------------------------------------------------------

    def update(self) -> None:
        width, height = self.size
        bare = self.lacks(LEAST)
        self._browser.follow()
        wide = width >= SIDE_BY_SIDE and not self._is_empty
        self.query_one("#panes").set_class(wide, "-wide")
        left = max(44, width // 2) if wide else width
        self.items.styles.width = left
        self.items.styles.height = "1fr" if wide or height < 12 else max(4, (height - 4) // 2)
        self.status.display = self.query_one("#head").display = not bare
        self.items.display = not self._is_empty
        self.query_one("#text").display = not bare and (wide or height >= 12 or not self._shown)
        margin = 2 if wide else 1
        self._list_rows(left - 1 - margin, margin)
        self._show_text(width - left - 3 if wide else width - 3)

        self.draw_lines()
        self.read_on()

    def wanted(self) -> Work | None:
        return self._browser.request(self._row, self._session.clock.monotonic())

    def _list_rows(self, cells: int, margin: int) -> None:
        """Filter, sort and lay out the list, unless it is as it was: there may be thousands."""
        browser = self._browser
        view = self.view
        order = self._sorted_by
        rows = browser.rows
        text = self.status.filter
        prompt = browser.prompt
        before = self._made_of
        made_of = (rows, view, (cells, margin), self._filter, text, prompt, order)
        if made_of == before:
            return
        self._made_of = made_of
        if made_of[:3] != before[:3]:
            self._columns, self._words = _columns_of(rows, view, cells), _step_words(rows)
        kept = passing(rows, self._filter) if self._filter else rows
        self._shown = sorted(
            (r for r in kept if prompt in (0, r.prompt) and words_match(r.preview, text)),
            key=_ORDERS[order],
        )
        shown = self._shown
        ids = [(r.position, r.item) for r in self._shown]

        def draw(row: SampleRow, cursor: bool) -> Line:
            columns, table = self._columns
            told: Cells = {
                str(n): (c.cell(row), STRONG if c.head == _REWARD else MUTED)
                for n, c in enumerate(columns)
            }
            told["text"] = f" {row.preview}", STRONG if cursor else TEXT
            return table.line([], told)

        def entry(at: int) -> Entry[SampleId]:
            return row_entry(ids[at], partial(draw, shown[at]), cells, margin)

        self.items.show(LazyEntries(ids, [1] * len(ids), entry))

    def _show_text(self, width: int) -> None:
        lines: Block = []
        found = self._sample
        browser = self._browser
        if found is not None:
            more = paragraph(browser.more, max(10, width), MUTED)
            lines = [*more, *([[]] if more else []), *self._step_lines(width)]
            lines += self._lines_of(found, max(10, width), folded=True)
        elif not self._shown:
            words = browser.note or "no sample matches the filter"
            if self._is_empty:
                words = browser.more or _no_samples_words(browser.root)
            lines = paragraph(words, max(20, min(width, 100)), MUTED)
        margin = 2 if self._is_empty else 1
        entries: list[Entry[None]] = [fixed(x) for x in indented(lines, margin)]
        self.query_one("#text", LineList).show(entries)

    def _lines_of(self, sample: Sample | str, width: int, *, folded: bool = False) -> Block:
        if isinstance(sample, str):
            return paragraph(sample, width, MUTED)
        kept = self._beside
        view = self.view
        gap = 3
        if kept is None or kept == sample:
            return sample_lines(sample, view, width, folded=folded)
        half = max(8, (width - gap) // 2)
        left, right = (sample_lines(s, view, half, folded=folded) for s in (kept, sample))
        return side_by_side(left, right, half, gap, max(len(left), len(right)))

    def _step_lines(self, width: int) -> Block:
        """How the answers to the prompt fared at each step that was read."""
        glyphs = self.view.glyphs
        steps = [x for x in self._browser.over_steps if abs(x[1]) < _WHOLE]
        if not self._browser.prompt or not steps:
            return []
        means = [x[1] for x in steps]
        low = min(means)
        rung = (len(glyphs.ramp) - 1) / ((max(means) - min(means)) or 1.0)
        told = [
            f"{x[0]} {glyphs.ramp[round((x[1] - low) * rung)]} {numbers.short(x[1])}" for x in steps
        ]
        what = "mean reward" if all(r.right is None for r in self._browser.rows) else "share right"
        words = f"same prompt over steps ({what} of {steps[-1][2]} answers)  {' · '.join(told)}"
        return [*paragraph(words, max(10, width), MUTED), []]

    @property
    def _row(self) -> SampleRow | None:
        """The row at the cursor."""
        cursor = self.items.cursor
        return next((r for r in self._shown if (r.position, r.item) == cursor), None)

    @property
    def _sample(self) -> Sample | str | None:
        """The sample at the cursor, or why it cannot be read; None until it has been."""
        row = self._row
        return self._browser.sample(row) if row is not None else None

    def _draw_head(self, width: int, _: int) -> Block:
        """Which kind and step, and what of it; the heads of the columns."""
        samples = self._browser
        view = self.view
        width -= 3
        names = samples.names
        steps = list(samples.steps)
        kind = names[samples.kind] if names else ""
        look = style(STRONG.fg, link=view.link(samples.path))
        line: Line = [("Samples ", TITLE), (kind, look)]
        line.append((f"  kind {samples.kind + 1} of {len(names)}" * (len(names) > 1), MUTED))
        if samples.step is not None:
            at = steps.index(samples.step) + 1 if samples.step in steps else 0
            line += [("   step ", MUTED), (numbers.step(samples.step), STRONG)]
            line.append((f"  {at} of {len(steps)}" * (len(steps) > 1), MUTED))
        room = width - line_width(line)
        words = next((x for x in self._words if cell_width(x) < room - 1), "")
        line.append((words.rjust(room), MUTED))
        if self._is_empty:
            return indented([fit_line(line, width)], 2)

        columns, table = self._columns
        heads = table.line([], {str(n): (c.head, MUTED) for n, c in enumerate(columns)})
        counts = dict.fromkeys(map(numbers.exact, (len(self._shown), len(samples.rows))))
        notes = (samples.note, " of ".join(counts)) if samples.rows else ()
        rule = heading("", width - line_width(heads) - 5, view, spaced(*notes))
        return indented([fit_line(line, width), [*heads, (" text", MUTED), *rule]], 2)

    def on_line_list_moved(self) -> None:
        self.query_one("#text", LineList).scroll_to(y=0, animate=False)
        self.update()

    # -- out, and more about it ------------------------------------------------------------

    def action_enter(self) -> None:
        """Show the whole sample, which scrolls."""
        found = self._sample
        if found is None:
            return

        def whole(_: object, width: int) -> Block:
            return [[("Sample", TITLE)], [], *self._lines_of(found, width)]

        self.shell.push_screen(ExplainScreen(whole))

    def copied_text(self) -> str:
        found = self._sample
        if not isinstance(found, Sample):
            return found or ""
        figures = [f"{name}: {_figure(value)}" for name, value in found.figures]
        return "\n\n".join(["\n".join(figures), *(f"{n}:\n{t}" for n, t in found.texts)]).strip()

    action_samples = ListScreen.action_close
