"""Keys that change how charts are drawn, on every screen that has a chart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from textual.app import SystemCommand

from rltui.core.block import IntArray
from rltui.present.kit import numbers
from rltui.present.screens.tabs import tabs_of
from rltui.present.screens.x_axis import axes_of
from rltui.session import RunView
from rltui.tui.screens.screen import ShellScreen

#: Smoothing weights that ``s`` and ``S`` walk through.
_SMOOTH = (0.0, 0.3, 0.6, 0.8, 0.9, 0.95, 0.98)


class ChartKeys(ShellScreen[Any]):
    """A screen with the chart of one tag."""

    @property
    def run(self) -> RunView | None:
        """The run that is shown."""
        raise NotImplementedError

    @property
    def tag(self) -> str | None:
        """The tag whose chart is shown."""
        raise NotImplementedError

    def action_axis(self) -> None:
        """The next axis that the run has something for."""
        view, axes = self.shell.view, axes_of(self.run) if self.run is not None else ("step",)
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

    def select_tab(self, tab: str) -> None:
        """Show a tab of the run."""
        raise NotImplementedError

    def palette(self) -> Iterator[SystemCommand]:
        yield from super().palette()
        for tab in tabs_of(self.run) if self.run is not None else ():
            key = f"key {tab.key}" if tab.key else "[ and ] lead there"
            yield SystemCommand(f"Tab {tab.title}", key, partial(self.select_tab, tab.id))
        ask = partial(self.status.edit, "command", "goto ")
        yield SystemCommand("Go to a step", "the chart with the crosshair there", ask)

    # -- steps -----------------------------------------------------------------------------

    def steps(self) -> IntArray | None:
        """The steps at which the tag was logged, ascending; None for none."""
        if self.run is None or self.tag is None:
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
