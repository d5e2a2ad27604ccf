"""What lines of consoles mean: a form with a number that grows, its step, its names and values."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rltui.formats.console import Console
from tests import places
from tests.formats.consoles import goal, values

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
    ("[step {n}/9] avg_reward=0.{n} | kl=0.1 | ent=2\n", "{n}: avg_reward=0.{n}; kl=0.1; ent=2"),
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
    (
        "  \x1b[38;5;244m   {n}\x1b[0m    \x1b[1;32m4.{n}00 ▼\x1b[0m    \x1b[1m1,207\x1b[0m    "
        "\x1b[38;5;244m  {n}.5k\x1b[0m\n",
        "{n}: train_loss=4.{n}; tokens/sec=1207; trained_tokens_k={n}.5",
    ),
    (
        "  \x1b[38;5;244m   {n}\x1b[0m    \x1b[1;35mval\x1b[0m \x1b[1m4.609\x1b[0m    "
        "\x1b[38;5;244m0.07s\x1b[0m\n",
        "{n}: val_loss=4.609; val_took=0.07",
    ),
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
        "##########\n     \x1b[1m Learning iteration {n}/1500 \x1b[0m\n\n"
        "     Computation: 1234 steps/s (collection: 0.980s, learning 0.084s)\n"
        "     Mean action noise std: 22.31\n     Mean value_function loss: 1.{n}\n"
        "     Mean reward: {n}.16\n     Mean episode rew_height: 0.125\n"
        "     Episode_Reward/track_lin_vel: 0.5\n----------\n     Total timesteps: 44\n",
        "{n}: Perf/total_fps=1234; Perf/collection time=0.98; Perf/learning_time=0.084; "
        "Policy/mean_noise_std=22.31; Loss/value_function=1.{n}; Train/mean_reward={n}.16; "
        "Episode/rew_height=0.125; Episode_Reward/track_lin_vel=0.5",
    ),
    (
        "10:00:00 [SUCCESS] Step {n} |   38.2s | Reward 0.2 | Trainable 32/128 (25.0%) | "
        "Turns 3.1 | Branches 1.0 | Max Off-Policy 1 | Error 1.6% | "
        "Cancelled 0.0% | Truncation 3.0%\n",
        "{n}: time/step=38.2; reward/all/mean=0.2; orchestrator/turns=3.1; "
        "orchestrator/branches=1; orchestrator/max_off_policy=1; orchestrator/error=1.6; "
        "orchestrator/cancelled=0; "
        "orchestrator/truncation=3; orchestrator/trainable=0.25",
    ),
    (
        "10:00:00 SUCCESS Step {n} | Time: 12.3s | Loss: 0.5 | Grad. Norm 0.12 | LR 1e-06 | "
        "Throughput: 9000 tokens/s | MFU 31.0% | Peak Mem.: 60.1 GiB\n"
        "DEBUG Micro Step {n}/16 | Loss: 0.5 | Entropy: 0.4\n",
        "{n}: time/step=12.3; loss/mean=0.5; optim/grad_norm=0.12; optim/lr=1e-06; "
        "perf/throughput=9000; perf/mfu=31; perf/peak_memory=60.1",
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


#: A log, and all of its points.
LOGS = {
    "verl name with the separator and values that are none": (
        "step:1 - val/a - b/mean:0.5 - x:None - y:True - z:1.0\n",
        "val/a - b/mean: 1=0.5; z: 1=1",
    ),
    "verl initial validation has the step before the first row": (
        "(\"Initial validation metrics: {'val/x/mean': \"\n"
        " \"np.float64(0.25), 'val/y': 0.5}\")\nstep:1 - actor/a:1.0\n",
        "val/x/mean: 0=0.25; val/y: 0=0.5; actor/a: 1=1",
    ),
    "verl initial validation has the step before the first row again": (
        "(\"Initial validation metrics: {'val/x/mean': \"\n"
        " \"np.float64(0.25), 'val/y': 0.5}\")\nstep:0 - val/x/mean:0.25\n",
        "val/y: 0=0.5; val/x/mean: 0=0.25",
    ),
    "a dict with a step keeps its names": (
        "INFO {'step': 3, 'loss': tensor(0.5, device='cuda:0'), 'kl': 0.1}\n",
        "loss: 3=0.5; kl: 3=0.1",
    ),
    "slime": (
        "(Actor pid=3) [2030-01-02 03:04:05] model.py:918 - step 12: {'train/loss': 0.013, "
        "'train/ppo_kl': 2e-05, 'train/step': 25}\n"
        "[2030-01-02 03:04:05] x.py:1 - rollout 6: {'rollout/reward': 0.5, 'rollout/step': 6}\n"
        "[2030-01-02 03:04:05] x.py:1 - eval 6: {'eval/aime': 0.25}\n",
        "train/loss: 25=0.013; train/ppo_kl: 25=2e-05; rollout/reward: 6=0.5; eval/aime: 6=0.25",
    ),
    "roll and json of own loops": (
        '[INFO] metrics_tag: {"step": 3, "metrics": {"actor/pg_loss": -0.01, "a": NaN}}\n'
        '{"global_step": 4, "train": {"loss": 0.5}, "note": "x"}\n',
        "actor/pg_loss: 3=-0.01; a: 3=nan; train/loss: 4=0.5",
    ),
    "skyrl dict on many lines": (
        "2026-01-01 10:00:00 | INFO | utils - Step 5: \n{'policy/policy_loss': '-0.0031',\n"
        " 'reward/avg': '0.5000',\n 'name': 'x'}\nStep 6: {'policy/policy_loss': '0.0100',\n"
        " 'reward/avg': '0.6000'}\nStep 7: \nsomething else {'policy/policy_loss': '9'}\n",
        "policy/policy_loss: 5=-0.0031 6=0.01; reward/avg: 5=0.5 6=0.6",
    ),
    "torchtune": (
        "Step 1 | loss:1.25 lr:1e-05 tokens_per_second_per_gpu:900.5 \nStep 2 | a: b c\n",
        "loss: 1=1.25; lr: 1=1e-05; tokens_per_second_per_gpu: 1=900.5",
    ),
    "other tables are no rows": (
        "|-----------|-----|\n| GPU | Name |\n| 0 | H100 |\n------------------------------\n"
        "| a | 1 |\n------------------------------\n",
        "",
    ),
    "transformers 4 prints numbers": (
        "{'loss': 0.6123, 'grad_norm': nan, 'learning_rate': 2e-06, 'epoch': 0.4}\n"
        "{'eval_loss': 0.58, 'epoch': 0.4}\n"
        "{'loss': 0.5, 'grad_norm': inf, 'learning_rate': 1e-06, 'epoch': 0.8}\n"
        "{'train_runtime': 7.6, 'train_loss': 1.78, 'epoch': 1.0}\n",
        "train/loss: 1=0.6123 2=0.5; train/grad_norm: 1=nan 2=inf; train/learning_rate: 1=2e-06 "
        "2=1e-06; train/epoch: 1=0.4 1=0.4 2=0.8 2=1; eval/loss: 1=0.58; "
        "train/train_runtime: 2=7.6; train/train_loss: 2=1.78",
    ),
    "ms-swift gives the step": (
        "{'loss': 0.71, 'token_acc': 0.8, 'epoch': 0.1, 'global_step/max_steps': '5/200', "
        "'percentage': '2.50%', 'elapsed_time': '12s', 'memory(GiB)': 20.1}\n",
        "train/loss: 5=0.71; train/token_acc: 5=0.8; train/epoch: 5=0.1; train/memory(GiB): 5=20.1",
    ),
    "logging_steps in the log tell the steps": (
        "TrainingArguments(logging_steps=10, x=1)\n{'loss': '0.5', 'epoch': '0'}\n"
        "{'loss': '0.4', 'epoch': '1'}\n",
        "train/loss: 10=0.5 20=0.4; train/epoch: 10=0 20=1",
    ),
    "training that begins again without a bar": (
        "".join(f"{{'loss': 1.0, 'epoch': 0.{e}}}\n" for e in (1, 2, 3, 4, 5, 3, 4)),
        "train/loss: 1=1 2=1 3=1 4=1 5=1 3=1 4=1; "
        "train/epoch: 1=0.1 2=0.2 3=0.3 4=0.4 5=0.5 3=0.3 4=0.4",
    ),
    "a table may be interrupted": (
        "-----------\n| rollout/ | |\n|    ep_rew_mean | 3.2e+03 |\n"
        "2026-05-02 [Warning] [omni.usd] step 7: x\n\n| time/ | |\n"
        "|    total_timesteps | 100 |\n| train/ | |\n|    loss | 0.5 |\n-----------\n",
        "rollout/ep_rew_mean: 100=3200; train/loss: 100=0.5",
    ),
    "steps that begin anew in each epoch are counted on": (
        "".join(f"Epoch [{e}/2], Step [{n}/30], Loss: 0.5\n" for e in (1, 2) for n in (10, 20, 30)),
        "Loss: 10=0.5 20=0.5 30=0.5 40=0.5 50=0.5 60=0.5",
    ),
    "steps that count on over the epochs stay": (
        "Epoch 1/3 step 10/60 loss=0.5\nEpoch 1/3 step 20/60 loss=0.5\n"
        "Epoch 2/3 step 30/60 loss=0.5\nEpoch 2/3 step 40/60 loss=0.5\n",
        "loss: 10=0.5 20=0.5 30=0.5 40=0.5",
    ),
    "an epoch between steps has the newest step": (
        "step 10 loss=0.5\nEpoch 1 avg_loss=0.45\nstep 20 loss=0.4\nEpoch 2 avg_loss=0.35\n",
        "loss: 10=0.5 20=0.4; avg_loss: 10=0.45 20=0.35",
    ),
    "a form that comes once is not believed": ("step 1: loss=0.5\n", ""),
    "a sure dialect ends guessing": (
        "step:1 - critic/score/mean:0.5\n[step 5] reward=1\n[step 6] reward=1\n",
        "critic/score/mean: 1=0.5",
    ),
    "broken bytes line ends and a byte order mark": (
        "\ufeffstep:1 - a:1.0\r\n\udcff\udcfe\x00\r\nstep:2 - a:2.0\r\n",
        "a: 1=1 2=2",
    ),
    "a number too large for a step is no restart": (
        '{"step": 10000000000000000000000000000000, "loss": 0.5}\n'
        '{"step": 1000000000000000000000000000000, "loss": 0.5}\n{"step": 5, "loss": 0.5}\n'
        '{"step": 6, "loss": 0.5}\n',
        "loss: 5=0.5 6=0.5",
    ),
    "table with numpy values texts and cut names": (
        "------------------------------\n| rollout/           |      |\n"
        "|    ep_rew_mean     | 3.2e+03 |\n| time/              |      |\n"
        "|    total_timesteps | 5 |\n| train/             |      |\n"
        "|    approx_kl  | 0.0070666056 |\n|    name | PPO |\n"
        "|    a_name_that_is_long... | 1 |\n------------------------------\n",
        "rollout/ep_rew_mean: 5=3200; train/approx_kl: 5=0.0070666056; "
        "train/a_name_that_is_long...: 5=1",
    ),
    "keras counts the last redraw of an epoch": (
        "Epoch 1/9\n\r  1/469 [>.......] - ETA: 5s - loss: 9.5\x08\x08\x08\r"
        "469/469 [========] - 3s 6ms/step - loss: 1.5 - val_loss: 0.25\nEpoch 2/9\n\r"
        "  1/469 [>.......] - ETA: 5s - loss: 9.5\x08\x08\x08\r"
        "469/469 [========] - 3s 6ms/step - loss: 2.5 - val_loss: 0.25\nEpoch 3/9\n\r"
        "  1/469 [>.......] - ETA: 5s - loss: 9.5\x08\x08\x08\r"
        "469/469 [========] - 3s 6ms/step - loss: 3.5 - val_loss: 0.25\n",
        "loss: 1=1.5 2=2.5 3=3.5; val_loss: 1=0.25 2=0.25 3=0.25",
    ),
    "bars of an evaluation have the step of the training": (
        "Train:  10%|#| 10/90 [00:02<00:03,  1.9it/s, loss=10.5]\r"
        "Validation: 100%|#| 5/5 [00:02<00:00,  1.9it/s, loss=10.75]\n"
        "Train:  10%|#| 20/90 [00:02<00:03,  1.9it/s, loss=20.5]\r"
        "Validation: 100%|#| 5/5 [00:02<00:00,  1.9it/s, loss=20.75]\n"
        "Train:  10%|#| 30/90 [00:02<00:03,  1.9it/s, loss=30.5]\r"
        "Validation: 100%|#| 5/5 [00:02<00:00,  1.9it/s, loss=30.75]\n",
        "loss: 10=10.5 20=20.5 30=30.5; eval/loss: 10=10.75 20=20.75 30=30.75",
    ),
    "a line of another loop is no row and no goal": (
        "Loading checkpoint shards: 100%|##| 3/3 [00:01<00:00, 2.1it/s]\n"
        "Map: 100%|##| 500/500 [00:01<00:00, 2.1it/s]\nAdapter Epoch 4/5 loss: 0.0015\n"
        "step 10 loss=0.5\nstep 20 loss=0.4\n",
        "loss: 10=0.5 20=0.4",
    ),
    "a name that comes often below a heading is not read": (
        "Epoch 1/3\nbatch loss: 0.5\nbatch loss: 0.5\nbatch loss: 0.5\nbatch loss: 0.5\n"
        "batch loss: 0.5\nval loss: 0.4\nEpoch 2/3\nbatch loss: 0.5\nbatch loss: 0.5\n"
        "batch loss: 0.5\nbatch loss: 0.5\nbatch loss: 0.5\nval loss: 0.4\nEpoch 3/3\n"
        "batch loss: 0.5\nbatch loss: 0.5\nbatch loss: 0.5\nbatch loss: 0.5\nbatch loss: 0.5\n"
        "val loss: 0.4\n",
        "val loss: 1=0.4 2=0.4 3=0.4",
    ),
    "cells of a table in thousands": (
        "Iter  Loss  Tokens\n1k  0.5  1.3M\n2k  0.5  2.3M\n3k  0.5  3.3M\n",
        "Loss: 1000=0.5 2000=0.5 3000=0.5; Tokens: 1000=1300000 2000=2300000 3000=3300000",
    ),
    "one panel is not believed": (
        "╭────── Step 1 ──────╮\n│ Mean reward: 0.5 │\n╰────────────────────╯\n",
        "",
    ),
    "cells without a number differ from row to row": (
        "Step\tTraining Loss\treward\tsampling / mean\n1\t0.5\t0.1\t0.1\n2\t0.5\t0.2\tNo Log\n"
        "3\t0.5\t0.3\tNo Log\n",
        "Training Loss: 1=0.5 2=0.5 3=0.5; reward: 1=0.1 2=0.2 3=0.3; sampling / mean: 1=0.1",
    ),
    "words and numbers between commas below a row": (
        "Updates 10, num timesteps 1000, FPS 60\n"
        "The dist entropy 3.1, the value loss 0.1, the action loss is -1.1\n\n"
        "Updates 20, num timesteps 2000, FPS 60\n"
        "The dist entropy 3.2, the value loss 0.2, the action loss is -1.2\n\n"
        "Updates 30, num timesteps 3000, FPS 60\n"
        "The dist entropy 3.3, the value loss 0.3, the action loss is -1.3\n\n",
        "FPS: 1000=60 2000=60 3000=60; dist entropy: 1000=3.1 2000=3.2 3000=3.3; value loss: "
        "1000=0.1 2000=0.2 3000=0.3; action loss: 1000=-1.1 2000=-1.2 3000=-1.3",
    ),
    "a sentence with numbers is no row": (
        "step 1 loss 0.1\nSaved 3 files in 2.5, which took 1.5, and more.\nstep 2 loss 0.2\n"
        "Saved 3 files in 2.5, which took 1.5, and more.\nstep 3 loss 0.3\n"
        "Saved 3 files in 2.5, which took 1.5, and more.\n",
        "loss: 1=0.1 2=0.2 3=0.3",
    ),
}


@pytest.mark.parametrize("name", LOGS)
def test_logs(name: str) -> None:
    text, points = LOGS[name]
    found = values(text.encode("utf-8", "surrogateescape"))
    shown = {
        tag: " ".join(f"{step}={value:.15g}" for step, value in ps) for tag, ps in found.items()
    }
    assert "; ".join(f"{tag}: {ps}" for tag, ps in shown.items()) == points


@pytest.mark.parametrize(
    ("name", "total"),
    [
        ("keras counts the last redraw of an epoch", 9),
        ("a line of another loop is no row and no goal", None),
        ("ms-swift gives the step", 200),
    ],
)
def test_goals(name: str, total: int | None) -> None:
    assert goal(LOGS[name][0]) == total


@pytest.mark.parametrize("rest", ["loss {x} episode {y}", "loss {x} updates {y}", "{y} loss {x}"])
def test_a_row_does_not_depend_on_the_figures_of_rows_before(rest: str) -> None:
    def rows(first: int) -> list[str]:
        figures = ((n, n / 8, n / 4) for n in range(first, 41))
        return [f"step {n} " + rest.format(x=x, y=f"{y:g}") + "\n" for n, x, y in figures]

    whole, late = values("".join(rows(1))), values("".join(rows(4)))
    assert {t: [p for p in ps if p[0] > 12] for t, ps in whole.items()} == {
        t: [p for p in ps if p[0] > 12] for t, ps in late.items()
    }


def test_a_log_of_mlx_lm() -> None:
    found = values((places.FIXTURES / "console" / "mlx_lm.log").read_bytes())
    assert found["val_loss"] == [(1, 4.609), (20, 3.7), (40, 3.637), (60, 3.613)]
    assert [step for step, _ in found["train_loss"]] == list(range(5, 65, 5))
    assert found["tokens/sec"][-3:] == [(50, 2117.0), (55, 2006.0), (60, 1488.0)]
    assert (found["test_loss"], found["test_ppl"]) == ([(60, 3.638)], [(60, 38.021)])
    assert len(found) == 7
