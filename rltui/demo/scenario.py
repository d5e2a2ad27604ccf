"""The stories of ``rltui demo``: what goes wrong, when, which rule finds it, and the rows that a
run of each logs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from rltui.demo.course import (
    USUAL_STEPS,
    Course,
    Scenario,
    aborts,
    entropy_collapse,
    faster,
    imbalance,
    kl_blowup,
    nan,
    no_signal,
    off_policy,
    reward_hacking,
    slow_step,
    truncation,
)
from rltui.demo.verl_tags import (
    SB3_STRIDE,
    TRL_STRIDE,
    Row,
    dpo_row,
    ppo_row,
    step_row,
    validation_row,
)

#: Trainers whose rows follow from the step alone: (row, progress, failing, noise) -> tags, and the
#: steps from row to row. See :mod:`rltui.demo.verl_tags`.
_TRAINERS: Mapping[str, tuple[Callable[[int, float, float, np.random.Generator], Row], int]] = {
    "sb3": (ppo_row, SB3_STRIDE),
    "trl": (dpo_row, TRL_STRIDE),
}


# fmt: off
_SEEDS = (1, 2, 3, 4)
_ALL = (
    Scenario("healthy", "Healthy GRPO run",
             "Reward rises, entropy falls gently, the policy stays near its reference."),
    Scenario("entropy-collapse", "Entropy collapse",
             "After a fifth of the run the policy grows too sure: a quick gain, then no learning.",
             40, entropy_collapse, "entropy_collapse"),
    Scenario("kl-blowup", "KL blow-up after a learning-rate step",
             "At 30 % of the run the learning rate goes up 100x: KL and gradients jump, reward "
             "crashes.",
             60, kl_blowup, "kl_blowup"),
    Scenario("nan", "NaN after a gradient spike",
             "At 30 % of the run gradients overflow; the weights are NaN, responses run to the "
             "limit.",
             60, nan, "nan"),
    Scenario("reward-hacking", "Reward hacking",
             "The training reward goes on rising while the held-out score falls.",
             40, reward_hacking, "reward_hacking", history=240),
    Scenario("truncation", "Responses run into the limit",
             "Responses grow until most are cut off; the reward follows.",
             40, truncation, "truncation_high", history=200),
    Scenario("no-signal", "Nothing to learn from",
             "The scorer finds no answer in any response: the reward is 0 from the first step on.",
             0, no_signal, "reward_flat_no_learning", history=240),
    Scenario("off-policy", "Inference engine and trainer part",
             "The engine that generates has other weights than the trainer.",
             50, off_policy, "ratio_off"),
    Scenario("slow-step", "A noisy neighbour",
             "Another job takes the machine that generates: a step takes three times as long.",
             50, slow_step, "timing_bottleneck"),
    Scenario("imbalance", "One rank does most of the work",
             "Balancing fails: one rank has more than twice the tokens of the mean.",
             50, imbalance, "load_imbalance"),
    Scenario("aborts", "Requests are given up",
             "The inference engine aborts a third of the responses.",
             50, aborts, "abort_high"),
    Scenario("classic", "Healthy PPO run in a game",
             "stable-baselines3 lands a spacecraft: the return climbs from -180 to 230.",
             trainer="sb3"),
    Scenario("critic-failing", "The critic fails",
             "PPO of stable-baselines3: the value loss explodes, the return follows.",
             50, rule="critic_failing", trainer="sb3"),
    Scenario("dpo", "Healthy DPO run",
             "TRL learns from pairs: margin and held-out accuracy rise together.", trainer="trl"),
    Scenario("dpo-overfit", "DPO learns the pairs by heart",
             "The margin on the training pairs goes on growing, the held-out loss rises.",
             50, rule="dpo_overfit", history=340, trainer="trl"),
    Scenario("crash", "A crash with a traceback",
             "A GRPO run that ran out of GPU memory; its console log says where.",
             56, ending="crash"),
    Scenario("hang", "A run that hangs",
             "A GRPO run that has written nothing for ten minutes and did not end.",
             56, ending="hang"),
    Scenario("higher-lr", "Healthy GRPO run with a higher learning rate",
             "Learns sooner and ends higher than the healthy run.", 1, faster, lr=3e-6),
    Scenario("higher-lr-collapse", "Entropy collapse with a higher learning rate",
             "The policy grows too sure after a fifth of the run; its learning rate is 3e-6.",
             40, entropy_collapse, "entropy_collapse", lr=3e-6),
    Scenario("seeds", "Eight seeds of two settings",
             "Four seeds each of two learning rates, live at once; one of them collapses.",
             history=320, runs=(
                 *((f"lr-1e-6_seed-{n}", "healthy", n) for n in _SEEDS),
                 *((f"lr-3e-6_seed-{n}", "higher-lr-collapse" if n == 3 else "higher-lr", n)
                   for n in _SEEDS),
             )),
)


#: The scenarios by id, healthy first.
SCENARIOS: Mapping[str, Scenario] = MappingProxyType({s.id: s for s in _ALL})


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

    def make(self, row: int) -> Row:
        """The tags of a row and their values; none when nothing is logged."""
        if self._make is None:
            # row 0 of verl is the validation before the first step
            state = self._course.at(row)
            return step_row(state, self._rng) if row else validation_row(state, self._rng)
        if row == 0:
            return {}

        since = 0 if self._onset is None else max(0, row - self._onset)
        return self._make(row, row * self._stretch, since * self._stretch, self._rng)

    def seconds(self, row: Row) -> float:
        """How long a row took."""
        return row.get("timing_s/step", 0.0) if self._make is None else float(bool(row))
