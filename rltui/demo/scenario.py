"""The stories of ``rltui demo``: what goes wrong, when, which rule finds it, and the rows that a
run of each logs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from rltui.core.yaml_record import shipped_record
from rltui.demo import verl_tags
from rltui.demo.course import USUAL_STEPS, Course, Scenario

#: Trainers whose rows follow from the step alone: (row, progress, failing, noise) -> tags, and the
#: steps from row to row. See :mod:`rltui.demo.verl_tags`.
_TRAINERS: Mapping[
    str, tuple[Callable[[int, float, float, np.random.Generator], verl_tags.Row], int]
] = {
    "sb3": (verl_tags.ppo_row, verl_tags.SB3_STRIDE),
    "trl": (verl_tags.dpo_row, verl_tags.TRL_STRIDE),
}


class _Document(NamedTuple):
    scenarios: tuple[Scenario, ...]


#: The scenarios by id, healthy first.
SCENARIOS: Mapping[str, Scenario] = MappingProxyType(
    {s.id: s for s in shipped_record(_Document, "demo", "data", "scenarios.yaml").scenarios}
)


class Rows:
    """Rows of one run of a scenario, requested in order from 0 to ``total``."""

    def __init__(self, scenario: Scenario, seed: int, total: int) -> None:
        make, self.stride = _TRAINERS.get(scenario.trainer, (None, 1))
        """Steps that are logged from row to row."""
        self._make = make
        self._course = Course(scenario, seed, total)
        self._onset = scenario.onset_of(total)
        self._stretch = USUAL_STEPS / total
        self._rng = np.random.default_rng([seed, 2 if make is None else 3])

    def make(self, row: int) -> verl_tags.Row:
        """The tags of a row and their values; none when nothing is logged."""
        if self._make is None:
            # row 0 of verl is the validation before the first step
            state = self._course.at(row)
            write = verl_tags.step_row if row else verl_tags.validation_row
            return write(state, self._rng)
        if row == 0:
            return {}

        since = 0 if self._onset is None else max(0, row - self._onset)
        return self._make(row, row * self._stretch, since * self._stretch, self._rng)

    def seconds(self, row: verl_tags.Row) -> float:
        """How long a row took."""
        return row.get("timing_s/step", 0.0) if self._make is None else float(bool(row))
