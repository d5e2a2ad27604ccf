"""What a verl run leaves beside its event file: Hydra's configuration, the samples of validations,
the console log of a crash.

verl writes ``<validation_data_dir>/<step>.jsonl`` with input, output, gts, score and step of each
sample; Hydra writes ``.hydra/config.yaml``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from rltui.demo.course import MAX_RESPONSE
from rltui.demo.verl_tags import KL_COEF, RESPONSES, SAMPLES_PER_PROMPT, VALIDATE_EVERY

#: Samples that are kept of a validation.
_KEPT = 12
_STORIES = (
    ("{name} has {a} crates with {b} bottles each and sells {c} bottles. How many are left?", 1),
    ("A train has {a} cars with {b} seats each; {c} seats are taken. How many are free?", 1),
    ("{name} reads {a} pages on each of {b} days and then {c} more. How many pages is that?", -1),
)
_TRACEBACK = """\
Error executing job with overrides: ['trainer.n_gpus_per_node=8']
Traceback (most recent call last):
  File "/opt/verl/trainer/main_ppo.py", line 64, in main
    run_ppo(config)
  File "/opt/verl/trainer/ppo/ray_trainer.py", line 1121, in fit
    actor_output = self.actor_rollout_wg.update_actor(batch)
  File "/opt/verl/workers/actor/dp_actor.py", line 402, in update_policy
    loss.backward()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.28 GiB. GPU 3 has a total \
capacity of 79.10 GiB of which 2.41 GiB is free.
"""
_NAMES = ("Mina", "Jonas", "Priya", "Tomás", "Aiko", "Sam")


def write_settings(directory: Path, *, lr: float, seed: int, total_steps: int) -> None:
    """Write the configuration of a run with learning rate ``lr``."""
    folder = directory / ".hydra"
    folder.mkdir(parents=True, exist_ok=True)
    text = f"""\
# written by rltui demo
actor_rollout_ref:
  actor:
    entropy_coeff: 0.0
    kl_loss_coef: {KL_COEF}
    optim:
      lr: {lr:.1e}
      lr_warmup_steps: 5
    ppo_mini_batch_size: 16
    use_kl_loss: true
  model:
    path: Qwen/Qwen2.5-7B-Instruct
  rollout:
    n: {SAMPLES_PER_PROMPT}
    temperature: 1.0
algorithm:
  adv_estimator: grpo
data:
  max_prompt_length: 256
  max_response_length: {MAX_RESPONSE}
  seed: {seed}
  train_batch_size: {RESPONSES // SAMPLES_PER_PROMPT}
trainer:
  n_gpus_per_node: 8
  test_freq: {VALIDATE_EVERY}
  total_training_steps: {total_steps}
  validation_data_dir: val_generations
"""
    (folder / "config.yaml").write_text(text, encoding="utf-8")


def write_samples(directory: Path, step: int, row: Mapping[str, float], seed: int) -> None:
    """Write the samples of the validation at ``step``, whose tags are in ``row``."""
    rng = np.random.default_rng([seed, step, 4])
    folder = directory / "val_generations"
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(_sample(step, row, rng), ensure_ascii=False) for _ in range(_KEPT)]
    (folder / f"{step}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _sample(step: int, row: Mapping[str, float], rng: np.random.Generator) -> dict[str, object]:
    story, sign = _STORIES[int(rng.integers(len(_STORIES)))]
    a, b, c = (int(n) for n in rng.integers((3, 4, 2), (13, 25, 12)))
    question = story.format(name=_NAMES[int(rng.integers(len(_NAMES)))], a=a, b=b, c=c)
    truth = a * b - sign * c
    right = float(rng.random()) < row["val-core/openai/gsm8k/acc/mean@4"]
    # a learner's mistakes: the last step left out, or done the wrong way round
    said = truth if right else (a * b if rng.random() < 0.5 else a * b + sign * c)
    if np.isnan(row.get("actor/grad_norm", 0.0)):
        output, right = "!" * 400, False
    elif float(rng.random()) < row.get("response_length/clip_ratio", 0.0):
        output, right = f"Let me check again: {a} × {b} = {a * b}. " * 40, False
    else:
        output = _worked(a, b, c, sign, said)

    return {
        "input": f"user\n{question}\nassistant\n",
        "output": output,
        "gts": str(truth),
        "score": float(right),
        "step": step,
    }


def _worked(a: int, b: int, c: int, sign: int, said: int) -> str:
    last = f"{a * b} {'-' if sign > 0 else '+'} {c}"
    return f"First, {a} × {b} = {a * b}.\nThen {last} = {said}.\n#### {said}"


def write_crash(directory: Path, rows: Iterable[tuple[int, Mapping[str, float]]]) -> None:
    """The console log of a run that dies after the last of ``rows``: (step, tag -> value)."""
    lines = [
        f"step:{step} - {' - '.join(f'{tag}:{value}' for tag, value in row.items())}\n"
        for step, row in rows
    ]
    (directory / "train.log").write_text("".join(lines) + _TRACEBACK, encoding="utf-8")
