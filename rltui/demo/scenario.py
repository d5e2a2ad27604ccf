"""Simulates a GRPO run: the hidden state of a training that stays healthy or fails.

A run is described by a few coupled quantities (the skill of the policy, its entropy, the size of an
update); :mod:`rltui.demo.verl_tags` derives the logged numbers from them.
A failing run is healthy up to its onset. Magnitudes follow real verl runs; nothing is trained.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

#: The formulas below assume a run of this many steps; other runs are stretched.
_USUAL_STEPS = 200.0
#: Responses are cut after this many tokens.
MAX_RESPONSE = 1024


@dataclass(frozen=True, slots=True)
class State:
    """A run at one step."""

    step: int
    lr: float
    reward: float
    """Share of correct responses, 0 to 1."""
    skill: float
    """The same on held-out problems, without the noise of a batch."""
    entropy: float
    """nats per token."""
    kl_reference: float
    """nats per token, to the initial model."""
    kl_update: float
    """nats per token, of one update."""
    clip_fraction: float
    grad_norm: float
    length: float
    """Mean response length, tokens."""
    truncated: float
    """Chance that a response reaches the limit."""
    diversity: float
    """Spread of the responses to one prompt against the start, 0 to 1."""
    broken: bool = False
    """The weights are NaN."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """The course of a demo run."""

    id: str
    title: str
    summary: str
    """One line."""
    onset: int | None
    """Step of 200 at which it goes wrong; None for a run that stays healthy."""
    sicken: Callable[[State, float, np.random.Generator], State] | None
    """(healthy state, steps since onset from 0, noise) -> failing state."""

    def onset_of(self, total_steps: int) -> int | None:
        """Onset in a run of ``total_steps``."""
        return None if self.onset is None else round(self.onset * total_steps / _USUAL_STEPS)


class Course:
    """The states of one run, one after the other; equal seeds give equal runs."""

    def __init__(self, scenario: Scenario, seed: int, total_steps: int) -> None:
        self._scenario = scenario
        self._onset = scenario.onset_of(total_steps)
        self._stretch = _USUAL_STEPS / total_steps
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
        skill = 0.22 + 0.62 * _approach(t, 90)
        reward = skill + self._wander("reward", 0.5, 0.015)
        return State(
            step=step,
            lr=1e-6 * min(1.0, (step + 1) / 5),
            reward=min(0.99, max(0.0, reward)),
            skill=skill,
            entropy=(0.42 + 0.43 * math.exp(-t / 110)) * _spread(rng, 0.015),
            kl_reference=0.0004 + 0.11 * _approach(t, 120) * _spread(rng, 0.03),
            kl_update=0.0012 * _spread(rng, 0.35),
            clip_fraction=0.0035 * _spread(rng, 0.3),
            grad_norm=(0.34 - 0.12 * skill) * _spread(rng, 0.12),
            length=410 + 190 * _approach(t, 80) + self._wander("length", 0.6, 6),
            truncated=0.010,
            diversity=1.0,
        )

    def _wander(self, name: str, memory: float, size: float) -> float:
        self._drift[name] = memory * self._drift[name] + float(self._rng.normal(0, size))
        return self._drift[name]


def _approach(t: float, scale: float) -> float:
    """From 0 towards 1, two thirds of the way after ``scale`` steps."""
    return 1.0 - math.exp(-t / scale)


def _spread(rng: np.random.Generator, sigma: float) -> float:
    """A factor around 1."""
    return float(rng.lognormal(0.0, sigma))


def _entropy_collapse(state: State, t: float, rng: np.random.Generator) -> State:
    """The policy becomes deterministic: a quick gain, then no variety and nothing more to learn."""
    left = math.exp(-t / 14)
    lost = _approach(max(0.0, t - 25), 35)
    entropy = max(state.entropy * left, 0.008 * _spread(rng, 0.1))
    held = 0.46 + 0.10 * _approach(t, 8) - 0.20 * lost
    gone = _approach(t, 12)
    return replace(
        state,
        reward=max(0.0, (1 - gone) * state.reward + gone * held + float(rng.normal(0, 0.008))),
        skill=(1 - gone) * state.skill + gone * (held - 0.03),
        entropy=entropy,
        kl_reference=state.kl_reference + 0.45 * _approach(t, 25),
        kl_update=state.kl_update * (0.15 + 3.0 * left),
        clip_fraction=state.clip_fraction * (0.1 + 2.0 * left),
        grad_norm=state.grad_norm * (0.15 + 0.85 * math.exp(-t / 25)),
        length=state.length * (1 - 0.32 * _approach(t, 20)),
        truncated=state.truncated * left,
        diversity=0.02 + 0.98 * math.exp(-t / 18),
    )


def _kl_blowup(state: State, t: float, rng: np.random.Generator) -> State:
    """The learning rate is stepped up a hundredfold: each update throws the policy further."""
    up = min(1.0, (t + 1) / 3)
    kept = math.exp(-t / 6)
    babble = _approach(t, 18)
    return replace(
        state,
        lr=state.lr * 100,
        reward=state.reward * max(kept, 0.02),
        skill=state.skill * max(kept, 0.015),
        entropy=state.entropy * (0.07 + 0.93 * math.exp(-t / 9)),
        kl_reference=state.kl_reference + 28 * _approach(t, 80),
        kl_update=0.65 * up * _spread(rng, 0.22),
        clip_fraction=min(0.9, 0.43 * up * _spread(rng, 0.08)),
        grad_norm=state.grad_norm * (1 + 30 * up) * _spread(rng, 0.3),
        length=state.length + (970 - state.length) * babble,
        truncated=state.truncated + 0.88 * babble,
        diversity=0.25 + 0.75 * math.exp(-t / 12),
    )


def _nan(state: State, t: float, rng: np.random.Generator) -> State:
    """Gradients grow over three steps and overflow; from then on the weights are NaN."""
    if t < 3:
        return replace(
            state,
            grad_norm=state.grad_norm * 9 * 12**t * _spread(rng, 0.2),
            kl_update=state.kl_update * 6 * 3**t,
            clip_fraction=state.clip_fraction * 8 * 2**t,
        )
    return replace(
        state,
        broken=True,
        reward=0.0,
        skill=0.0,
        length=float(MAX_RESPONSE),
        truncated=1.0,
        diversity=0.0,
        clip_fraction=0.0,  # every comparison with NaN is false
        entropy=math.nan,
        kl_reference=math.nan,
        kl_update=math.nan,
        grad_norm=math.nan,
    )


_ALL = (
    Scenario(
        "healthy",
        "Healthy GRPO run",
        "Reward rises, entropy falls gently, the policy stays near its reference.",
        None,
        None,
    ),
    Scenario(
        "entropy-collapse",
        "Entropy collapse",
        "After a fifth of the run the policy grows too sure: a quick gain, then no learning.",
        40,
        _entropy_collapse,
    ),
    Scenario(
        "kl-blowup",
        "KL blow-up after a learning-rate step",
        "At 30 % of the run the learning rate goes up 100x: KL and gradients jump, reward crashes.",
        60,
        _kl_blowup,
    ),
    Scenario(
        "nan",
        "NaN after a gradient spike",
        "At 30 % of the run gradients overflow; the weights are NaN, responses run to the limit.",
        60,
        _nan,
    ),
)

#: The scenarios by id, healthy first.
SCENARIOS: Mapping[str, Scenario] = MappingProxyType({s.id: s for s in _ALL})
