"""The keys of charts: x axis, smoothing, log y, outliers. All charts of the app share them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rltui.tui.screen import ShellScreen

#: Smoothing weights that ``s`` and ``S`` walk through.
_SMOOTH = (0.0, 0.3, 0.6, 0.8, 0.9, 0.95, 0.98)


class ChartOptions(ShellScreen[Any]):
    """A screen with charts."""

    @property
    def axes(self) -> tuple[str, ...]:
        """The x axes that there is data for."""
        raise NotImplementedError

    def action_axis(self) -> None:
        """The next axis that there is something for."""
        view, axes = self.shell.view, self.axes
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
        at = min(range(len(_SMOOTH)), key=lambda i: abs(_SMOOTH[i] - weight)) + by
        if 0 <= at < len(_SMOOTH):
            self._set(smooth=_SMOOTH[at])
        else:
            end = "the line is as smooth as it gets" if by > 0 else "nothing is smoothed; s does"
            self.shell.say(end)

    def action_log_y(self) -> None:
        self._set(log_y=not self.shell.view.log_y)

    def action_outliers(self) -> None:
        self._set(outliers=not self.shell.view.outliers)

    def _set(self, **changes: object) -> None:
        self.shell.view = replace(self.shell.view, **changes)  # type: ignore[arg-type]
        self.update()
