"""Keys of a screen whose list can turn into a grid of charts, or give way to one of its parts."""

from __future__ import annotations

from rltui.pages.run.chart_screen import ChartScreen
from rltui.pages.run.grid_widget import Grid
from rltui.pages.run.metrics_pane import Arrangement, MetricsPane
from rltui.session import RunView, Session
from rltui.tui.chart_options import NO_METRIC, stepped
from rltui.tui.keys import GRID
from rltui.tui.screen import ListScreen


class GridScreen(ChartScreen, ListScreen):
    """How the tabs of a run are divided, and moving among charts that stand side by side."""

    def __init__(self, session: Session, run: RunView) -> None:
        super().__init__(session, run)
        self._arrangements: dict[str, Arrangement] = {}
        """How Overview, Findings and ("") the other tabs are divided."""

    @property
    def arranged(self) -> str:
        """The tab that is shown, if it is divided in its own way, else ""."""
        raise NotImplementedError

    @property
    def arrangement(self) -> Arrangement:
        """How the present tab is divided."""
        return self._arrangements.get(self.arranged, Arrangement())

    @property
    def metrics(self) -> MetricsPane:
        """The pane of every tab but Findings."""
        return self.query_one(MetricsPane)

    def _arrange_as(self, arrangement: Arrangement) -> None:
        self._arrangements[self.arranged] = arrangement
        self.update()

    def action_grid(self) -> None:
        """A grid of charts instead of the list, or the list again."""
        self._arrange_as(self.arrangement.turned())

    def action_maximise(self) -> None:
        """One part over the whole body, or all of them again."""
        self._arrange_as(self.arrangement.maximised())

    def leave_part(self) -> bool:
        """Take away the crosshair of the grid, else show all parts; whether there was any."""
        grid, arrangement = self.metrics.grid, self.arrangement
        if self._shows_grid and grid.cross is not None:
            grid.cross = None
            self.update()
            return True
        if arrangement.alone:
            self._arrange_as(Arrangement(grid=arrangement.grid))
            return True
        return False

    # -- moving ----------------------------------------------------------------------------

    @property
    def _shows_grid(self) -> bool:
        return self.place == GRID and self.metrics.grid.display

    def _step(self, right: int, down: int) -> None:
        """Move the cursor; along the list where the charts are not in sight."""
        if not self._shows_grid:
            self.items.move(right + down)
        elif (tag := self.metrics.grid.beside(right, down)) is not None:
            self.items.put(tag)
            self.metrics.grid.follow()  # before the news of it has gone round
            self.status.update()

    def action_up(self) -> None:
        self._step(0, -1)

    def action_down(self) -> None:
        self._step(0, 1)

    def action_chart_left(self) -> None:
        self._step(-1, 0)

    def action_chart_right(self) -> None:
        self._step(1, 0)

    def action_half_up(self) -> None:
        self._page(-1)

    def action_half_down(self) -> None:
        self._page(1)

    def _page(self, by: int) -> None:
        if self._shows_grid:
            self._step(0, by * max(1, self.metrics.grid.rows_in_sight // 2))
        else:
            self.items.move(by * max(1, self.size.height // 2))

    def on_line_list_moved(self) -> None:
        if self.arrangement.is_grid:
            self.status.update()  # which says what charts are in sight

    def on_grid_scrolled(self) -> None:
        self.status.update()

    def on_grid_picked(self, event: Grid.Picked) -> None:
        """A click chooses a chart, a second one opens it."""
        if event.tag == self.items.cursor:
            self.items.chosen = event.tag
            self.action_enter()
        else:
            self.items.put(event.tag)

    # -- the crosshair ---------------------------------------------------------------------

    def action_grid_cross_left(self) -> None:
        self._cross(-1)

    def action_grid_cross_right(self) -> None:
        self._cross(1)

    @property
    def chosen_step(self) -> int | None:
        return self.metrics.grid.cross if self._shows_grid else None

    def _cross(self, by: int) -> None:
        """Move the crosshair of all charts along the steps of the one at the cursor."""
        steps = self.steps()
        if steps is not None:
            self.metrics.grid.cross = stepped(steps, self.metrics.grid.cross, by)
            self.update()
        else:
            self.shell.say(NO_METRIC)
