"""How a GRPO run goes wrong: (healthy state, steps since the onset, noise) -> failing state.

Steps are those of a run of 200 steps, from 0. Magnitudes follow real verl runs.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from rltui.demo.state import MAX_RESPONSE, State, approach, spread


def entropy_collapse(state: State, t: float, rng: np.random.Generator) -> State:
    """The policy becomes deterministic: a quick gain, then no variety and nothing more to learn."""
    left = math.exp(-t / 14)
    lost = approach(max(0.0, t - 25), 35)
    entropy = max(state.entropy * left, 0.008 * spread(rng, 0.1))
    held = 0.46 + 0.10 * approach(t, 8) - 0.20 * lost
    gone = approach(t, 12)
    return replace(
        state,
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
    return replace(
        state,
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
        return replace(
            state,
            grad_norm=state.grad_norm * 9 * 12**t * spread(rng, 0.2),
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


def reward_hacking(state: State, t: float, _rng: np.random.Generator) -> State:
    """The policy finds answers that the reward likes and that are wrong: longer and longer ones."""
    found = approach(t, 40)
    return replace(
        state,
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
    return replace(
        state,
        length=state.length + (980 - state.length) * grown,
        truncated=state.truncated + cut,
        reward=state.reward * (1 - 0.8 * cut),
        skill=state.skill * (1 - 0.7 * cut),
    )


def no_signal(state: State, _t: float, rng: np.random.Generator) -> State:
    """No answer is ever scored as right: without a signal nothing moves but by noise."""
    return replace(
        state,
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
    return replace(
        state,
        mismatch=1 + 250 * off,
        reward=state.reward * (1 - 0.3 * off),
        grad_norm=state.grad_norm * (1 + 2 * off),
    )


def slow_step(state: State, _t: float, rng: np.random.Generator) -> State:
    """Another job takes the machine that generates: the same tokens take seven times as long."""
    return replace(state, slowness=7.0 * spread(rng, 0.1))


def aborts(state: State, t: float, rng: np.random.Generator) -> State:
    """The inference engine gives up on a part of the requests."""
    return replace(state, aborted=min(0.6, 0.35 * approach(t, 6) * spread(rng, 0.1)))


def imbalance(state: State, _t: float, rng: np.random.Generator) -> State:
    """One rank gets most of the tokens and all others wait for it."""
    return replace(state, imbalance=1.4 * spread(rng, 0.08))


def faster(state: State, t: float, _rng: np.random.Generator) -> State:
    """Not a failure: a higher learning rate, which learns sooner and ends higher."""
    gained = 0.10 * approach(t, 50)
    return replace(
        state,
        reward=min(0.98, state.reward + gained),
        skill=state.skill + gained,
        entropy=state.entropy * (1 - 0.12 * approach(t, 60)),
        kl_reference=state.kl_reference * 2.2,
        kl_update=state.kl_update * 2,
    )
