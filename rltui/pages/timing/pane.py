"""The Timing tab of a run that logs the stages of its steps."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.geometry import Size

from rltui.core.batch import RunKey
from rltui.draw.line import TEXT, Entry, Line, fixed, indented
from rltui.facts.timing import anatomy
from rltui.pages.timing.lines import (
    TimingLayout,
    step_lines,
    timing_entries,
    timing_layout,
    timing_note,
    timing_rows,
)
from rltui.pages.timing.timing_table import stage_columns, stages_head
from rltui.session import RunView
from rltui.tui.shell import shell_of
from rltui.tui.widgets.line_list import LineList
from rltui.tui.widgets.lines import Lines


class TimingPane(Vertical):
    """One step above, its stages as a list, every step below."""

    DEFAULT_CSS = """
    TimingPane { height: 1fr; }
    TimingPane #stages-head { height: 1; }
    """

    def __init__(self, run: RunView) -> None:
        super().__init__()
        self._run = run
        self._layout: TimingLayout = timing_layout(80, 20, 0)
        self._left: dict[RunKey, str | None] = {}
        """The stage that the user put the cursor on in other runs."""
        self._text = ""
        self.shares = False
        """Whether the plot shows shares of the step instead of seconds."""

    def compose(self) -> ComposeResult:
        yield Lines(self._draw_step, id="step")
        yield Lines(self._draw_head, id="stages-head")
        yield LineList[str](id="stages")
        yield Lines(self._draw_plot, id="plot")

    @property
    def stages(self) -> LineList[str]:
        """The list."""
        return self.query_one("#stages", LineList)

    @property
    def note(self) -> str:
        """What the filter left."""
        found = anatomy(self._run)
        return timing_note(self._run, found, self._text) if found is not None else ""

    def turn_to(self, run: RunView) -> None:
        """Show another run from now on, with the cursor where it was."""
        self._left[self._run.key] = self.stages.chosen
        self._run, self.stages.chosen = run, self._left.get(run.key)
        for lines in self.query(Lines):
            lines.blank()

    def show(self, text: str, size: Size) -> None:
        """Show the stages after the filter ``text``, in a pane of ``size``."""
        run, view = self._run, shell_of(self).view
        found = anatomy(run)
        if found is None:
            return
        self._text = text
        layout = timing_layout(size.width, size.height, timing_rows(run, found))
        self._layout = layout
        entries = timing_entries(run, found, view, layout.width, layout.margin, text)
        if not entries:
            nothing: Entry[str] = fixed([("  no row matches the filter", TEXT)])
            entries = [nothing]
        step, plot = self.query_one("#step", Lines), self.query_one("#plot", Lines)
        step.styles.height, plot.styles.height = layout.top or 1, layout.plot or 1
        step.display, plot.display = layout.top > 0, layout.plot > 0
        self.stages.styles.height = layout.rows
        self.stages.show(entries)
        for lines in self.query(Lines):
            lines.update()

    def toggle_shares(self) -> None:
        """Plot shares of the step, or seconds."""
        self.shares = not self.shares
        self.query_one("#plot", Lines).update()

    # -- drawing ---------------------------------------------------------------------------

    def _draw_step(self, _width: int, height: int) -> list[Line]:
        found, layout = anatomy(self._run), self._layout
        if found is None:
            return []
        lines = step_lines(self._run, found, shell_of(self).view, layout.width)
        return indented(lines[:height], layout.margin)

    def _draw_head(self, _width: int, _height: int) -> list[Line]:
        layout = self._layout
        columns = stage_columns(layout.width)
        head = stages_head(self._run, columns, layout.width, shell_of(self).view)
        return indented([head], layout.margin)

    def _draw_plot(self, _width: int, height: int) -> list[Line]:
        found, layout = anatomy(self._run), self._layout
        if found is None:
            return []
        from rltui.pages.timing.timing_table import stacked_lines  # imported when it is shown

        view = shell_of(self).view
        lines = stacked_lines(self._run, found, view, layout.width, height - 1, shares=self.shares)
        return [[], *indented(lines, layout.margin)]
