"""How verl 0.9 logs a step of GRPO: the tags and values of its TensorBoard backend.

Names as in verl's ``metric_utils``, ``ray_trainer`` and ``rollout_corr_helper``. Batch of 16
prompts with 8 responses each on 8 GPUs. The course of the run is decided elsewhere.
"""

from __future__ import annotations

import math

import numpy as np

from rltui.demo.course import MAX_RESPONSE, State, approach, spread

_GPUS = 8
SAMPLES_PER_PROMPT = 8
RESPONSES = 16 * SAMPLES_PER_PROMPT
#: Steps between two validations, and steps of one pass over the prompts.
VALIDATE_EVERY = 10
_EPOCH_STEPS = 75
#: Weight of the KL to the reference in the loss.
KL_COEF = 0.001
#: Tokens of a batch at the start of a run: the step times below belong to it.
_USUAL_TOKENS = 67_600

Row = dict[str, float]
#: Environment steps of one rollout of SB3.
SB3_STRIDE = 2048
#: Steps between two rows of TRL, as ``logging_steps``, and rows between two evaluations.
TRL_STRIDE = 5
_EVALUATE_EVERY = 10


def step_row(state: State, rng: np.random.Generator) -> Row:
    """Everything verl logs for one training step, in verl's order."""
    lengths = _lengths(state, rng)
    tokens = lengths["prompt_length/mean"] + lengths["response_length/mean"]
    total = round(tokens * RESPONSES)
    row = validation_row(state, rng) if state.step % VALIDATE_EVERY == 0 else {}
    row |= _balance(state, total, rng)
    row |= _rollout(state, rng)
    row |= _actor(state, rng)
    row |= {
        "training/global_step": float(state.step),
        "training/epoch": float((state.step - 1) // _EPOCH_STEPS),
    }
    row |= _scores(state, rng)
    row |= lengths
    row |= _timing(state, total, lengths["response_length/mean"], rng)

    return row


def validation_row(state: State, rng: np.random.Generator) -> Row:
    """Row that verl logs for a validation, as also before the first step."""
    row: Row = {}
    for source, offset in (("openai/gsm8k", 0.03), ("math_dapo", -0.12)):
        mean = min(0.99, max(0.0, state.skill + offset + float(rng.normal(0, 0.008))))
        mean = 0.0 if state.broken else mean
        # several samples help only if they differ
        room = 0.55 * state.diversity * mean * (1 - mean)
        spread = math.sqrt(max(0.0, mean * (1 - mean))) * state.diversity
        row |= {
            f"val-aux/{source}/reward/mean@4": mean,
            f"val-core/{source}/acc/mean@4": mean,
            f"val-aux/{source}/acc/std@4": 0.6 * spread,
            f"val-core/{source}/acc/best@4/mean": mean + 1.3 * room,
            f"val-core/{source}/acc/best@4/std": 0.4 * spread,
            f"val-aux/{source}/acc/worst@4/mean": max(0.0, mean - 1.3 * room),
            f"val-core/{source}/acc/maj@4/mean": mean + 0.3 * room,
            f"val-core/{source}/acc/maj@4/std": 0.5 * spread,
        }
    return row


def _balance(state: State, total: int, rng: np.random.Generator) -> Row:
    """Tokens per rank, before and after verl balances them."""
    mean = total / _GPUS
    low = mean * (1 - rng.uniform(0.03, 0.10))
    high = mean * (1 + rng.uniform(0.03, 0.10))
    even = mean * rng.uniform(0.0002, 0.002)

    return {
        "global_seqlen/min": round(low),
        "global_seqlen/max": round(high),
        "global_seqlen/minmax_diff": round(high) - round(low),
        "global_seqlen/balanced_min": round(mean - even),
        "global_seqlen/balanced_max": round(mean * (1 + state.imbalance) + even),
        "global_seqlen/mean": mean,
    }


def _rollout(state: State, rng: np.random.Generator) -> Row:
    """Inference engine against trainer: only bf16 rounding."""
    nan = math.nan if state.broken else 1.0
    off = state.mismatch
    k3 = 8e-5 * off * float(rng.lognormal(0, 0.12)) * nan
    kl = float(rng.normal(0, 3e-5)) * nan
    log_ppl = 0.8 * state.entropy
    diff = 0.0022 * math.sqrt(off) * float(rng.lognormal(0, 0.08)) * nan

    return {
        "training/rollout_probs_diff_valid": 1.0,
        "training/rollout_probs_diff_max": min(0.9, 90 * diff * float(rng.lognormal(0, 0.2))),
        "training/rollout_probs_diff_mean": diff,
        "training/rollout_probs_diff_std": 2.4 * diff,
        "training/rollout_actor_probs_pearson_corr": (1 - 4e-4 * rng.lognormal(0, 0.1)) * nan,
        "rollout_corr/training_ppl": math.exp(log_ppl),
        "rollout_corr/training_log_ppl": log_ppl,
        "rollout_corr/kl": kl,
        "rollout_corr/k3_kl": k3,
        "rollout_corr/rollout_ppl": math.exp(log_ppl - kl),
        "rollout_corr/rollout_log_ppl": log_ppl - kl,
        "rollout_corr/log_ppl_diff": kl,
        "rollout_corr/log_ppl_abs_diff": (abs(kl) + 2e-4) * nan,
        "rollout_corr/ppl_ratio": math.exp(kl),
        "rollout_corr/chi2_token": 2 * k3,
        "rollout_corr/chi2_seq": 60 * k3,
    }


def _actor(state: State, rng: np.random.Generator) -> Row:
    # A group-normalised objective has no trend: its loss is noise around 0.
    pg_loss = float(rng.normal(0, 0.02)) * max(0.2, state.diversity) - 0.02 * state.kl_update
    pg_loss = math.nan if state.broken else pg_loss
    return {
        "actor/entropy": state.entropy,
        "perf/mfu/actor_infer": 0.0,
        "actor/pg_clipfrac": state.clip_fraction,
        "actor/ppo_kl": state.kl_update,
        "actor/pg_clipfrac_lower": 0.01 * state.clip_fraction,
        "actor/kl_loss": state.kl_reference,
        "actor/kl_coef": KL_COEF,
        "actor/pg_loss": pg_loss,
        "actor/grad_norm": state.grad_norm,
        "actor/loss": pg_loss + KL_COEF * state.kl_reference,
        "actor/lr": state.lr,
        "actor/perf/max_memory_allocated_gb": 52.4 + 0.01 * state.length + rng.normal(0, 0.05),
        "actor/perf/max_memory_reserved_gb": 71.25,
        "actor/perf/cpu_memory_used_gb": 118 + 0.02 * state.step + rng.normal(0, 0.2),
    }


def _scores(state: State, rng: np.random.Generator) -> Row:
    hits = int(rng.binomial(RESPONSES, state.reward))
    # The reward of the state is an expectation; a batch scatters around it, but less than
    # 128 independent answers would because easy prompts stay easy.
    mean = 0.8 * state.reward + 0.2 * hits / RESPONSES
    low = float(hits == RESPONSES)
    high = float(hits > 0)
    # The largest advantage of a group of 8 is that of one hit among seven misses: sqrt(7).
    top = math.sqrt(SAMPLES_PER_PROMPT - 1) * float(rng.uniform(0.93, 1.0))
    scale = 0.0 if state.broken or not hits else max(state.diversity, 0.15)
    shift = float(rng.normal(0, 0.015)) * scale
    row: Row = {}
    for name in ("score", "rewards"):
        row |= {f"critic/{name}/mean": mean, f"critic/{name}/max": high, f"critic/{name}/min": low}
    for name in ("advantages", "returns"):
        row |= {
            f"critic/{name}/mean": shift,
            f"critic/{name}/max": top * scale,
            f"critic/{name}/min": -top * 0.97 * scale,
        }

    return row


def _lengths(state: State, rng: np.random.Generator) -> Row:
    cut = int(rng.binomial(RESPONSES, min(1.0, state.truncated))) / RESPONSES
    longest = state.length * float(rng.uniform(1.45, 1.65))
    shortest = state.length * float(rng.uniform(0.22, 0.36)) * (1 - cut)
    prompt = 118 + float(rng.normal(0, 2.0))
    mean = min(float(MAX_RESPONSE), state.length)

    return {
        "response_length/mean": mean,
        "response_length/max": float(MAX_RESPONSE if cut else min(MAX_RESPONSE - 1, longest) // 1),
        "response_length/min": float(MAX_RESPONSE) if cut == 1 else max(1.0, shortest // 1),
        "response_length/clip_ratio": cut,
        "response/aborted_ratio": state.aborted,
        "prompt_length/mean": prompt,
        "prompt_length/max": float(rng.integers(190, 240)),
        "prompt_length/min": float(rng.integers(48, 64)),
        "prompt_length/clip_ratio": 0.0,
    }


def _timing(state: State, total: int, response: float, rng: np.random.Generator) -> Row:
    """Seconds per stage: proportional to the tokens, with the jitter of a shared machine."""
    size = total / _USUAL_TOKENS
    jitter = rng.lognormal(0, 0.03, 8)
    seconds = {
        "gen": 0.34 * (0.3 + 0.7 * size) * jitter[0] * state.slowness,
        "reward": 0.020 * jitter[1],
        "old_log_prob": 0.085 * size * jitter[2],
        "ref": 0.078 * size * jitter[3],
        "adv": 0.004 * jitter[4],
        "update_actor": 0.290 * size * jitter[5],
        "update_weights": 0.035 * jitter[6],
    }
    if state.step % VALIDATE_EVERY == 0:
        seconds["testing"] = 0.45 * jitter[7]
    step = sum(seconds.values()) * 1.01
    row = {f"timing_s/{stage}": float(s) for stage, s in seconds.items()}
    row["timing_s/step"] = float(step)
    for stage in ("adv", "update_actor", "ref"):
        row[f"timing_per_token_ms/{stage}"] = float(1000 * seconds[stage] / total)
    row["timing_per_token_ms/gen"] = float(1000 * seconds["gen"] / (response * RESPONSES))

    return row | {
        "perf/mfu/actor": 0.41 * size * 0.29 / float(seconds["update_actor"]),
        "perf/total_num_tokens": float(total),
        "perf/time_per_step": float(step),
        "perf/throughput": float(total / (step * _GPUS)),
    }


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
    learned = approach(progress, 50)
    known = approach(failing, 30)
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
