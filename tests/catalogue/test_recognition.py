"""Framework and algorithm from the names of tags."""

from __future__ import annotations

import pytest

from rltui.catalogue import Catalogue

VERL = [
    "actor/pg_loss", "actor/ppo_kl", "actor/grad_norm", "actor/entropy_loss", "critic/score/mean",
    "critic/rewards/mean", "critic/advantages/mean", "response_length/mean", "timing_s/gen",
    "timing_s/step", "timing_per_token_ms/gen",
]  # fmt: skip
TRL = ["train/loss", "train/grad_norm", "train/learning_rate", "train/epoch"]
GRPO = [*TRL, "train/reward", "train/reward_std", "train/kl", "train/completions/mean_length"]


@pytest.mark.parametrize(
    ("tags", "framework", "algorithm", "scenario"),
    [
        ([*VERL, "perf/throughput", "actor/pg_clipfrac_lower"], "verl", "GRPO", "llm-rl"),
        ([*VERL, "perf/throughput", "critic/kl_coeff"], "verl", "GRPO", "llm-rl"),
        ([*VERL, "perf/throughput", "critic/vf_loss"], "verl", "PPO", "llm-rl"),
        ([*VERL, "critic/kl_coeff", "critic/vf_loss", "mfu/actor"], "tinyzero", "PPO", "llm-rl"),
        ([*VERL, "sgrpo/overall_accuracy"], "tinyzero", "GRPO", "llm-rl"),
        (["val-core/a/acc/mean@1", "val-aux/a/reward/mean@1"], "verl", None, "generic"),
        (["train/loss", "train/lr(1e-3)"], "verl", "SFT", "sft"),
        (GRPO, "trl", "GRPO", "llm-rl"),
        ([t.removeprefix("train/") for t in GRPO], "trl", "GRPO", "llm-rl"),
        ([*TRL, "train/rewards/chosen", "train/rewards/accuracies"], "trl", "DPO", "preference"),
        ([*TRL, "train/rewards/chosen", "train/rewards/rejected", "train/kl"],
         "trl", "KTO", "preference"),
        ([*TRL, "train/rewards/accuracies", "train/log_odds_ratio"], "trl", "ORPO", "preference"),
        ([*TRL, "train/accuracy", "train/margin", "train/mean_reward"],
         "trl", "RM", "reward-model"),
        ([*TRL, "train/mean_token_accuracy"], "trl", "SFT", "sft"),
        (["train/objective/rlhf_reward", "train/val/ratio", "train/objective/kl"],
         "trl", "PPO", "llm-rl"),
        (["training_iteration", "iterations_since_restore", "time_this_iter_s", "mean_accuracy"],
         "ray-tune", None, "generic"),
        (["ray/tune/training_iteration", "ray/tune/time_this_iter_s", "ray/tune/loss"],
         "ray-tune", None, "generic"),
        (["ray/tune/training_iteration", "ray/tune/time_this_iter_s", "ray/tune/env_runners/x"],
         "rllib", None, "classic-rl"),
        (["ppo/loss/total", "env/reward_mean", "objective/kl"], "trl-ppo-classic", "PPO", "llm-rl"),
        (TRL, "transformers", "SFT", "sft"),
        ([*TRL, "memory(GiB)"], "ms-swift", "SFT", "sft"),
        (["current_steps", "percentage", "loss", "lr"], "llama-factory", "SFT", "sft"),
        (["train/policy_loss", "train/actor_lr", "train/ppo_clip_ratio", "train/kl"],
         "openrlhf", "GRPO", "llm-rl"),
        (["train/policy_loss", "train/ppo_clip_ratio", "train/critic_loss"],
         "openrlhf", "PPO", "llm-rl"),
        (["train/loss", "train/chosen_reward", "train/reject_reward", "train/acc"],
         "openrlhf", "DPO", "preference"),
        (["rollout/ep_rew_mean", "time/fps", "train/learning_rate", "train/clip_fraction"],
         "sb3", "PPO", "classic-rl"),
        (["rollout/ep_rew_mean", "train/ent_coef", "train/actor_loss", "train/critic_loss"],
         "sb3", "SAC", "classic-rl"),
        (["rollout/ep_rew_mean", "train/actor_loss", "train/critic_loss"],
         "sb3", "TD3", "classic-rl"),
        (["rollout/ep_rew_mean", "rollout/exploration_rate"], "sb3", "DQN", "classic-rl"),
        (["rollout/ep_rew_mean", "train/policy_loss"], "sb3", "A2C", "classic-rl"),
        (["charts/SPS", "losses/td_loss"], "cleanrl", "DQN", "classic-rl"),
        (["charts/SPS", "losses/clipfrac"], "cleanrl", "PPO", "classic-rl"),
        (["ray/tune/episode_reward_mean"], "rllib", None, "classic-rl"),
        (["avg_return", "win_rate_ema"], "generic", None, "classic-rl"),
        (["rm/loss", "rm/accuracy"], "generic", "RM", "reward-model"),
        (["train/reward", "train/kl"], "generic", None, "generic"),
        (["episode", "timestep", "reward"], "generic", None, "classic-rl"),
        (["reward", "loss", "avg_response_len"], "generic", None, "llm-rl"),
        (["loss", "lr", "grad_norm"], "generic", None, "generic"),
        (["loss", "dpo_loss"], "generic", "DPO", "preference"),
        ([], "generic", None, "generic"),
    ],
)  # fmt: skip
def test_names(
    tags: list[str], framework: str, algorithm: str | None, scenario: str, catalogue: Catalogue
) -> None:
    found = catalogue.recognise(tags)
    assert (found.framework, found.algorithm, found.scenario.id) == (
        framework,
        algorithm,
        scenario,
    )
    assert found.reasons


def test_the_user_wins(catalogue: Catalogue) -> None:
    found = catalogue.recognise(VERL, framework="sb3", algorithm="sac")
    assert (found.framework, found.title, found.algorithm) == ("sb3", "SB3", "SAC")
    assert found.scenario.id == "classic-rl"


def test_an_algorithm_by_option_selects_the_scenario(catalogue: Catalogue) -> None:
    assert catalogue.recognise(["x"], algorithm="dpo").scenario.id == "preference"
