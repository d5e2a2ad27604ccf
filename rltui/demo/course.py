"""Simulates a GRPO run that stays healthy or fails.

A run is described by a few coupled quantities (the skill of the policy, its entropy, the size of an
update); :mod:`rltui.demo.verl_tags` derives the logged numbers from them.
A failing run is healthy up to its onset. Magnitudes follow real verl runs; nothing is trained.
"""

from __future__ import annotations

import math

import numpy as np

from rltui.demo.scenario import USUAL_STEPS, Scenario
from rltui.demo.state import State, approach, spread


class Course:
    """The states of one run, one after the other; equal seeds give equal runs."""

    def __init__(self, scenario: Scenario, seed: int, total_steps: int) -> None:
        self._scenario = scenario
        self._onset = scenario.onset_of(total_steps)
        self._stretch = USUAL_STEPS / total_steps
        self._rng = np.random.default_rng([seed, 1])
        # The mix of prompts in a batch moves reward and length for a few steps.
        self._drift = {"reward": 0.0, "length": 0.0}

    def at(self, step: int) -> State:
        """The next state; steps must be requested in order."""
        state = self._healthy(step)
        sicken = self._scenario.sicken
        if self._onset is None or sicken is None or step < self._onset:
            return state
        return sicken(state, (step - self._onset) * self._stretch, self._rng)

    def _healthy(self, step: int) -> State:
        rng, t = self._rng, step * self._stretch
        skill = 0.22 + 0.62 * approach(t, 90)
        reward = skill + self._wander("reward", 0.5, 0.015)
        return State(
            step=step,
            lr=self._scenario.lr * min(1.0, (step + 1) / 5),
            reward=min(0.99, max(0.0, reward)),
            skill=skill,
            entropy=(0.42 + 0.43 * math.exp(-t / 110)) * spread(rng, 0.015),
            kl_reference=0.0004 + 0.11 * approach(t, 120) * spread(rng, 0.03),
            kl_update=0.0012 * spread(rng, 0.35),
            clip_fraction=0.0035 * spread(rng, 0.3),
            grad_norm=(0.34 - 0.12 * skill) * spread(rng, 0.12),
            length=410 + 190 * approach(t, 80) + self._wander("length", 0.6, 6),
            truncated=0.010,
            diversity=1.0,
        )

    def _wander(self, name: str, memory: float, size: float) -> float:
        self._drift[name] = memory * self._drift[name] + float(self._rng.normal(0, size))
        return self._drift[name]
