"""The stories of ``rltui demo``: what goes wrong, when, which rule finds it, and the rows that a
run of each logs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from rltui.demo import course, verl_tags
from rltui.demo.course import USUAL_STEPS, Course, Scenario

#: Trainers whose rows follow from the step alone: (row, progress, failing, noise) -> tags, and the
#: steps from row to row. See :mod:`rltui.demo.verl_tags`.
_TRAINERS: Mapping[
    str, tuple[Callable[[int, float, float, np.random.Generator], verl_tags.Row], int]
] = {
    "sb3": (verl_tags.ppo_row, verl_tags.SB3_STRIDE),
    "trl": (verl_tags.dpo_row, verl_tags.TRL_STRIDE),
}


# fmt: off
_SEEDS = (1, 2, 3, 4)
_ALL = (
    Scenario("healthy",
             summary="Reward rises, entropy falls gently, the policy stays near its reference."),
    Scenario("entropy-collapse", onset=40, failure=course.entropy_collapse, rule="entropy_collapse",
             summary="After a fifth of the run the policy grows too sure: a quick gain, then no "
                     "learning."),
    Scenario("kl-blowup", onset=60, failure=course.kl_blowup, rule="kl_blowup",
             summary="At 30 % of the run the learning rate goes up 100x: KL and gradients jump, "
                     "reward crashes."),
    Scenario("nan", onset=60, failure=course.nan, rule="nan",
             summary="At 30 % of the run gradients overflow; the weights are NaN, responses run "
                     "to the limit."),
    Scenario("reward-hacking", onset=40, failure=course.reward_hacking, rule="reward_hacking",
             history=240,
             summary="The training reward goes on rising while the held-out score falls."),
    Scenario("truncation", onset=40, failure=course.truncation, rule="truncation_high", history=200,
             summary="Responses grow until most are cut off; the reward follows."),
    Scenario("no-signal", onset=0, failure=course.no_signal, rule="reward_flat_no_learning",
             history=240,
             summary="The scorer finds no answer in any response: the reward is 0 from the first "
                     "step on."),
    Scenario("off-policy", onset=50, failure=course.off_policy, rule="ratio_off",
             summary="The engine that generates has other weights than the trainer."),
    Scenario("slow-step", onset=50, failure=course.slow_step, rule="timing_bottleneck",
             summary="Another job takes the machine that generates: a step takes three times as "
                     "long."),
    Scenario("imbalance", onset=50, failure=course.imbalance, rule="load_imbalance",
             summary="Balancing fails: one rank has more than twice the tokens of the mean."),
    Scenario("aborts", onset=50, failure=course.aborts, rule="abort_high",
             summary="The inference engine aborts a third of the responses."),
    Scenario("classic", trainer="sb3",
             summary="stable-baselines3 lands a spacecraft: the return climbs from -180 to 230."),
    Scenario("critic-failing", onset=50, rule="critic_failing", trainer="sb3",
             summary="PPO of stable-baselines3: the value loss explodes, the return follows."),
    Scenario("dpo", trainer="trl",
             summary="TRL learns from pairs: margin and held-out accuracy rise together."),
    Scenario("dpo-overfit", onset=50, rule="dpo_overfit", history=340, trainer="trl",
             summary="The margin on the training pairs goes on growing, the held-out loss rises."),
    Scenario("crash", onset=56, ending="crash",
             summary="A GRPO run that ran out of GPU memory; its console log says where."),
    Scenario("hang", onset=56, ending="hang",
             summary="A GRPO run that has written nothing for ten minutes and did not end."),
    Scenario("higher-lr", onset=1, failure=course.faster, lr=3e-6,
             summary="Learns sooner and ends higher than the healthy run."),
    Scenario("higher-lr-collapse", onset=40, failure=course.entropy_collapse,
             rule="entropy_collapse",
             lr=3e-6,
             summary="The policy grows too sure after a fifth of the run; its learning rate is "
                     "3e-6."),
    Scenario("seeds", history=320,
             summary="Four seeds each of two learning rates, live at once; one of them "
                     "collapses.",
             runs=(
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

    def make(self, row: int) -> verl_tags.Row:
        """The tags of a row and their values; none when nothing is logged."""
        if self._make is None:
            # row 0 of verl is the validation before the first step
            state = self._course.at(row)
            write = verl_tags.step_row if row else verl_tags.validation_row
            return write(state, self._rng)
        if row == 0:
            return {}

        since = 0 if self._onset is None else max(0, row - self._onset)
        return self._make(row, row * self._stretch, since * self._stretch, self._rng)

    def seconds(self, row: verl_tags.Row) -> float:
        """How long a row took."""
        return row.get("timing_s/step", 0.0) if self._make is None else float(bool(row))
