"""The rows that a scenario logs, by the trainer that it plays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from rltui.demo import sb3_tags, trl_tags
from rltui.demo.course import Course
from rltui.demo.scenario import USUAL_STEPS, Scenario
from rltui.demo.verl_tags import step_row, validation_row

Row = dict[str, float]

#: (row, progress, failing, noise) -> tags; see :mod:`rltui.demo.sb3_tags`.
_MakeRow = Callable[[int, float, float, np.random.Generator], Row]


class Rows(Protocol):
    """Rows of one run, requested in order from 0."""

    stride: int
    """Steps that are logged from row to row."""

    def make(self, row: int) -> Row:
        """The tags of a row and their values; none when nothing is logged."""
        ...

    def seconds(self, row: Row) -> float:
        """How long it took."""
        ...


def rows_of(scenario: Scenario, seed: int, total: int) -> Rows:
    """The rows 0 to ``total`` of a scenario."""
    if scenario.trainer == "sb3":
        return _Simple(scenario, seed, total, sb3_tags.ppo_row, sb3_tags.STRIDE)
    if scenario.trainer == "trl":
        return _Simple(scenario, seed, total, trl_tags.dpo_row, trl_tags.STRIDE)
    return _Grpo(scenario, seed, total)


class _Grpo:
    """verl: row 0 is the validation before the first step."""

    stride = 1

    def __init__(self, scenario: Scenario, seed: int, total: int) -> None:
        self._course = Course(scenario, seed, total)
        self._rng = np.random.default_rng([seed, 2])

    def make(self, row: int) -> Row:
        state = self._course.at(row)
        return step_row(state, self._rng) if row else validation_row(state, self._rng)

    def seconds(self, row: Row) -> float:
        return row.get("timing_s/step", 0.0)


class _Simple:
    """A trainer whose rows follow from the step alone; it logs nothing at step 0."""

    def __init__(
        self, scenario: Scenario, seed: int, total: int, make_row: _MakeRow, stride: int
    ) -> None:
        self.stride = stride
        self._onset = scenario.onset_of(total)
        self._stretch = USUAL_STEPS / total
        self._make_row = make_row
        self._rng = np.random.default_rng([seed, 3])

    def make(self, row: int) -> Row:
        if row == 0:
            return {}
        since = 0 if self._onset is None else max(0, row - self._onset)
        stretch = self._stretch
        return self._make_row(row, row * stretch, since * stretch, self._rng)

    def seconds(self, row: Row) -> float:
        return 1.0 if row else 0.0
