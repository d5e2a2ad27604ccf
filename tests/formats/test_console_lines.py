"""What lines of consoles mean: a form with a number that grows, its step, its names and values."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rltui.formats.console import Console
from tests.formats.consoles import values

#: A form, the step of its row, and the names and values.
LINES = (
    (
        "Epoch:[1/1]({n}/4292), loss: 0.5, Adv Std: {n}.5, epoch_time: 9.000min\n",
        "{n}: loss=0.5; Adv Std={n}.5; epoch_time=9",
    ),
    ("step {n}/438 loss=0.5 lr=1e-4\n", "{n}: loss=0.5; lr=1e-4"),
    ("Step {n} done in 3s: loss=0.5\n", "{n}: loss=0.5"),
    ("iter {n}: loss 0.5, time 120.3ms, mfu 3.4%\n", "{n}: loss=0.5; time=120.3; mfu=3.4"),
    ("step {n} reward 0.5 kl -0.2\n", "{n}: reward=0.5; kl=-0.2"),
    (
        "06/01/2025 10:00:00 - INFO - __main__ -   Step: {n}, LR: 1e-05, Loss: 0.5\n",
        "{n}: LR=1e-05; Loss=0.5",
    ),
    (
        "[TRAINING] Step: {n} / 8000000  |  Reward: 10.12  |  Loss: 0.200\n",
        "{n}: Reward=10.12; Loss=0.2",
    ),
    ("Iteration {n}: policy_loss = 0.5; kl = 0.01\n", "{n}: policy_loss=0.5; kl=0.01"),
    ("Episode {n}\tReward: 12.5\tEpsilon: 0.5\n", "{n}: Reward=12.5; Epsilon=0.5"),
    ("Epoch {n}/10 - train loss: 0.5 - val loss: 0.6\n", "{n}: train loss=0.5; val loss=0.6"),
    ("step: {n} | loss: 0.5 | dt: 12.00ms | tok/sec 900.00\n", "{n}: loss=0.5; dt=12; tok/sec=900"),
    ("step {n} loss: 0.5 memory: 12.3kB rate: 5k/s\n", "{n}: loss=0.5; memory=12.3; rate=5"),
    (
        "[step {n}] loss=0.1 rewards(c/r)=-0.03/0.02\n",
        "{n}: loss=0.1; rewards(c)=-0.03; rewards(r)=0.02",
    ),
    ("Update {n}, mean/median reward {n}.0/2.5\n", "{n}: mean reward={n}; median reward=2.5"),
    ("[train] iter={n} algo=grpo mean_reward=0.{n} loss=1\n", "{n}: mean_reward=0.{n}; loss=1"),
    ("Ep {n} | Reward: {n}.5 | Eps: 1.0\n", "{n}: Reward={n}.5; Eps=1"),
    ("Ep {n} | Score {n}.5 | Avg of 10 2.0 | Eps: 0.5\n", "{n}: Score={n}.5; Avg of 10=2; Eps=0.5"),
    (
        "Episode {n}00 | Avg Reward (last 100 eps): {n}.5 | Epsilon: 0.{n} ✅\n",
        "{n}00: Avg Reward (last 100 eps)={n}.5; Epsilon=0.{n}",
    ),
    (
        " iteration  {n}/ 90 | elapsed time per iteration (ms): 9.5 | lm loss: {n}.5E+00 |\n",
        "{n}: elapsed time per iteration (ms)=9.5; lm loss={n}.5",
    ),
    ("step {n} [9 episodes] reward: 2.5\n", "{n}: reward=2.5"),
    ("Step {n},300: reward=1,{n}00.50 loss=0.5\n", "{n}300: reward=1{n}00.5; loss=0.5"),
    ("loss=0.5 | reward=1.2 | step={n}\n", "{n}: loss=0.5; reward=1.2"),
    ("[train] avg_reward: 1.2, timesteps: {n}, loss: 0.5\n", "{n}: avg_reward=1.2; loss=0.5"),
    (
        "Episode : 3 \t\t Timestep : {n} \t\t Average Reward : 1.2\n",
        "{n}: Episode=3; Average Reward=1.2",
    ),
    (
        "Total T: {n} Episode Num: 3 Episode T: 87 Reward: 1.200\n",
        "{n}: Episode Num=3; Episode T=87; Reward=1.2",
    ),
    ("Episode: {n}, Steps: 200, Reward: 1.2\n", "{n}: Steps=200; Reward=1.2"),
    (
        "Epoch: {n}, global_step={n}600\nEvaluated 400 steps in 0 episodes\n"
        "SPS: 1211, pg_loss=-0.0057, v_loss=0.0058\n",
        "{n}600: Epoch={n}; SPS=1211; pg_loss=-0.0057; v_loss=0.0058",
    ),
    (
        "[INFO 10:00:00] my_main Recent Stats | t_env:     {n}0000 | Episode: {n}00\n"
        "battle_won_mean:           0.{n}00\tep_length_mean:           31.5\n",
        "{n}0000: Episode={n}00; battle_won_mean=0.{n}; ep_length_mean=31.5",
    ),
    (
        "2025-08-28 21:17:26,780 - trainer.main - INFO - Epoch {n} complete:\n"
        "2025-08-28 21:17:26,780 - trainer.main - INFO -   - Avg Reward: {n}.5\n"
        "2025-08-28 21:17:26,780 - trainer.main - INFO -   Avg KL: 0.01\n",
        "{n}: Avg Reward={n}.5; Avg KL=0.01",
    ),
    (
        "Num timesteps: {n}0000\nBest mean reward: -7.00 - Last mean reward per episode: -{n}.5\n",
        "{n}0000: Best mean reward=-7; Last mean reward per episode=-{n}.5",
    ),
    (
        "====================\nStep {n}\n====================\nloss: {n}.5\nreward = 1\n\n",
        "{n}: loss={n}.5; reward=1",
    ),
    (
        "==========\nmean reward: {n}.5\nloss: 0.5\ntimesteps: {n}2048\nkl: 0.01\n==========\n\n",
        "{n}2048: mean reward={n}.5; loss=0.5; kl=0.01",
    ),
    (
        "+------+-----+\n| key | value |\n| step | {n} |\n| loss | 0.5 |\n| kl | {n}.5 |\n"
        "+------+-----+\n",
        "{n}: loss=0.5; kl={n}.5",
    ),
    (
        "┏━━━┳━━━┓\n┃ key ┃ value ┃\n┃ step ┃ {n} ┃\n┃ loss ┃ 0.5 ┃\n┃ kl ┃ {n}.5 ┃\n┗━━━┻━━━┛\n",
        "{n}: loss=0.5; kl={n}.5",
    ),
    (
        "2024-01-01 10:00:00 | [trpo] Saved\n-----------------------------  ----------\n"
        "Evaluation/AverageReturn       -{n}.5\nTotalEnvSteps                  {n}000\n"
        "-----------------------------  ----------\n",
        "{n}000: Evaluation/AverageReturn=-{n}.5",
    ),
    (
        "Epoch 1/9 Step {n}/937 Train step {n}/8433 done.\n╒════╤════╤════╤════╕\n"
        "│ ppo_actor/loss/avg │ 1.0{n}0e+00 │ reward/avg │ 5.0000e-01 │\n"
        "├────┼────┼────┼────┤\n│ lr │ 1.0000e-05 │ │ │\n╘════╧════╧════╧════╛\n",
        "{n}: ppo_actor/loss/avg=1.0{n}; reward/avg=0.5; lr=1e-05",
    ),
    (
        "╭──────────────── Metrics ────────────────╮\n"
        "│  objective  kl_avg: 0.{n} | entropy: 1.20 |  │\n"
        "│             scores: 0.5                 │\n"
        "│  other      training_step: {n} | lr: 1e-6    │\n"
        "╰─────────────────────────────────────────╯\n",
        "{n}: objective/kl_avg=0.{n}; objective/entropy=1.2; objective/scores=0.5; lr=1e-6",
    ),
    (
        "╭───── Step {n} ─────╮\n│ Mean reward: 0.{n} │\n│ loss: {n}.5   kl: 0.5 │\n"
        "╰────────────────────╯\n",
        "{n}: Mean reward=0.{n}; loss={n}.5; kl=0.5",
    ),
    (
        "╭────── Train ───────╮\n│ Step: {n} │\n│ Mean reward: 0.{n} │\n"
        "│ loss: {n}.5   kl: 0.5 │\n╰────────────────────╯\n",
        "{n}: Mean reward=0.{n}; loss={n}.5; kl=0.5",
    ),
    (
        "Iteration {n}\n╭────────────────────╮\n│ Mean reward: 0.{n} │\n"
        "│ loss: {n}.5   kl: 0.5 │\n╰────────────────────╯\n",
        "{n}: Mean reward=0.{n}; loss={n}.5; kl=0.5",
    ),
    (
        "------------------------------------------------------------\n"
        "|             Epoch |               3 |\n|      AverageEpRet |            {n}.4 |\n"
        "| TotalEnvInteracts |           {n}000 |\n"
        "------------------------------------------------------------\n",
        "{n}000: Epoch=3; AverageEpRet={n}.4",
    ),
    (
        "------------------------------------------------------------\n"
        "| rollout/return   | -11{n}     |\n| total/steps      | {n}000     |\n"
        "------------------------------------------------------------\n",
        "{n}000: rollout/return=-11{n}",
    ),
    (
        "[2026-01-01 10:00:00,206][100] Fps is (10 sec: {n}.0, 60 sec: 4000.0). Total num "
        "frames: {n}0960. Throughput: 0: 254.2. Samples: {n}00. Policy #0 lag: (min: 0.0, "
        "avg: 1.2, max: 3.0)\n"
        "[2026-01-01 10:00:00,206][100] Avg episode reward: [(0, '0.{n}'), (1, '0.5')]\n",
        "{n}0960: Fps (10 sec)={n}; Fps (60 sec)=4000; Throughput=254.2; Samples={n}00; "
        "Policy #0 lag min=0; Policy #0 lag avg=1.2; Policy #0 lag max=3; Avg episode "
        "reward=0.{n}; Avg episode reward #1=0.5",
    ),
    (
        "[INFO] MoveToGoal. Step: {n}0000. Time Elapsed: {n}.6 s. Mean Reward: 0.{n}. Std of "
        "Reward: 0.000. Training.\n"
        "[INFO] Other. Step: {n}0000. Time Elapsed: {n}.6 s. Mean Reward: 0.{n}. Std of "
        "Reward: 0.000. Training.\n",
        "{n}0000: Time Elapsed={n}.6; Mean Reward=0.{n}; Std of Reward=0; Other/Time "
        "Elapsed={n}.6; Other/Mean Reward=0.{n}; Other/Std of Reward=0",
    ),
    (
        "   {n}00/50000: episode: {n}, duration: 0.5s, episode steps: 200, episode reward: "
        "-{n}.0, mean action: 0.9 [0.0, 2.0],  loss: 1.25, mean_q: --\n",
        "{n}00: episode={n}; duration=0.5; episode steps=200; episode reward=-{n}; mean "
        "action=0.9; loss=1.25",
    ),
    (
        "fps step: 100 fps step and policy inference: 90 fps total: 80 epoch: 3/500 frames: "
        "{n}096\n"
        "saving next best rewards:  [300.05]\n",
        "{n}096: performance/step_fps=100; performance/step_inference_fps=90; "
        "performance/step_inference_rl_update_fps=80",
    ),
    (
        "U {n} | F 00{n}048 | FPS 0250 | D 3 | rR:μσmM 0.{n} 0.00 0.00 1.00 | F:uomM 1.0 2.0 "
        "3.0 4.0 | ∇ 0.5\n",
        "{n}048: FPS=250; duration=3; rreturn_mean=0.{n}; rreturn_std=0; rreturn_min=0; "
        "rreturn_max=1; num_frames_u=1; num_frames_o=2; num_frames_min=3; num_frames_max=4; "
        "grad_norm=0.5",
    ),
)


def first_words(line: str | tuple[str, str]) -> str:
    text = line if isinstance(line, str) else line[0]
    return "-".join(re.findall(r"[A-Za-z]+", text))[:40]


@pytest.mark.parametrize("line", LINES, ids=first_words)
def test_lines(line: tuple[str, str]) -> None:
    text = "hello\n" + "".join(line[0].format(n=n) + "\nsome text\n" for n in (1, 2, 3))
    expected: dict[str, list[tuple[int, float]]] = {}
    for n in (1, 2, 3):
        step, _, pairs = line[1].format(n=n).partition(": ")
        for pair in pairs.split("; "):
            name, _, value = pair.rpartition("=")
            expected.setdefault(name, []).append((int(step), float(value)))
    assert values(text) == expected
    assert Console().claims(Path("x.log"), text.encode())


@pytest.mark.parametrize(
    "form",
    [
        "sleep {n} | reward: {n}\nkeep: {n}, reward: {n}\n",
        "step {n}: reward [last 9 episodes] 2.5\n",
        "Namespace(algo='ppo', batch_size=256, clip_eps=0.2, epochs={n}, lr=0.001)\n",
        "Config(step={n}, loss=0.5, lr=0.001)\n",
        "{{'epochs': {n}, 'lr': 0.001, 'loss_weight': 1.0}}\n",
        "{{ _: [], epochs: {n}, lr: 0.001, '$0': 'train.js' }}\n",
        "train.py --epochs {n} --lr 0.001 --seed=1\n",
        "train:\n  steps: {n}\n  batch_size: 32\n  lr: 0.001\n  reward_scale: 1\n",
        '{{\n  "epochs": {n},\n  "lr": 0.001,\n  "loss_weight": 1.0\n}}\n',
        "epochs: {n}\nlr: 0.1\nalpha: 0.2\n",
    ],
    ids=first_words,
)
def test_lines_that_are_no_rows(form: str) -> None:
    assert values("".join(form.format(n=n) for n in (4, 4, 8, 100))) == {}
