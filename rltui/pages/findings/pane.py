"""The Findings tab: the list, and the finding at the cursor."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Container
from textual.geometry import Size

from rltui.core.batch import RunKey
from rltui.draw.entries import indented
from rltui.draw.line import Line
from rltui.health.model import Finding
from rltui.pages.findings.findings_list import (
    ItemId,
    entries_below,
    find,
    finding_entries,
    findings_layout,
)
from rltui.session import RunView
from rltui.tui.shell import shell_of
from rltui.tui.widgets.line_list import LineList
from rltui.tui.widgets.lines import Lines


class FindingsPane(Container):
    """The body of the run's screen for the tab Findings."""

    DEFAULT_CSS = """
    FindingsPane { height: 1fr; layout: vertical; }
    FindingsPane.-wide { layout: horizontal; }
    """

    def __init__(self, run: RunView) -> None:
        super().__init__()
        self._run = run
        self._layout = findings_layout(80, 24, 0)
        self._left: dict[RunKey, ItemId | None] = {}
        """What the user put the cursor on in other runs."""

    def compose(self) -> ComposeResult:
        yield LineList[ItemId](id="findings")
        yield Lines(self._draw_detail, id="detail")

    @property
    def findings(self) -> LineList[ItemId]:
        """The list."""
        return self.query_one("#findings", LineList)

    @property
    def finding(self) -> Finding | None:
        """The finding at the cursor."""
        return find(self._run, self.findings.cursor)

    def turn_to(self, run: RunView) -> None:
        """Show another run from now on, with the cursor where it was."""
        self._left[self._run.key] = self.findings.chosen
        self._run, self.findings.chosen = run, self._left.get(run.key)

    def show(self, size: Size, alone: str) -> None:
        """Show the findings in a pane of ``size``; ``alone`` as in an arrangement."""
        run, view = self._run, shell_of(self).view
        wide = size.width >= 100 and not alone
        layout = findings_layout(size.width, size.height, 0, alone)
        entries = finding_entries(run, view, layout.rows, layout.margin)
        if wide:
            entries += entries_below(run, view, layout, sum(e.height for e in entries))
        else:
            height = sum(e.height for e in entries)
            layout = findings_layout(size.width, size.height, height, alone)
        self._layout = layout
        self.set_class(wide, "-wide")
        self.findings.display = layout.left > 0
        self.query_one("#detail").display = alone != "list"
        self.findings.styles.width = layout.left
        self.findings.styles.height = layout.list_height
        self.findings.show(entries)
        self.query_one("#detail", Lines).update()

    def on_line_list_moved(self) -> None:
        self.query_one("#detail", Lines).update()

    def _draw_detail(self, width: int, height: int) -> list[Line]:
        from rltui.pages.findings.findings_detail import detail_lines

        run, view, layout = self._run, shell_of(self).view, self._layout
        margin = 1 if layout.side else layout.margin
        cells = layout.side or width - margin - 1
        lines = detail_lines(run, self.findings.cursor, view, cells, height)
        return indented(lines, margin)
