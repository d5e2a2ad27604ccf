"""The keys of a crosshair: by steps, to the ends, to a step, to the onset of a finding."""

from __future__ import annotations

from typing import Any

import numpy as np

from rltui.core.block import IntArray
from rltui.facts import numbers
from rltui.facts.findings import onset_of
from rltui.facts.x_axis import axis_of
from rltui.tui.screen import Commands, ListScreen, ShellScreen
from rltui.tui.shell import ShellApp

#: Why a key that is about a metric does nothing.
NO_METRIC = "put the cursor on a metric first"


class CrosshairKeys(ShellScreen[Any]):
    """A screen with the chart of a tag, see :meth:`charted`, and a crosshair in it."""

    #: The step at the crosshair, if the screen keeps it itself, and the one before an onset.
    cross: int | None = None
    _left: int | None = None

    @property
    def chosen_step(self) -> int | None:
        """The step at the crosshair; None for the newest."""
        return self.cross

    def steps(self) -> IntArray | None:
        """The steps at which the tag was logged, and on an axis that does not grow has a place,
        ascending; None for none."""
        shown = self.charted()
        if shown is None:
            return None
        run = shown[0]
        series = shown[0].shown(shown[1])
        axis = axis_of(run, series, self.view.axis)
        steps = (
            series.distinct_steps
            if axis.grows or axis.steps is None
            else axis.steps.astype(np.int64)
        )
        return steps if len(steps) else None

    def steps_in_sight(self) -> IntArray | None:
        """Steps that the crosshair moves along."""
        return self.steps()

    def show_step(self, step: int | None) -> None:
        """Put the crosshair at a step, or remove it."""
        self.cross = step
        self.update()

    def action_cross(self, by: int) -> None:
        """Move the crosshair to the right or left."""
        steps = self.steps_in_sight()
        if steps is None:
            self.say(NO_METRIC)
        else:
            self.show_step(stepped(steps, self.chosen_step, by))

    def action_cross_to_end(self, by: int) -> None:
        """Put the crosshair on the first step (-1) or the newest one (1)."""
        steps = self.steps()
        if steps is not None:
            self.show_step(int(steps[-1 if by > 0 else 0]))

    def action_end_or_step(self, by: int) -> None:
        """Move the crosshair to an end, or without one the cursor."""
        if self.chosen_step is not None:
            self.action_cross_to_end(by)
        elif isinstance(self, ListScreen):
            self.action_move_to_end(by)

    def action_onset(self) -> None:
        """Go to where the worst finding on the metric, or of the run, began, and back."""
        shown = self.charted()
        found = None if shown is None else onset_of(*shown)
        if found is None or found.since_step is None:
            self.say("no finding of this run began at a step of this chart")
        elif self.chosen_step == found.since_step:
            self.show_step(self._left)
        else:
            self._left = self.chosen_step
            self.show_step(found.since_step)
            since = numbers.step(found.since_step)
            self.say(f"{found.title} began at {since}; f again leads back")

    def _look_at(self, text: str) -> None:
        """Go to the logged step nearest to the one in ``text``."""
        wanted = typed_step(self.shell, text)
        steps = self.steps()
        if wanted is None:
            return
        if steps is None:
            self.say(NO_METRIC)
            return
        inside = min(max(wanted, int(steps[0])), int(steps[-1]))  # fits into 64 bits
        nearest = int(steps[np.abs(steps - inside).argmin()])
        if nearest != wanted:
            self.say(f"nearest logged step: {numbers.step(nearest)}")
        self.show_step(nearest)

    def commands(self) -> Commands:
        return {**super().commands(), "at": self._look_at}


def stepped(steps: IntArray, at: int | None, by: int) -> int:
    """The step ``by`` points after ``at``, an end of ``steps`` for None. More than one point are a
    tenth of 200 or more: a long run is crossed in a few presses."""
    if at is None:
        return int(steps[-1 if by < 0 else 0])
    by *= max(1, len(steps) // 100) if abs(by) > 1 else 1
    index = int(np.clip(np.searchsorted(steps, at) + by, 0, len(steps) - 1))
    return int(steps[index])


def typed_step(shell: ShellApp[Any], text: str) -> int | None:
    """The step in ``text``; None, with a notice, for no step."""
    try:
        return int(text.replace(",", ""))
    except ValueError:
        shell.say(f"not a step: {text!r}")
        return None
