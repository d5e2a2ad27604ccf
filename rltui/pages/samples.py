"""Texts and samples of a run: a list at one step, and the sample at the cursor."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from textual import events
from textual.app import ComposeResult
from textual.containers import Container

from rltui.core.level import Level
from rltui.core.text import cell_width, clean, fit, words_match
from rltui.draw.line import (
    LEVEL_TOKEN,
    MUTED,
    RULE,
    STRONG,
    TEXT,
    TITLE,
    Entry,
    Line,
    Span,
    column,
    fit_line,
    fixed,
    indented,
    line_width,
    row_entry,
    side_by_side,
    style,
)
from rltui.draw.prose import hard_wrap, paragraph
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.samples import FILTERS, SampleBrowser, passing, root_of
from rltui.pages.findings.lines import heading
from rltui.pages.run.header import run_header
from rltui.session import RunView, Session
from rltui.sources.side_files.trajectory import MODEL, TOOL, Sample, SampleRow, Turn
from rltui.tui import later
from rltui.tui.keys import SAMPLES, Key
from rltui.tui.screen import LEAST, ListScreen, ReadingScreen
from rltui.tui.widgets.lines import LineList, Lines
from rltui.tui.widgets.status import Status

#: The orders of the list, as the footer calls them -> the key that rows are sorted by.
_ORDERS: dict[str, Callable[[SampleRow], tuple[float, ...]]] = {
    "worst reward first": lambda r: (math.isnan(r.reward), r.reward),
    "best reward first": lambda r: (math.isnan(r.reward), -r.reward),
    "longest first": lambda r: (-r.length,),
    "shortest first": lambda r: (r.length,),
    "as logged": lambda _: (),
}
#: Cells of the other columns, and of who speaks; lines of the last turn.
_REWARD, _CHARS, _TEXT, _WHO, _LAST_TURN = 11, 8, 9, 11, 12
#: The further columns, the most important ones first, and how wide; rows that say which are shown.
_FURTHER, _LOOKED_AT = {"turns": 6, "end": 13, "parts": 20, "time": 8}, 256
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


def samples_head(samples: SampleBrowser, view: View, width: int, cells: int) -> list[Line]:
    """Which kind and step, and what of it; the heads of the columns of a list of ``cells``."""
    plain, rows, steps = view.glyphs.text, samples.rows, samples.steps
    line: Line = [("Samples ", TITLE)]
    if samples.names:
        look = style(STRONG.fg, link=view.link(samples.path))
        line.append((plain(samples.names[samples.kind]), look))
        if len(samples.names) > 1:
            line.append((plain(f"  kind {samples.kind + 1} of {len(samples.names)}"), MUTED))
    if samples.step is not None:
        line += [("   step ", MUTED), (numbers.step(samples.step), STRONG)]
        at = list(steps).index(samples.step) + 1 if samples.step in steps else 0
        line.append((f"  {at} of {len(steps)}" if len(steps) > 1 else "", MUTED))
    for text in map(plain, _step_words(rows)):
        room = width - line_width(line) - cell_width(text)
        if room > 1:
            line += [(" " * room, TEXT), (text, MUTED)]
            break

    heads: Line = [("reward".rjust(7).ljust(_REWARD), MUTED)] if _has_rewards(rows) else []
    heads += [column(name, size, MUTED) for name, size in _columns_of(rows, view, cells).items()]
    heads += [("chars".rjust(_CHARS - 1) + " ", MUTED), ("text ", MUTED)]
    count = f" {len(rows)}" if rows else ""
    rule = view.glyphs.rule * max(0, width - line_width(heads) - len(count))
    heads += [(rule, RULE), (count, MUTED)]

    return [fit_line(line, width), fit_line(heads, width)]


def _step_words(rows: Sequence[SampleRow]) -> list[str]:
    """What to say of a step, the longest first: how the rewards are spread, what is wrong."""
    rewards = [r.reward for r in rows if math.isfinite(r.reward)]
    if not rewards:
        return []
    least, most = numbers.value(min(rewards)), numbers.value(max(rewards))
    mean = sum(r / len(rewards) for r in rewards)
    spread = f"mean reward {numbers.value(mean)}, {least} to {most}"

    counts = [(name, len(passing(rows, name))) for name in FILTERS]
    wrong = [f"{name} {count}" for name, count in counts if count]
    shorter = [" · ".join(wrong[:n]) for n in range(len(wrong), 0, -1)]
    return [*(f"{spread}   {x}" for x in shorter[:1]), *shorter, spread]


def _further(row: SampleRow, view: View) -> dict[str, str]:
    """Head -> cell of the further columns; "" for nothing to tell."""
    end = row.marks[0].split(" or ")[0] if row.marks else row.end
    if not row.marks and row.right is not None:
        end = f"answer {view.glyphs.badge(Level.OK if row.right else Level.BAD)}"
    took = "" if math.isnan(row.seconds) else numbers.duration(row.seconds, tenths=True)
    bare = ((re.sub(r".*/|_?reward_?", "", name)[:4], value) for name, value in row.parts)
    parts = " ".join(f"{name} {numbers.short(value)}" for name, value in bare)
    cells = (numbers.exact(row.turns).rjust(5), end, parts, took)
    return dict(zip(_FURTHER, map(view.glyphs.text, cells), strict=True))


def _columns_of(rows: Sequence[SampleRow], view: View, cells: int) -> dict[str, int]:
    """Head -> width of the further columns that a list of ``cells`` has something for."""
    room, found = cells - _REWARD - _CHARS - _TEXT, dict[str, int]()
    told = [_further(row, view) for row in rows[:_LOOKED_AT]]
    for name, size in _FURTHER.items():
        if size <= room and any(cells[name].strip() not in ("", "1") for cells in told):
            found[name] = size
            room -= size
    return found


def _has_rewards(rows: Sequence[SampleRow]) -> bool:
    return any(not math.isnan(r.reward) for r in rows)


def sample_entries(
    samples: SampleBrowser, shown: Sequence[SampleRow], view: View, width: int, margin: int
) -> list[Entry[SampleId]]:
    """One line for each sample that is ``shown``, behind a margin; or why there is none."""
    cells, rewarded = width - margin, _has_rewards(samples.rows)
    columns = _columns_of(samples.rows, view, cells)

    def draw(row: SampleRow, cursor: bool) -> Line:
        line: Line = []
        if rewarded:
            line.append((numbers.aligned(row.reward).ljust(_REWARD), STRONG))
        told = _further(row, view) if columns else {}
        line += [column(f"{fit(told[n], w - 1)} ", w, MUTED) for n, w in columns.items()]
        line.append(column(numbers.exact(row.length), _CHARS - 1, MUTED, right=True))
        line += [(" ", TEXT), (view.glyphs.text(row.preview), STRONG if cursor else TEXT)]
        return fit_line(line, cells)

    entries = [
        row_entry((row.position, row.item), partial(draw, row), cells, margin, view)
        for row in shown
    ]
    hidden = len(samples.rows) - len(shown)
    words = [f"{hidden} hidden by the filter"] if hidden else []
    for text in [*words, *([samples.note] if samples.note else [])]:
        block = paragraph(view.glyphs.text(text), max(10, cells - 1), MUTED)
        entries.append(fixed(*[[(" " * margin, TEXT), *x] for x in block]))

    return entries


def no_samples_words(root: Path, trouble: str = "") -> str:
    """What to do to get samples below a directory; ``trouble``: why it could not be listed."""
    if trouble:
        return f"No texts in the logs, and the files beside them {trouble}."
    return (
        f"No texts in the logs and no samples below {clean(str(root))}. rltui reads the texts of "
        "TensorBoard and W&B, TRL's completions (log_completions=True), verl's "
        "trainer.rollout_data_dir, the rollouts of prime-rl and NeMo-RL, evaluations of "
        "verifiers and SkyRL, completions.jsonl of ms-swift, and tables of W&B."
    )


def sample_lines(sample: Sample, view: View, width: int, *, folded: bool = False) -> list[Line]:
    """A whole sample: its figures, as many on a line as fit, then its turns, one line for each but
    the last where they are ``folded``; then its texts with their own line ends."""
    words, lines = view.glyphs.text, list[Line]()
    for name, value in sample.figures:
        pair: Line = [(f"{words(name)} ", MUTED), (_figure(value), STRONG)]
        if not lines or line_width(lines[-1]) + 3 + line_width(pair) > width:
            lines.append(pair)
        else:
            lines[-1] = [*lines[-1], ("   ", TEXT), *pair]
    lines += [[]] if lines and sample.turns else []
    for turn in sample.turns:
        most = _LAST_TURN if turn is sample.turns[-1] else 1
        lines += _turn_lines(turn, view, width, most if folded else None)
    for name, text in sample.texts[sample.spoken if sample.turns else 0 :]:
        lines += [[]] if lines else []
        lines.append(heading(words(name), width, view, f"{numbers.exact(len(text))} chars"))
        lines += [[(x, TEXT)] for x in hard_wrap(words(text), width)]

    return lines


def _turn_lines(turn: Turn, view: View, width: int, limit: int | None) -> list[Line]:
    """One turn in at most ``limit`` lines: who, what, how long, its reward, whether it failed."""
    level, tail = Level.BAD if turn.failed else Level.OK, list[Span]()
    if not math.isnan(turn.reward):
        tail.append((f"  reward {numbers.value(turn.reward)}", MUTED))
    if not math.isnan(turn.seconds):
        tail.append((f"  {numbers.duration(turn.seconds, tenths=True)}", MUTED))
    if turn.role == TOOL:
        tail.append((f"  {view.glyphs.badge(level)}", style(LEVEL_TOKEN[level])))

    words, look = view.glyphs.text, STRONG if turn.role == MODEL else MUTED
    line = [column(words(turn.role), _WHO, look), (f"{words(turn.name)[:width]} ".lstrip(), STRONG)]
    room = max(1, width - line_width([*line, *tail]))
    text = words(turn.text)
    if limit == 1 or ("\n" not in text and cell_width(text) < room):
        short = " ".join(text[: 4 * width].split())
        return [[*line, column(short, room, TEXT), *tail]]
    below = hard_wrap(text, max(1, width - 2), limit)
    return [[*line, (" " * room, TEXT), *tail], *([(f"  {x}", TEXT)] for x in below)]


def _figure(value: float) -> str:
    whole = value.is_integer() and abs(value) < _WHOLE
    return numbers.exact(int(value)) if whole else numbers.value(value)


def sample_text(sample: Sample) -> str:
    """A sample for the clipboard."""
    figures = [f"{name}: {_figure(value)}" for name, value in sample.figures]
    return "\n\n".join(["\n".join(figures), *(f"{n}:\n{t}" for n, t in sample.texts)]).strip()


class SampleScreen(ListScreen, ReadingScreen, places=(SAMPLES,)):
    """Shows one kind of samples at one step."""

    title_words = "Samples"

    DEFAULT_CSS = """
    SampleScreen > #header { height: 1; }
    SampleScreen > #head { height: 2; }
    SampleScreen > #panes { height: 1fr; layout: vertical; }
    SampleScreen > #panes.-wide { layout: horizontal; }
    """

    def __init__(self, session: Session, run: RunView, step: int | None) -> None:
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

    def compose(self) -> ComposeResult:
        run, reading = self._run, self._session.reading
        yield Lines(lambda w, _: [run_header(run, self.shell.view, w, reading())], id="header")
        yield Lines(self._draw_head, id="head")
        with Container(id="panes"):
            yield LineList[SampleId](id="rows")
            yield LineList[None](id="text")
        yield Status(self.footer, lambda: f"{len(self._shown)} of {len(self._browser.rows)}")

    def state_words(self) -> str:
        kept = ("same prompt" * bool(self._browser.prompt), self._filter, self._sorted_by)
        return "" if self._is_empty else "  ".join(filter(None, kept))

    @property
    def _sorted_by(self) -> str:
        """The order in force: none by reward where there are no rewards."""
        has = _has_rewards(self._browser.rows) or "reward" not in self._order
        return self._order if has else "as logged"

    @property
    def _is_empty(self) -> bool:
        """Whether the search found nothing."""
        return self._browser.kinds is not None and not self._browser.kinds

    @property
    def keys(self) -> list[Key]:
        """Without those that have nothing to act on."""
        idle = self._idle
        return [k for k in super().keys if k not in idle]

    @property
    def _idle(self) -> list[Key]:
        """The keys that have nothing to act on."""
        browser = self._browser
        if browser.kinds is None:
            return []
        idle = (
            *(_OF_SAMPLES if self._is_empty else ()),
            *(_OF_STEPS if len(browser.steps) < 2 else ()),
            *(_OF_KINDS if len(browser.kinds) < 2 else ()),
        )

        return [k for k in super().keys if k.action in idle]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether an action works here now: not one whose key is left out."""
        works = all(k.method != action for k in self._idle)
        return works and super().check_action(action, parameters)

    def on_key(self, event: events.Key) -> None:
        """A key that no binding took: say why it does nothing."""
        key = next((k for k in self._idle if event.key in k.keys), None)
        if key is None or self.takes_text:
            return  # Textual calls the handler of the class above as well
        event.stop()
        what = "kind" if key.action in _OF_KINDS else "step"
        why = "no texts or samples to show" if self._is_empty else f"there is no other {what}"
        self.shell.say(why)

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
        has = _has_rewards(self._browser.rows)
        orders = [name for name in _ORDERS if has or "reward" not in name]
        self._order = orders[(orders.index(self._sorted_by) + 1) % len(orders)]
        self._show_first()

    def action_sample_filter(self) -> None:
        """Show the samples alone that the next filter finds, at last all again."""
        rows = self._browser.rows
        names = ["", *(name for name in FILTERS if passing(rows, name))]
        at = names.index(self._filter) if self._filter in names else 0
        self._filter = names[(at + 1) % len(names)]
        if len(names) == 1:
            known = any(r.right is not None for r in rows)
            self.shell.say("nothing is wrong" if known else "no column says what is right")
        self._show_first()

    def action_same_prompt(self) -> None:
        """Show the answers to the prompt at the cursor alone, at all steps; then all again."""
        row, browser = self._row, self._browser
        browser.prompt = 0 if browser.prompt or row is None else row.prompt
        if row is not None and not row.prompt:
            self.shell.say("no prompt is known of this sample")
        self.update()

    def action_beside(self) -> None:
        """Keep the answer at the cursor beside those that the cursor moves to; then no longer."""
        found = self._sample if self._beside is None else None
        self._beside = found if isinstance(found, Sample) else None
        self.shell.say("kept: move on, also to another step" if found else "no longer kept")
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
        bare = width < LEAST[0] or height < LEAST[1]
        browser = self._browser
        browser.follow()
        self._shown = sorted(filter(self._passes(), browser.rows), key=_ORDERS[self._sorted_by])
        wide = width >= SIDE_BY_SIDE and not self._is_empty
        self.query_one("#panes").set_class(wide, "-wide")
        view, margin = self.shell.view, 2 if wide else 1
        left = max(44, width // 2) if wide else width
        self.items.styles.width = left
        self.items.styles.height = "1fr" if wide or height < 12 else max(4, (height - 4) // 2)
        self.status.display = self.query_one("#head").display = not bare
        self.items.display = not self._is_empty
        self.query_one("#text").display = not bare and (wide or height >= 12 or self._is_empty)
        self.items.show(sample_entries(browser, self._shown, view, left - 1, margin))
        self._show_text(width - left - 3 if wide else width - 3)

        for name in ("#header", "#head"):
            self.query_one(name, Lines).update()
        self.status.update()

        if not self.reading:  # what is missing next
            wanted = browser.request(self._row, self._session.clock.monotonic())
            if wanted is not None:
                self.read(wanted)

    def _passes(self) -> Callable[[SampleRow], bool]:
        """Whether a row passes the filters."""
        text, prompt, rows = self.status.filter, self._browser.prompt, self._browser.rows
        kept = set(map(id, passing(rows, self._filter) if self._filter else rows))
        return lambda r: id(r) in kept and prompt in (0, r.prompt) and words_match(r.preview, text)

    def _show_text(self, width: int) -> None:
        lines: list[Line] = []
        found = self._sample
        if self._is_empty:
            words = no_samples_words(self._browser.root, self._browser.trouble)
            lines = paragraph(self.shell.view.glyphs.text(words), max(20, min(width, 100)), MUTED)
        elif found is not None:
            lines = [*self._step_lines(width), *self._lines_of(found, max(10, width), folded=True)]
        margin = 2 if self._is_empty else 1
        entries: list[Entry[None]] = [fixed(x) for x in indented(lines, margin)]
        self.query_one("#text", LineList).show(entries)

    def _lines_of(self, sample: Sample | str, width: int, *, folded: bool = False) -> list[Line]:
        if isinstance(sample, str):
            return paragraph(self.shell.view.glyphs.text(sample), width, MUTED)
        kept, view, gap = self._beside, self.shell.view, 3
        if kept is None or kept == sample:
            return sample_lines(sample, view, width, folded=folded)
        half = max(8, (width - gap) // 2)
        left, right = (sample_lines(s, view, half, folded=folded) for s in (kept, sample))
        return side_by_side(left, right, half, gap, max(len(left), len(right)))

    def _step_lines(self, width: int) -> list[Line]:
        """How the answers to the prompt fared at each step that was read."""
        glyphs = self.shell.view.glyphs
        steps = [x for x in self._browser.over_steps if abs(x[1]) < _WHOLE]
        if not self._browser.prompt or not steps:
            return []
        means = [x[1] for x in steps]
        low, rung = min(means), (len(glyphs.ramp) - 1) / ((max(means) - min(means)) or 1.0)
        told = [
            f"{x[0]} {glyphs.ramp[round((x[1] - low) * rung)]} {numbers.short(x[1])}" for x in steps
        ]
        what = "mean reward" if all(r.right is None for r in self._browser.rows) else "share right"
        words = f"same prompt over steps ({what} of {steps[-1][2]} answers)  {' · '.join(told)}"
        return [*paragraph(glyphs.text(words), max(10, width), MUTED), []]

    @property
    def _row(self) -> SampleRow | None:
        """The row at the cursor."""
        cursor = self.items.cursor
        return next((r for r in self._browser.rows if (r.position, r.item) == cursor), None)

    @property
    def _sample(self) -> Sample | str | None:
        """The sample at the cursor, or why it cannot be read; None until it has been."""
        row = self._row
        return self._browser.sample(row) if row is not None else None

    def _draw_head(self, width: int, _: int) -> list[Line]:
        left = self.items.size.width
        cells = left - (3 if left < self.size.width else 2)
        head = samples_head(self._browser, self.shell.view, width - 3, cells)
        return indented(head[:1] if self._is_empty else head, 2)

    def on_line_list_moved(self) -> None:
        self.query_one("#text", LineList).scroll_to(y=0, animate=False)
        self.update()

    # -- out, and more about it ------------------------------------------------------------

    def action_enter(self) -> None:
        """Show the whole sample, which scrolls."""
        found = self._sample
        if found is None:
            return

        def whole(_: object, width: int) -> list[Line]:
            return [[("Sample", TITLE)], [], *self._lines_of(found, width)]

        self.shell.push_screen(later.ExplainScreen(whole))

    def copied_text(self) -> str:
        found = self._sample
        return sample_text(found) if isinstance(found, Sample) else found or ""

    def action_samples(self) -> None:
        self.dismiss()

    action_close = action_samples
