"""The stories of ``rltui demo``: what goes wrong, when, and which rule finds it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from rltui.demo import failures
from rltui.demo.state import State

#: Onsets are steps of a run of this many; other runs are stretched.
USUAL_STEPS = 200.0


@dataclass(frozen=True, slots=True)
class Scenario:
    """The course of a demo run."""

    id: str
    title: str
    summary: str
    """One line."""
    onset: int | None = None
    """Step of 200 at which it goes wrong or ends; None for a run that stays healthy."""
    sicken: Callable[[State, float, np.random.Generator], State] | None = None
    """(healthy state, steps since onset from 0, noise) -> failing state; of GRPO runs."""
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
    runs: tuple[tuple[str, str, int], ...] = ()
    """(name, scenario, seed) of each when it stands for several runs at once."""

    def onset_of(self, total_steps: int) -> int | None:
        """Onset in a run of ``total_steps``."""
        return None if self.onset is None else round(self.onset * total_steps / USUAL_STEPS)


_SEEDS = (1, 2, 3, 4)

_ALL = (
    Scenario(
        "healthy",
        "Healthy GRPO run",
        "Reward rises, entropy falls gently, the policy stays near its reference.",
    ),
    Scenario(
        "entropy-collapse",
        "Entropy collapse",
        "After a fifth of the run the policy grows too sure: a quick gain, then no learning.",
        40,
        failures.entropy_collapse,
        "entropy_collapse",
    ),
    Scenario(
        "kl-blowup",
        "KL blow-up after a learning-rate step",
        "At 30 % of the run the learning rate goes up 100x: KL and gradients jump, reward crashes.",
        60,
        failures.kl_blowup,
        "kl_blowup",
    ),
    Scenario(
        "nan",
        "NaN after a gradient spike",
        "At 30 % of the run gradients overflow; the weights are NaN, responses run to the limit.",
        60,
        failures.nan,
        "nan",
    ),
    Scenario(
        "reward-hacking",
        "Reward hacking",
        "The training reward goes on rising while the held-out score falls.",
        40,
        failures.reward_hacking,
        "reward_hacking",
        history=240,
    ),
    Scenario(
        "truncation",
        "Responses run into the limit",
        "Responses grow until most are cut off; the reward follows.",
        40,
        failures.truncation,
        "truncation_high",
        history=200,
    ),
    Scenario(
        "no-signal",
        "Nothing to learn from",
        "The scorer finds no answer in any response: the reward is 0 from the first step on.",
        0,
        failures.no_signal,
        "reward_flat_no_learning",
        history=240,
    ),
    Scenario(
        "off-policy",
        "Inference engine and trainer part",
        "The engine that generates has other weights than the trainer.",
        50,
        failures.off_policy,
        "ratio_off",
    ),
    Scenario(
        "slow-step",
        "A noisy neighbour",
        "Another job takes the machine that generates: a step takes three times as long.",
        50,
        failures.slow_step,
        "timing_bottleneck",
    ),
    Scenario(
        "imbalance",
        "One rank does most of the work",
        "Balancing fails: one rank has more than twice the tokens of the mean.",
        50,
        failures.imbalance,
        "load_imbalance",
    ),
    Scenario(
        "aborts",
        "Requests are given up",
        "The inference engine aborts a third of the responses.",
        50,
        failures.aborts,
        "abort_high",
    ),
    Scenario(
        "classic",
        "Healthy PPO run in a game",
        "stable-baselines3 lands a spacecraft: the return climbs from -180 to 230.",
        trainer="sb3",
    ),
    Scenario(
        "critic-failing",
        "The critic fails",
        "PPO of stable-baselines3: the value loss explodes, the return follows.",
        50,
        rule="critic_failing",
        trainer="sb3",
    ),
    Scenario(
        "dpo",
        "Healthy DPO run",
        "TRL learns from pairs: margin and held-out accuracy rise together.",
        trainer="trl",
    ),
    Scenario(
        "dpo-overfit",
        "DPO learns the pairs by heart",
        "The margin on the training pairs goes on growing, the held-out loss rises.",
        50,
        rule="dpo_overfit",
        history=340,
        trainer="trl",
    ),
    Scenario(
        "crash",
        "A crash with a traceback",
        "A GRPO run that ran out of GPU memory; its console log says where.",
        56,
        ending="crash",
    ),
    Scenario(
        "hang",
        "A run that hangs",
        "A GRPO run that has written nothing for ten minutes and did not end.",
        56,
        ending="hang",
    ),
    Scenario(
        "higher-lr",
        "Healthy GRPO run with a higher learning rate",
        "Learns sooner and ends higher than the healthy run.",
        1,
        failures.faster,
        lr=3e-6,
    ),
    Scenario(
        "higher-lr-collapse",
        "Entropy collapse with a higher learning rate",
        "The policy grows too sure after a fifth of the run; its learning rate is 3e-6.",
        40,
        failures.entropy_collapse,
        "entropy_collapse",
        lr=3e-6,
    ),
    Scenario(
        "seeds",
        "Eight seeds of two settings",
        "Four seeds each of two learning rates, live at once; one of them collapses.",
        history=320,
        runs=(
            *((f"lr-1e-6_seed-{n}", "healthy", n) for n in _SEEDS),
            *(
                (f"lr-3e-6_seed-{n}", "higher-lr-collapse" if n == 3 else "higher-lr", n)
                for n in _SEEDS
            ),
        ),
    ),
)

#: The scenarios by id, healthy first.
SCENARIOS: Mapping[str, Scenario] = MappingProxyType({s.id: s for s in _ALL})
