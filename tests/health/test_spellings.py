"""Loops of one's own: a failure is found under the names that people give a figure, and a healthy
run is quiet under the same name.

The spellings are those of public training scripts (PPO, REINFORCE and DQN loops, GRPO from scratch,
nanoGPT descendants, Isaac and Gym examples); none is picked for a log.
"""

import math
import random
from collections.abc import Callable

import pytest

from rltui.core.level import Level
from tests.builders import a_batch
from tests.fakes import a_session

SPELLINGS = {
    "reward": """
        reward rewards mean_reward avg_reward reward_mean train/reward reward/mean rollout/reward
        ep_rew_mean episode_reward mean_episode_reward avg_return ep_return episodic_return
        return_mean returns/mean train/avg_return score mean_score avg_score total_reward
        cumulative_reward running_reward rollout/reward_mean Reward/avg train/episode_return EpRet
        batch_reward mean_rewards reward_avg rm_score train/mean_score group_reward_mean""",
    "evaluation": """
        eval/score eval_score val_score val/score heldout/score held_out/accuracy gsm8k_acc
        eval/gsm8k test/accuracy test_acc val_acc valid_accuracy validation_score eval/mean_reward
        eval_reward eval/return eval_return test/return test_reward test_score eval/pass@1
        eval/pass_at_1 math500_accuracy aime24 eval/aime24_acc dev/exact_match dev_em eval/f1
        eval/bleu val/win_rate eval/success_rate test_success greedy_eval_return eval_avg_reward
        Eval/AverageReturn eval/exact_match holdout_accuracy evaluation/reward benchmark/gsm8k
        eval_correct eval/avg_score humaneval_pass1 mmlu val/reward_mean evaluation_return
        eval_episode_reward eval/solve_rate dev_score test/episode_reward eval/math_pass_rate""",
    "success": """
        success_rate success win_rate train/success_rate solved_rate success_ratio goal_reached
        task_success completion_rate solve_rate accuracy acc correct pass_rate train/win_rate
        is_success success_frac wins pct_solved frac_correct correct_rate episode_success
        rollout/success_rate goal_success_rate percent_success mean_success exact_match
        correct_frac solved env/success pass@1""",
    "entropy": """
        entropy policy_entropy ent train/entropy mean_entropy entropy_mean avg_entropy token_entropy
        dist_entropy action_entropy actor/entropy pi_entropy policy/entropy entropy/mean Entropy
        batch_entropy policy_entropy_mean train/policy_entropy losses/entropy""",
    "kl": """
        kl approx_kl approxkl mean_kl kl_div kl_divergence policy_kl train/kl kl_mean kl_to_ref
        ref_kl kl_ref loss/approx_kl policy/approx_kl kl_old_new avg_kl kl/mean update_kl
        kl_to_reference""",
    "gradient": """
        grad_norm gradnorm grad/norm gradient_norm total_grad_norm global_grad_norm train/grad_norm
        gnorm global_norm grad_l2 grad_l2_norm grads/norm norm/grad optim/grad_norm actor_grad_norm
        policy_grad_norm total_norm gradients/global_norm grad_norm_pre_clip grad_norm_before_clip
        mean_grad_norm""",
    "value": """
        value_loss v_loss vf_loss critic_loss loss/value losses/value_loss loss/critic
        value_function_loss train/value_loss baseline_loss loss_value critic/loss vloss loss_v
        Loss/value value/loss loss_vf loss_critic value_mse v_loss_mean critic_mse""",
    "length": """
        response_length completion_length answer_length output_length gen_len generation_length
        mean_length avg_len response_len tokens_per_response completion_tokens response_tokens
        mean_response_length completions/mean_length avg_completion_len answer_len response/length
        mean_completion_tokens rollout/response_length avg_answer_tokens reply_length
        solution_length cot_length reasoning_tokens""",
    "time": """
        step_time time_per_step sec_per_step iter_time seconds_per_step step_seconds s_per_it
        iteration_time time_per_iter secs/step step_duration step_time_s perf/step_time
        wall_per_step sec/iter s/it sec_per_iter timing/step ms_per_step duration_per_step
        train/step_time it_time batch_time time_per_update step_ms update_seconds""",
}
ROWS, TURN = 96, 48


def reward(x: float, ill: float) -> float:
    return 0.2 + 0.5 * min(1.0, 2.2 * x) - 0.65 * ill


def entropy(x: float, ill: float) -> float:
    return (1.6 - 0.5 * x) * (1.0 - ill) + 0.01


def of_level(level: float, factor: float) -> Callable[[float, float], float]:
    return lambda x, ill: level * (1.0 + factor * ill)


COURSES: dict[str, Callable[[float, float], float]] = {
    "reward": reward,
    "evaluation": reward,
    "success": lambda x, ill: (0.3 + 0.5 * min(1.0, 2.2 * x)) * (1.0 - 0.97 * ill),
    "entropy": entropy,
    "kl": of_level(0.006, 700),
    "gradient": of_level(0.8, 900),
    "value": lambda x, ill: 2.0 * math.exp(-1.5 * x) * (1.0 + 5000 * ill),
    "length": of_level(320, -0.97),
    "time": of_level(12, 5),
}
#: What is logged beside it: a healthy reward, but where that would be the same outcome.
ALONE = {"reward", "evaluation", "success"}


def level(concept: str, name: str, *, sick: bool) -> Level:
    """What a run is judged that logs a figure under a name."""
    noise = random.Random(f"{name} {sick}")
    values: list[float | None] = []
    for n in range(ROWS):
        ill = min(1.0, max(0.0, (n - TURN) / 16)) if sick else 0.0
        value = COURSES[concept](n / ROWS, ill) * (1.0 + 0.03 * noise.gauss(0, 1))
        scale = 100 if name in ("pct_solved", "percent_success") else 1
        scale = 1000 if "ms" in name.split("_") else scale
        skipped = concept == "evaluation" and n % 4
        values.append(None if skipped else scale * value)
    tags = {"loss": [1.0 / (1 + 0.01 * n) + 0.01 * noise.gauss(0, 1) for n in range(ROWS)]}
    if concept not in ALONE:
        tags["reward"] = [reward(n / ROWS, 0) + 0.02 * noise.gauss(0, 1) for n in range(ROWS)]
    found = a_session(a_batch({**tags, name: values})).runs()[0].report
    assert found is not None
    about = [f for f in found.findings if f.is_about(name)]
    return max((f.level for f in (about if sick else found.findings)), default=Level.OK)


@pytest.mark.parametrize("concept", SPELLINGS)
def test_a_failure_is_found_and_a_healthy_run_is_quiet(concept: str) -> None:
    names = SPELLINGS[concept].split()
    missed = [name for name in names if level(concept, name, sick=True) < Level.WATCH]
    noisy = [name for name in names if level(concept, name, sick=False) > Level.OK]
    assert (missed, noisy) == ([], [])
