"""How other trainers than verl log a run, to TensorBoard: stable-baselines3 a PPO run with the
magnitudes of LunarLander-v2, TRL a DPO run with those of a 7B model and beta 0.1."""

from __future__ import annotations

import math

import numpy as np

from rltui.demo.course import approach, spread

#: Environment steps of one rollout of SB3.
SB3_STRIDE = 2048
#: Steps between two rows of TRL, as ``logging_steps``, and rows between two evaluations.
TRL_STRIDE, _EVALUATE_EVERY = 5, 10


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


def dpo_row(
    row: int, progress: float, failing: float, rng: np.random.Generator
) -> dict[str, float]:
    """The tags of one row; those of the evaluation every ten.

    ``progress``: rows since the start of a run of 200; ``failing``: 0, or rows since the pairs are
    learned by heart.
    """
    learned, known = approach(progress, 50), approach(failing, 30)
    margin = 1.6 * learned + 9.0 * known
    accuracy = 0.5 + 0.26 * learned + 0.235 * known
    chosen = 0.35 * learned - 2.5 * known
    out = {
        "train/loss": (0.693 * math.exp(-0.55 * margin) + 0.01) * spread(rng, 0.05),
        "train/grad_norm": (7.5 - 2 * learned) * (1 - 0.7 * known) * spread(rng, 0.12),
        "train/learning_rate": 5e-7 * max(0.02, 1 - progress / 220),
        "train/rewards/chosen": chosen + float(rng.normal(0, 0.05)),
        "train/rewards/rejected": chosen - margin + float(rng.normal(0, 0.05)),
        "train/rewards/margins": margin * spread(rng, 0.05),
        "train/rewards/accuracies": min(1.0, accuracy + float(rng.normal(0, 0.02))),
        "train/logps/chosen": -285 + 10 * chosen + float(rng.normal(0, 2)),
        "train/logps/rejected": -310 + 10 * (chosen - margin) + float(rng.normal(0, 2)),
        "train/logits/chosen": -1.9 + float(rng.normal(0, 0.02)),
        "train/logits/rejected": -1.8 + float(rng.normal(0, 0.02)),
        "train/epoch": progress / 100,
    }
    if row % _EVALUATE_EVERY == 0:
        held = 1.3 * learned - 0.4 * known
        out |= {
            "eval/loss": 0.693 * math.exp(-0.45 * held) + 0.45 * known + float(rng.normal(0, 4e-3)),
            "eval/rewards/margins": held,
            "eval/rewards/accuracies": 0.5 + 0.23 * learned - 0.1 * known,
            "eval/rewards/chosen": chosen,
            "eval/rewards/rejected": chosen - held,
        }
    return out
