"""A PPO run as stable-baselines3 logs it to TensorBoard; magnitudes of LunarLander-v2."""

from __future__ import annotations

import math

import numpy as np

from rltui.demo.state import approach, spread

#: Environment steps of one rollout.
STRIDE = 2048


def ppo_row(
    iteration: int, progress: float, failing: float, rng: np.random.Generator
) -> dict[str, float]:
    """The tags of one rollout and its update.

    ``progress``: steps since the start of a run of 200; ``failing``: 0, or steps since the critic
    began to fail.
    """
    learned = approach(progress, 60)
    lost = approach(max(0.0, failing - 4), 12) if failing else 0.0
    value = 420 * math.exp(-progress / 45) + 25
    best = -180 + 430 * learned
    return {
        "rollout/ep_len_mean": 95 + 260 * learned * (1 - lost) + float(rng.normal(0, 8)),
        "rollout/ep_rew_mean": best - (best + 220) * lost + float(rng.normal(0, 9)),
        "time/fps": round(1410 * spread(rng, 0.02)),
        "train/approx_kl": 0.008 * spread(rng, 0.2) * (1 + 3 * lost),
        "train/clip_fraction": min(0.9, 0.09 * spread(rng, 0.15) * (1 + 2 * lost)),
        "train/clip_range": 0.2,
        "train/entropy_loss": -1.38 + 0.62 * learned + float(rng.normal(0, 0.01)),
        "train/explained_variance": 0.92 * approach(progress, 12)
        - 1.7 * approach(failing, 4)
        + float(rng.normal(0, 0.015)),
        "train/learning_rate": 3e-4,
        "train/loss": value * 0.5 * spread(rng, 0.2) * (1 + 300 * approach(failing, 6)),
        "train/n_updates": 10.0 * iteration,
        "train/policy_gradient_loss": -0.006 * spread(rng, 0.3),
        "train/value_loss": value * spread(rng, 0.15) * (1 + 300 * approach(failing, 6)),
    }
