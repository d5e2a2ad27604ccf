"""The hidden state of a simulated GRPO run at one step."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

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
