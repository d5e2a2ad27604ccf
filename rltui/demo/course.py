"""A GRPO run that stays healthy or goes wrong.

A run is described by a few coupled quantities (the skill of the policy, its entropy, the size of an
update); :mod:`rltui.demo.verl_tags` derives the logged numbers from them. A failing run is healthy
up to its onset. Magnitudes follow real verl runs; nothing is trained.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, NamedTuple

import numpy as np

from rltui.core.yaml_document import Node
from rltui.core.yaml_record import Keyed

#: Responses are cut after this many tokens.
MAX_RESPONSE = 1024
#: Onsets are steps of a run of this many; other runs are stretched.
USUAL_STEPS = 200.0


class State(NamedTuple):
    """The hidden state of a run at one step."""

    step: int
    lr: float
    reward: float
    """Share of correct responses, 0 to 1."""
    skill: float
    """Skill on held-out problems, without the noise of a batch."""
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
    aborted: float = 0.0
    """Share of the responses that the inference engine gave up."""
    mismatch: float = 1.0
    """How far the probabilities of the inference engine are off, against bf16 rounding."""
    slowness: float = 1.0
    """Factor on the time of generation."""
    imbalance: float = 0.001
    """By how much the busiest rank has more tokens than the mean, after balancing."""
    broken: bool = False
    """The weights are NaN."""


def approach(t: float, scale: float) -> float:
    """From 0 towards 1, two thirds of the way after ``scale`` steps."""
    return 1.0 - math.exp(-t / scale)


def spread(rng: np.random.Generator, sigma: float) -> float:
    """A factor around 1."""
    return float(rng.lognormal(0.0, sigma))


#: (healthy state, steps since the onset from 0, noise) -> failing state. Steps are those of a run
#: of 200 steps.
Failure = Callable[[State, float, np.random.Generator], State]


def _failure(node: Node) -> Failure:
    """The function of this name."""
    found: Failure = globals()[node.text()]
    return found


class SeedRun(NamedTuple):
    """One of several runs of a scenario."""

    name: str
    scenario: str
    seed: int


class Scenario(NamedTuple):
    """The course of a demo run."""

    id: str
    summary: str
    """One line."""
    onset: int | None = None
    """Step of 200 at which it goes wrong or ends; None for a run that stays healthy."""
    failure: Annotated[Failure | None, Keyed(read=_failure)] = None
    """Failure that it brings into the state of a GRPO run."""
    rule: str | None = None
    """Id of the rule that finds it."""
    trainer: str = "verl"
    """Whose tags it logs: verl (GRPO), sb3 (PPO) or trl (DPO)."""
    lr: float = 1e-6
    """Learning rate that verl is given."""
    ending: str = ""
    """``crash`` or ``hang`` when it ends at its onset."""
    history: int = 120
    """Rows of 400 that are written before the screen opens."""
    runs: tuple[SeedRun, ...] = ()
    """Each of them when it stands for several runs at once."""

    def onset_of(self, total_steps: int) -> int | None:
        """Onset in a run of ``total_steps``."""
        return None if self.onset is None else round(self.onset * total_steps / USUAL_STEPS)


class Course:
    """The states of one run, one after the other; equal seeds give equal runs."""

    def __init__(self, scenario: Scenario, seed: int, total_steps: int) -> None:
        self._lr = scenario.lr
        self._failure = scenario.failure
        self._onset = scenario.onset_of(total_steps)
        self._stretch = USUAL_STEPS / total_steps
        self._rng = np.random.default_rng([seed, 1])
        # The mix of prompts in a batch moves reward and length for a few steps.
        self._drift = {"reward": 0.0, "length": 0.0}

    def at(self, step: int) -> State:
        """The next state; steps must be requested in order."""
        state = self._healthy(step)
        if self._onset is None or self._failure is None or step < self._onset:
            return state
        return self._failure(state, (step - self._onset) * self._stretch, self._rng)

    def _healthy(self, step: int) -> State:
        rng = self._rng
        t = step * self._stretch
        skill = 0.22 + 0.62 * approach(t, 90)
        reward = skill + self._wander("reward", 0.5, 0.015)
        return State(
            step=step,
            lr=self._lr * min(1.0, (step + 1) / 5),
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


# -- failures ------------------------------------------------------------------------------


def entropy_collapse(state: State, t: float, rng: np.random.Generator) -> State:
    """The policy becomes deterministic: a quick gain, then no variety and nothing more to learn."""
    left = math.exp(-t / 14)
    lost = approach(max(0.0, t - 25), 35)
    entropy = max(state.entropy * left, 0.008 * spread(rng, 0.1))
    held = 0.46 + 0.10 * approach(t, 8) - 0.20 * lost
    gone = approach(t, 12)

    return state._replace(
        reward=max(0.0, (1 - gone) * state.reward + gone * held + float(rng.normal(0, 0.008))),
        skill=(1 - gone) * state.skill + gone * (held - 0.03),
        entropy=entropy,
        kl_reference=state.kl_reference + 0.45 * approach(t, 25),
        kl_update=state.kl_update * (0.15 + 3.0 * left),
        clip_fraction=state.clip_fraction * (0.1 + 2.0 * left),
        grad_norm=state.grad_norm * (0.15 + 0.85 * math.exp(-t / 25)),
        length=state.length * (1 - 0.32 * approach(t, 20)),
        truncated=state.truncated * left,
        diversity=0.02 + 0.98 * math.exp(-t / 18),
    )


def kl_blowup(state: State, t: float, rng: np.random.Generator) -> State:
    """The learning rate is stepped up a hundredfold: each update throws the policy further."""
    up = min(1.0, (t + 1) / 3)
    kept = math.exp(-t / 6)
    babble = approach(t, 18)

    return state._replace(
        lr=state.lr * 100,
        reward=state.reward * max(kept, 0.02),
        skill=state.skill * max(kept, 0.015),
        entropy=state.entropy * (0.07 + 0.93 * math.exp(-t / 9)),
        kl_reference=state.kl_reference + 28 * approach(t, 80),
        kl_update=0.65 * up * spread(rng, 0.22),
        clip_fraction=min(0.9, 0.43 * up * spread(rng, 0.08)),
        grad_norm=state.grad_norm * (1 + 30 * up) * spread(rng, 0.3),
        length=state.length + (970 - state.length) * babble,
        truncated=state.truncated + 0.88 * babble,
        diversity=0.25 + 0.75 * math.exp(-t / 12),
    )


def nan(state: State, t: float, rng: np.random.Generator) -> State:
    """Gradients grow over three steps and overflow; from then on the weights are NaN."""
    if t < 3:
        return state._replace(
            grad_norm=state.grad_norm * 9 * 12**t * spread(rng, 0.2),
            kl_update=state.kl_update * 6 * 3**t,
            clip_fraction=state.clip_fraction * 8 * 2**t,
        )
    return state._replace(
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


def reward_hacking(state: State, t: float, _rng: np.random.Generator) -> State:
    """The policy finds answers that the reward likes and that are wrong: longer and longer ones."""
    found = approach(t, 40)
    return state._replace(
        reward=min(0.97, state.reward + 0.45 * found),
        skill=state.skill * (1 - 0.8 * found),
        entropy=state.entropy * (1 - 0.35 * found),
        kl_reference=state.kl_reference + 0.5 * found,
        length=state.length + 200 * found,
    )


def truncation(state: State, t: float, _rng: np.random.Generator) -> State:
    """Responses grow to the limit; what is cut off scores nothing."""
    grown = approach(t, 25)
    cut = 0.7 * approach(max(0.0, t - 8), 25)
    return state._replace(
        length=state.length + (980 - state.length) * grown,
        truncated=state.truncated + cut,
        reward=state.reward * (1 - 0.8 * cut),
        skill=state.skill * (1 - 0.7 * cut),
    )


def no_signal(state: State, _t: float, rng: np.random.Generator) -> State:
    """No answer is ever scored as right: without a signal nothing moves but by noise."""
    return state._replace(
        reward=0.0,
        skill=0.0,
        entropy=0.85 * spread(rng, 0.01),
        kl_reference=2e-5 * spread(rng, 0.1),
        kl_update=2e-6 * spread(rng, 0.3),
        clip_fraction=0.0,
        grad_norm=2e-4 * spread(rng, 0.3),
        length=410 + float(rng.normal(0, 6)),
    )


def off_policy(state: State, t: float, _rng: np.random.Generator) -> State:
    """The inference engine no longer has the weights of the trainer."""
    off = approach(t, 10)
    return state._replace(
        mismatch=1 + 250 * off,
        reward=state.reward * (1 - 0.3 * off),
        grad_norm=state.grad_norm * (1 + 2 * off),
    )


def slow_step(state: State, _t: float, rng: np.random.Generator) -> State:
    """Another job takes the machine that generates: the same tokens take seven times as long."""
    return state._replace(slowness=7.0 * spread(rng, 0.1))


def aborts(state: State, t: float, rng: np.random.Generator) -> State:
    """The inference engine gives up on a part of the requests."""
    return state._replace(aborted=min(0.6, 0.35 * approach(t, 6) * spread(rng, 0.1)))


def imbalance(state: State, _t: float, rng: np.random.Generator) -> State:
    """One rank gets most of the tokens and all others wait for it."""
    return state._replace(imbalance=1.4 * spread(rng, 0.08))


def faster(state: State, t: float, _rng: np.random.Generator) -> State:
    """Not a failure: a higher learning rate, which learns sooner and ends higher."""
    gained = 0.10 * approach(t, 50)
    return state._replace(
        reward=min(0.98, state.reward + gained),
        skill=state.skill + gained,
        entropy=state.entropy * (1 - 0.12 * approach(t, 60)),
        kl_reference=state.kl_reference * 2.2,
        kl_update=state.kl_update * 2,
    )
