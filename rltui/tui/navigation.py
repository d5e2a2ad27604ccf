"""What keys do to the view (free of any toolkit, so that tests need no app).

The app looks a key up in the table of :mod:`rltui.present.screens.keys` and calls the method of the
action here; then it draws. Actions that touch the terminal (copy, suspend, quit, palette) are
the app's own.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rltui.core.batch import RunKey
from rltui.core.block import IntArray
from rltui.present.kit import numbers
from rltui.present.screens.frame import Frame, finding_id, run_id, runs_shown
from rltui.present.screens.header import tabs_of
from rltui.present.screens.view import FINDINGS, OVERVIEW, TAB_BY_ID, View
from rltui.present.screens.x_axis import axes_of
from rltui.session import RunView, Session

#: Smoothing weights that ``s`` and ``S`` walk through.
_SMOOTH = (0.0, 0.3, 0.6, 0.8, 0.9, 0.95, 0.98)
_ORDERS = ("verdict", "name", "newest")


class Navigator:
    """Changes a view. Owned by the app; ``frame`` is what was drawn last."""

    def __init__(self, session: Session, view: View) -> None:
        self.session = session
        self.view = view
        self.frame = Frame([], [], {}, [])
        self.height = 24

    # -- what is there ---------------------------------------------------------------------

    @property
    def run(self) -> RunView | None:
        """The run that is shown."""
        return self.session.views.get(self.view.run) if self.view.run else None

    @property
    def place(self) -> str:
        """Key of the cursor of the present list."""
        return "runs" if self.view.screen == "runs" else self.view.tab

    def settle(self) -> None:
        """Choose a screen when runs have appeared: one run opens itself, several are listed."""
        view, views = self.view, self.session.views
        if view.run is not None and view.run not in views:
            view.run = None
        if view.run is None and views:
            alone = len(views) == 1 and self.session.run_count <= 1
            view.screen = "list" if alone else "runs"
            if alone:
                view.run = next(iter(views))
        run = self.run
        if run is not None and run.infos and view.tab not in {t.id for t in tabs_of(run)}:
            view.tab = OVERVIEW

    def tell_new_run(self) -> None:
        """Say in the footer that a run appeared while another one is shown."""
        if self.view.run is not None and self.view.screen != "runs" and len(self.session.views) > 1:
            self.view.message = f"{len(self.session.views)} runs now: r lists them"

    def action(self, name: str) -> Callable[[], None] | None:
        """The method of an action of the key table, or None when the app owns it."""
        return getattr(self, f"do_{name}", None)

    # -- moving ----------------------------------------------------------------------------

    def _move(self, by: int) -> None:
        items = self.frame.items
        if not items:
            return
        here = self.view.cursor.get(self.place)
        index = items.index(here) if here in items else 0
        self.put(items[max(0, min(len(items) - 1, index + by))])

    def put(self, item: str) -> None:
        """Put the cursor of the present list on an item; from now on it is the user's."""
        self.view.cursor[self.place] = item
        self.view.moved.add(self.place)

    def do_up(self) -> None:
        if self.view.overlay:
            self.view.overlay_offset = max(0, self.view.overlay_offset - 1)
            self.view.overlay_follows = False
            return
        self._move(-1)

    def do_down(self) -> None:
        if self.view.overlay:
            self.view.overlay_offset += 1
            return
        self._move(1)

    def do_half_up(self) -> None:
        self._move(-max(1, self.height // 2))

    def do_half_down(self) -> None:
        self._move(max(1, self.height // 2))

    def do_first(self) -> None:
        self._move(-len(self.frame.items))

    def do_last(self) -> None:
        self._move(len(self.frame.items))

    def do_previous_metric(self) -> None:
        self._move(-1)
        self.view.crosshair = None

    def do_next_metric(self) -> None:
        self._move(1)
        self.view.crosshair = None

    def do_focus(self, back: bool = False) -> None:
        """To the first row of the next section."""
        starts, items = self.frame.section_starts, self.frame.items
        if not starts or not items:
            return
        here = self.view.cursor.get(self.place)
        index = items.index(here) if here in items else 0
        if back:
            before = [s for s in starts if s < index]
            self.put(items[before[-1] if before else starts[-1]])
        else:
            after = [s for s in starts if s > index]
            self.put(items[after[0] if after else starts[0]])

    # -- tabs and screens ------------------------------------------------------------------

    def select_tab(self, tab: str) -> None:
        """Show a tab; says so when the run has nothing for it."""
        run = self.run
        if run is None:
            self.view.message = "open a run first"
            return
        if tab not in {t.id for t in tabs_of(run)}:
            self.view.message = f"no {TAB_BY_ID[tab].title.lower()} metrics in this run"
            return
        self.view.screen, self.view.came_from = "list", ""
        self.view.tab = tab
        self._reset_chart()

    def tab_by_key(self, key: str) -> None:
        """Show the tab of a digit."""
        for tab in TAB_BY_ID.values():
            if tab.key == key:
                self.select_tab(tab.id)

    def _step_tab(self, by: int) -> None:
        run = self.run
        if run is None or self.view.screen == "runs":
            return
        ids = [t.id for t in tabs_of(run)]
        index = ids.index(self.view.tab) if self.view.tab in ids else 0
        self.select_tab(ids[(index + by) % len(ids)])

    def do_previous_tab(self) -> None:
        self._step_tab(-1)

    def do_next_tab(self) -> None:
        self._step_tab(1)

    do_left = do_previous_tab
    do_right = do_next_tab

    def do_runs(self) -> None:
        self.view.screen = "runs"
        self.view.filter = ""
        if self.view.run is not None:
            self.put(run_id(self.view.run))

    def do_enter(self) -> None:
        view = self.view
        if view.screen == "runs":
            self._open_run()
        elif view.tab == FINDINGS:
            self._open_finding()
        elif (here := view.cursor.get(view.tab)) in self.frame.items:
            self.put(here or "")
            view.screen = "metric"
            self._reset_chart()

    def open_item(self, item: str) -> None:
        """Put the cursor on an item; a second time opens it (mouse)."""
        if self.view.cursor.get(self.place) == item and self.view.screen != "metric":
            self.do_enter()
        else:
            self.put(item)

    def _open_run(self) -> None:
        wanted = self.view.cursor.get("runs")
        shown = runs_shown(self.session, self.view)
        for run in shown:
            if run_id(run.key) == wanted or wanted is None:
                self.show_run(run.key)
                return

    def show_run(self, key: RunKey) -> None:
        """Open a run on its Overview."""
        view = self.view
        if view.run != key:
            view.cursor = {k: v for k, v in view.cursor.items() if k == "runs"}
            view.moved &= {"runs"}
            view.offset.clear()
            view.tab = OVERVIEW
        view.run, view.screen, view.filter = key, "list", ""
        view.cursor["runs"] = run_id(key)
        view.moved.add("runs")
        self._reset_chart()

    def _open_finding(self) -> None:
        run, wanted = self.run, self.view.cursor.get(FINDINGS)
        if run is None or run.report is None:
            return
        for finding in run.report.findings:
            if finding_id(finding) == wanted and finding.tag in run.infos:
                info = run.infos[finding.tag]
                self.view.tab = info.category.value
                self.put(finding.tag or "")
                self.view.came_from = FINDINGS
                self.view.screen = "metric"
                self._reset_chart()
                self.view.crosshair = finding.since_step
                return

    def do_next_finding(self) -> None:
        """The next firing (else resolved) finding, in the list of findings."""
        run = self.run
        if run is None or run.report is None or not run.report.findings:
            self.view.message = "no findings"
            return
        ids = [finding_id(f) for f in run.report.firing() or run.report.findings]
        here = self.view.cursor.get(FINDINGS)
        on_list = self.view.screen == "list" and self.view.tab == FINDINGS
        index = (ids.index(here) + 1) % len(ids) if on_list and here in ids else 0
        self.view.screen, self.view.tab = "list", FINDINGS
        self.put(ids[index])

    def do_back(self) -> None:
        """One level out; never quits."""
        view = self.view
        if view.overlay:
            view.overlay, view.overlay_offset = "", 0
        elif view.filter:
            view.filter = ""
        elif view.screen == "metric":
            view.screen = "list"
            self._reset_chart()
            if view.came_from:
                view.tab, view.came_from = view.came_from, ""
        elif view.screen == "list" and len(self.session.views) > 1:
            self.do_runs()

    def _reset_chart(self) -> None:
        self.view.crosshair = None
        self.view.window = None

    # -- chart -----------------------------------------------------------------------------

    def do_smoother(self) -> None:
        self._smooth(1)

    def do_rougher(self) -> None:
        self._smooth(-1)

    def _smooth(self, by: int) -> None:
        nearest = min(range(len(_SMOOTH)), key=lambda i: abs(_SMOOTH[i] - self.view.smooth))
        self.view.smooth = _SMOOTH[max(0, min(len(_SMOOTH) - 1, nearest + by))]

    def do_log_y(self) -> None:
        self.view.log_y = not self.view.log_y

    def do_outliers(self) -> None:
        self.view.outliers = not self.view.outliers

    def do_axis(self) -> None:
        axes = axes_of(self.run) if self.run is not None else ("step",)
        index = axes.index(self.view.axis) if self.view.axis in axes else 0
        self.view.axis = axes[(index + 1) % len(axes)]
        if len(axes) == 1:
            self.view.message = "the log has no times: the x axis stays the step"

    def do_order(self) -> None:
        index = _ORDERS.index(self.view.order) if self.view.order in _ORDERS else 0
        self.view.order = _ORDERS[(index + 1) % len(_ORDERS)]

    def _steps(self) -> IntArray | None:
        run, tag = self.run, self.view.cursor.get(self.view.tab)
        if run is None or tag not in run.infos:
            return None
        steps = np.unique(run.series(tag).steps)
        return steps if len(steps) else None

    def _cross(self, by: int) -> None:
        steps = self._steps()
        if steps is None:
            return
        window = self.view.window
        if window is not None:
            inside = steps[(steps >= window[0]) & (steps <= window[1])]
            steps = inside if len(inside) else steps
        stride = max(1, len(steps) // 100)
        at = self.view.crosshair
        if at is None:
            index = len(steps) - 1 if by < 0 else 0
        else:
            index = int(np.clip(np.searchsorted(steps, at) + by * stride, 0, len(steps) - 1))
        self.view.crosshair = int(steps[index])

    def do_cross_left(self) -> None:
        self._cross(-1)

    def do_cross_right(self) -> None:
        self._cross(1)

    def do_first_step(self) -> None:
        steps = self._steps()
        self.view.crosshair = None if steps is None else int(steps[0])

    def do_last_step(self) -> None:
        steps = self._steps()
        self.view.crosshair = None if steps is None else int(steps[-1])

    def _zoom(self, factor: float) -> None:
        steps, run = self._steps(), self.run
        if steps is None or run is None:
            return
        low, high = float(run.data.first_step or 0), float(run.data.last_step or 0)
        x0, x1 = self.view.window or (low, high)
        centre = self.view.crosshair if self.view.crosshair is not None else (x0 + x1) / 2
        half = (x1 - x0) * factor / 2
        if factor < 1 and half * 2 < 4:
            return
        x0, x1 = max(low, centre - half), min(high, centre + half)
        self.view.window = None if x0 <= low and x1 >= high else (x0, x1)

    def do_zoom_in(self) -> None:
        self._zoom(0.5)

    def do_zoom_out(self) -> None:
        self._zoom(2.0)

    def do_zoom_all(self) -> None:
        self.view.window = None

    # -- everywhere ------------------------------------------------------------------------

    def do_help(self) -> None:
        self.view.overlay = "" if self.view.overlay == "help" else "help"
        self.view.overlay_offset = 0

    def do_explain(self) -> None:
        self.view.overlay = "" if self.view.overlay == "explain" else "explain"
        self.view.overlay_offset = 0

    def do_tail(self) -> None:
        self.view.overlay = "" if self.view.overlay == "tail" else "tail"
        self.view.overlay_follows = True

    def do_pause(self) -> None:
        self.view.paused = not self.view.paused

    def do_filter(self) -> None:
        if self.view.screen != "metric":
            self.view.editing = "filter"

    def do_command(self) -> None:
        self.view.editing, self.view.command = "command", ""

    def run_command(self, text: str) -> str | None:
        """Carry out a ``:`` command; returns ``quit`` or ``theme NAME`` for the app to do."""
        words = text.split()
        if not words:
            return None
        name, rest = words[0], " ".join(words[1:])
        if name in ("q", "quit"):
            return "quit"
        if name == "theme":
            return f"theme {rest}"
        if name == "tab":
            self._command_tab(rest)
        elif name == "goto":
            self._command_goto(rest)
        elif name == "help":
            self.do_help()
        elif name == "runs":
            self.do_runs()
        else:
            self.view.message = (
                f"unknown command {name!r}: tab NAME, goto STEP, theme NAME, runs, q"
            )
        return None

    def _command_tab(self, name: str) -> None:
        for tab in TAB_BY_ID.values():
            if name and name.lower() in (tab.id, tab.title.lower(), tab.medium.lower()):
                self.select_tab(tab.id)
                return
        self.view.message = f"no tab {name!r}"

    def _command_goto(self, text: str) -> None:
        try:
            step = int(text.replace(",", ""))
        except ValueError:
            self.view.message = f"not a step: {text!r}"
            return
        steps = self._steps()
        if steps is None:
            self.view.message = "put the cursor on a metric first"
            return
        nearest = int(steps[np.argmin(np.abs(steps - step))])
        self.view.screen, self.view.crosshair = "metric", nearest
        if nearest != step:
            self.view.message = f"nearest logged step: {numbers.step(nearest)}"
