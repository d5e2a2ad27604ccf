"""A DPO run as TRL logs it to TensorBoard; magnitudes of a 7B model and beta 0.1."""

from __future__ import annotations

import math

import numpy as np

from rltui.demo.state import approach, spread

#: Steps between two rows, as ``logging_steps``, and rows between two evaluations.
STRIDE = 5
_EVALUATE_EVERY = 10


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
