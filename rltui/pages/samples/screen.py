"""Texts and samples of a run at one step: a list, and the sample at the cursor."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from textual import events
from textual.app import ComposeResult
from textual.containers import Container

from rltui.draw.line import MUTED, TITLE, Entry, Line, fixed, indented
from rltui.draw.prose import paragraph
from rltui.facts.samples import SampleBrowser, root_of
from rltui.pages.run.header import run_header
from rltui.pages.samples.lines import (
    ORDERS,
    SIDE_BY_SIDE,
    SampleId,
    SampleList,
    no_samples_words,
    row_id,
    sample_entries,
    sample_lines,
    sample_text,
    samples_head,
)
from rltui.session import RunView, Session
from rltui.sources.side_files.sample_files import Sample, SampleRow
from rltui.tui.keys import SAMPLES, Key
from rltui.tui.screen import LEAST, ListScreen, ReadingScreen
from rltui.tui.widgets.line_list import LineList
from rltui.tui.widgets.lines import Lines
from rltui.tui.widgets.status import Status

#: Keys that need a sample, another step and another kind.
_OF_SAMPLES = ("up", "down", "first", "last", "half_up", "half_down", "enter", "filter",
               "sample_order", "copy")  # fmt: skip
_OF_STEPS, _OF_KINDS = ("earlier", "later"), ("previous_kind", "next_kind")


class SampleScreen(ListScreen, ReadingScreen, places=(SAMPLES,)):
    """Shows one kind of samples at one step."""

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
        self._order = next(iter(ORDERS))
        self._list = SampleList()

    def compose(self) -> ComposeResult:
        yield Lines(self._header, id="header")
        yield Lines(lambda width, _: self._head(width), id="head")
        with Container(id="panes"):
            yield LineList[SampleId](id="rows")
            yield LineList[None](id="text")
        yield Status(self.footer, self._note)

    @property
    def items(self) -> LineList[SampleId]:
        return self.query_one("#rows", LineList)

    @property
    def title_words(self) -> str:
        return "Samples"

    def state_words(self) -> str:
        return "" if self._is_empty else ORDERS[self._order]

    @property
    def _is_empty(self) -> bool:
        """Whether the search found nothing."""
        return self._browser.kinds is not None and not self._browser.kinds

    @property
    def keys(self) -> list[Key]:
        """Without those that have nothing to act on."""
        idle = self._idle
        return [k for k in super().keys if k.action not in idle]

    @property
    def _idle(self) -> tuple[str, ...]:
        """The actions that have nothing to act on."""
        browser = self._browser
        if browser.kinds is None:
            return ()
        return (
            *(_OF_SAMPLES if self._is_empty else ()),
            *(_OF_STEPS if len(browser.steps) < 2 else ()),
            *(_OF_KINDS if len(browser.kinds) < 2 else ()),
        )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether an action works here now: not one whose key is left out."""
        return action not in self._idle and super().check_action(action, parameters)

    def on_key(self, event: events.Key) -> None:
        """A key that no binding took: say why it does nothing."""
        idle = self._idle
        left_out = (k for k in super().keys if k.action in idle)
        key = next((k for k in left_out if event.key in k.keys), None)
        if key is None or self.takes_text:
            return  # Textual calls the handler of the class above as well
        event.stop()
        what = "kind" if key.action in _OF_KINDS else "step"
        self.shell.say(
            "no texts or samples to show" if self._is_empty else f"there is no other {what}"
        )

    def _note(self) -> str:
        return f"{len(self._list.shown())} of {len(self._list.rows)}"

    # -- reading ---------------------------------------------------------------------------

    def _request(self) -> None:
        """Read what is missing next."""
        if not self.reading:
            wanted = self._browser.request(self._row(), self._session.clock.monotonic())
            if wanted is not None:
                self.read(wanted)

    # -- the step --------------------------------------------------------------------------

    def _go(self, move: Callable[[int], None], by: int) -> None:
        move(by)
        self.items.chosen = None
        self.update()

    def action_earlier(self) -> None:
        self._go(self._browser.step_by, -1)

    def action_later(self) -> None:
        self._go(self._browser.step_by, 1)

    def action_previous_kind(self) -> None:
        self._go(self._browser.kind_by, -1)

    def action_next_kind(self) -> None:
        self._go(self._browser.kind_by, 1)

    def action_sample_order(self) -> None:
        """The next order; the cursor goes to its first sample."""
        orders = list(ORDERS)
        self._order = orders[(orders.index(self._order) + 1) % len(orders)]
        self.items.chosen = None
        self.update()

    # -- what is shown ---------------------------------------------------------------------

    def update(self) -> None:
        width, height = self.size
        bare = width < LEAST[0] or height < LEAST[1]
        browser = self._browser
        browser.follow()
        self._list = SampleList(
            browser.names,
            browser.kind,
            browser.step,
            browser.steps,
            browser.rows,
            self._order,
            self.status.filter,
            browser.note,
        )
        wide = width >= SIDE_BY_SIDE and not self._is_empty
        self.query_one("#panes").set_class(wide, "-wide")
        left = max(44, width * 2 // 5) if wide else width
        self.items.styles.width = left
        self.items.styles.height = "1fr" if wide or height < 12 else max(4, (height - 4) // 2)
        self.status.display = self.query_one("#head").display = not bare
        self.items.display = not self._is_empty
        self.query_one("#text").display = not bare and (wide or height >= 12 or self._is_empty)
        margin = 2 if wide else 1
        self.items.show(sample_entries(self._list, self.shell.view, left - 1, margin))
        self._show_text(width - left - 3 if wide else width - 3)
        for name in ("#header", "#head"):
            self.query_one(name, Lines).update()
        self.status.update()
        self._request()

    def _show_text(self, width: int) -> None:
        lines: list[Line] = []
        row, browser = self._row(), self._browser
        found = browser.sample(row) if row is not None else None
        if self._is_empty:
            words = no_samples_words(browser.root, browser.trouble)
            lines = paragraph(self.shell.view.glyphs.text(words), max(20, min(width, 100)), MUTED)
        elif found is not None:
            lines = self._lines_of(found, max(10, width))
        margin = 2 if self._is_empty else 1
        entries: list[Entry[None]] = [fixed(x) for x in indented(lines, margin)]
        self.query_one("#text", LineList).show(entries)

    def _lines_of(self, sample: Sample | str, width: int) -> list[Line]:
        if isinstance(sample, str):
            return paragraph(self.shell.view.glyphs.text(sample), width, MUTED)
        return sample_lines(sample, self.shell.view, width)

    def _row(self) -> SampleRow | None:
        cursor = self.items.cursor
        return next((r for r in self._list.rows if row_id(r) == cursor), None)

    def _header(self, width: int, _: int) -> list[Line]:
        return [run_header(self._run, self.shell.view, width, self._session.reading())]

    def _head(self, width: int) -> list[Line]:
        head = samples_head(self._list, self.shell.view, width - 3)
        return indented(head[:1] if self._is_empty else head, 2)

    def on_line_list_moved(self) -> None:
        self.query_one("#text", LineList).scroll_to(y=0, animate=False)
        self.update()

    # -- out, and more about it ------------------------------------------------------------

    def action_enter(self) -> None:
        """The whole sample, which scrolls."""
        from rltui.tui.overlay import ExplainScreen  # imported when it is shown

        row = self._row()
        found = self._browser.sample(row) if row is not None else None
        if found is None:
            return

        def whole(_: object, width: int) -> list[Line]:
            return [[("Sample", TITLE)], [], *self._lines_of(found, width)]

        self.shell.push_screen(ExplainScreen(whole))

    def copied_text(self) -> str:
        row = self._row()
        found = self._browser.sample(row) if row is not None else None
        return sample_text(found) if isinstance(found, Sample) else found or ""

    def action_samples(self) -> None:
        self.dismiss()

    action_close = action_samples

    def action_back(self) -> None:
        if not self.leave_line():
            self.dismiss()
