"""What the screens with a chart of one run share: keys of charts, tabs, commands, the log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from textual.app import SystemCommand

from rltui.core.block import IntArray
from rltui.present.kit import numbers
from rltui.present.kit.line import Line
from rltui.present.screens.header import run_header
from rltui.present.screens.tabs import TABS, tab_named, tabs_of
from rltui.present.screens.x_axis import axes_of
from rltui.session import RunView, Session
from rltui.tui.screens.screen import ShellScreen, compare
from rltui.tui.widgets.tab_bar import TabBar

#: Smoothing weights that ``s`` and ``S`` walk through.
_SMOOTH = (0.0, 0.3, 0.6, 0.8, 0.9, 0.95, 0.98)


class ChartScreen(ShellScreen[Any]):
    """A screen of one run with the chart of a tag."""

    def __init__(self, session: Session, run: RunView) -> None:
        super().__init__()
        self.session = session
        self.run = run

    @property
    def tag(self) -> str | None:
        """The tag whose chart is shown."""
        raise NotImplementedError

    def header(self, width: int, _: int) -> list[Line]:
        """Line 1."""
        return [run_header(self.run, self.shell.view, width, self.session.reading())]

    def state_words(self) -> str:
        return self.shell.state_words()

    # -- keys of charts --------------------------------------------------------------------

    def action_axis(self) -> None:
        """The next axis that the run has something for."""
        view, axes = self.shell.view, axes_of(self.run)
        index = axes.index(view.axis) if view.axis in axes else 0
        if len(axes) == 1:
            self.shell.say("the log has no times: the x axis stays the step")
        self._set(axis=axes[(index + 1) % len(axes)])

    def action_smoother(self) -> None:
        self._smooth(1)

    def action_rougher(self) -> None:
        self._smooth(-1)

    def _smooth(self, by: int) -> None:
        weight = self.shell.view.smooth
        nearest = min(range(len(_SMOOTH)), key=lambda i: abs(_SMOOTH[i] - weight))
        self._set(smooth=_SMOOTH[max(0, min(len(_SMOOTH) - 1, nearest + by))])

    def action_log_y(self) -> None:
        self._set(log_y=not self.shell.view.log_y)

    def action_outliers(self) -> None:
        self._set(outliers=not self.shell.view.outliers)

    def _set(self, **changes: object) -> None:
        self.shell.view = replace(self.shell.view, **changes)  # type: ignore[arg-type]
        self.update()

    def action_compare(self) -> None:
        """Make this run the reference, or clear it."""
        compare(self.shell, self.session, self.run)
        self.update()

    # -- tabs, commands, the log ---------------------------------------------------------------

    def select_tab(self, tab: str) -> None:
        """Show a tab of the run."""
        raise NotImplementedError

    def action_tab(self, key: str) -> None:
        """Show the tab of a digit."""
        self.select_tab(next(t.id for t in TABS if t.key == key))

    def on_tab_bar_selected(self, event: TabBar.Selected) -> None:
        self.select_tab(event.tab)

    def action_runs(self) -> None:
        """Show the list of runs."""
        raise NotImplementedError

    def action_tail(self) -> None:
        """Show the end of the console log."""
        from rltui.tui.screens.log import LogScreen

        self.shell.push_screen(LogScreen(self.run))

    def commands(self) -> dict[str, Callable[[str], object]]:
        mine: dict[str, Callable[[str], object]] = {
            "tab": self._tab_named,
            "goto": self._goto,
            "runs": lambda _: self.action_runs(),
        }
        return {**super().commands(), **mine}

    def _tab_named(self, name: str) -> None:
        tab, hint = tab_named(self.run, name)
        if tab is None:
            self.shell.say(f"no tab {name!r}{hint}")
        else:
            self.select_tab(tab.id)

    def _goto(self, text: str) -> None:
        step = self.nearest_step(text)
        if step is not None:
            self.show_step(step)

    def show_step(self, step: int) -> None:
        """Put the crosshair of the large chart there."""
        raise NotImplementedError

    def palette(self) -> Iterator[SystemCommand]:
        yield from super().palette()
        for tab in tabs_of(self.run):
            key = f"key {tab.key}" if tab.key else "[ and ] lead there"
            yield SystemCommand(f"Tab {tab.title}", key, partial(self.select_tab, tab.id))
        ask = partial(self.status.edit, "command", "goto ")
        yield SystemCommand("Go to a step", "the chart with the crosshair there", ask)

    # -- steps -----------------------------------------------------------------------------

    def steps(self) -> IntArray | None:
        """The steps at which the tag was logged, ascending; None for none."""
        if self.tag is None:
            return None
        steps = np.unique(self.run.series(self.tag).steps)
        return steps if len(steps) else None

    def nearest_step(self, text: str) -> int | None:
        """The logged step nearest to the one in ``text``; None, with a notice, for no step."""
        try:
            step = int(text.replace(",", ""))
        except ValueError:
            self.shell.say(f"not a step: {text!r}")
            return None
        steps = self.steps()
        if steps is None:
            self.shell.say("put the cursor on a metric first")
            return None
        nearest: int = min(steps.tolist(), key=lambda logged: abs(logged - step))
        if nearest != step:
            self.shell.say(f"nearest logged step: {numbers.step(nearest)}")
        return nearest
