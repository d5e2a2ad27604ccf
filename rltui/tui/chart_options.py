"""The keys of charts: x axis, smoothing, log y, outliers. All charts of the app share them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from textual.app import SystemCommand

from rltui.core.block import IntArray
from rltui.facts import numbers
from rltui.session import RunView
from rltui.tui.screen import ShellScreen
from rltui.tui.shell import ShellApp

#: Smoothing weights that ``s`` and ``S`` walk through.
_SMOOTH = (0.0, 0.3, 0.6, 0.8, 0.9, 0.95, 0.98)
#: Why a key that is about a metric does nothing.
NO_METRIC = "put the cursor on a metric first"


class ChartOptions(ShellScreen[Any]):
    """A screen with charts."""

    @property
    def axes(self) -> tuple[str, ...]:
        """The x axes that there is data for."""
        raise NotImplementedError

    def action_axis(self) -> None:
        """Choose the next x axis that the log has data for."""
        view, axes = self.shell.view, self.axes
        index = axes.index(view.axis) if view.axis in axes else 0
        if len(axes) == 1:
            self.shell.say("the log has no times: the x axis stays the step")
        self._set(axis=axes[(index + 1) % len(axes)])

    def action_smooth(self, by: int) -> None:
        """The next smoothing weight, or the one before."""
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
        self.shell.view = self.shell.view._replace(**changes)  # type: ignore[arg-type]
        self.update()


class CrosshairKeys(ShellScreen[Any]):
    """A screen with the chart of a tag."""

    run: RunView

    @property
    def tag(self) -> str | None:
        """The tag whose chart is shown."""
        raise NotImplementedError

    @property
    def chosen_step(self) -> int | None:
        """The step at the crosshair; None for the newest."""
        return None

    def steps(self) -> IntArray | None:
        """The steps at which the tag was logged, ascending; None for none."""
        if self.tag is None:
            return None
        steps = self.run.series(self.tag).distinct_steps
        return steps if len(steps) else None

    def show_step(self, step: int) -> None:
        """Put the crosshair of the large chart at a step."""
        raise NotImplementedError

    def _at(self, text: str) -> None:
        """Go to the logged step nearest to the one in ``text``."""
        wanted, steps = typed_step(self.shell, text), self.steps()
        if wanted is None:
            return
        if steps is None:
            self.shell.say(NO_METRIC)
            return
        inside = min(max(wanted, int(steps[0])), int(steps[-1]))  # fits into 64 bits
        after = int(np.searchsorted(steps, inside))
        around = steps[max(0, after - 1) : after + 1].tolist()
        nearest: int = min(around, key=lambda logged: abs(logged - inside))
        if nearest != wanted:
            self.shell.say(f"nearest logged step: {numbers.step(nearest)}")
        self.show_step(nearest)

    def commands(self) -> dict[str, Callable[[str], object]]:
        return {**super().commands(), "at": self._at}

    def palette(self) -> Iterator[SystemCommand]:
        yield from super().palette()
        ask = partial(self.ask, "at ")
        yield SystemCommand("Look at a step", "the chart with the crosshair there", ask)


def stepped(steps: IntArray, at: int | None, by: int) -> int:
    """The step a hundredth of ``steps`` before or after ``at``; an end of them for None."""
    if at is None:
        return int(steps[-1 if by < 0 else 0])
    stride = max(1, len(steps) // 100)
    index = int(np.clip(np.searchsorted(steps, at) + by * stride, 0, len(steps) - 1))
    return int(steps[index])


def typed_step(shell: ShellApp[Any], text: str) -> int | None:
    """The step in ``text``; None, with a notice, for no step."""
    try:
        return int(text.replace(",", ""))
    except ValueError:
        shell.say(f"not a step: {text!r}")
        return None
