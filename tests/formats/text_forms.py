"""One run, written in the text forms that people and loggers use.

A form is a function from the rows to the text of its log. ``FORMS`` has all of them by name; each
prints the step, the loss and the reward of every row, and most of them print more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

ROWS = 120
COLLAPSE = 80


class LoggedRow(NamedTuple):
    """What was measured at one step."""

    step: int
    loss: float
    reward: float
    lr: float = 1e-05

    @property
    def clock(self) -> str:
        """The time of day, of one row each minute."""
        return f"{10 + self.step // 60:02}:{self.step % 60:02}:07"


Rows = Sequence[LoggedRow]
Form = Callable[[Rows], str | bytes]


def run_rows(*, healthy: bool) -> list[LoggedRow]:
    """A reward that rises, with noise that repeats; unless ``healthy`` it collapses for good."""
    rows = []
    for step in range(1, ROWS + 1):
        noise = math.sin(7.3 * step) + math.cos(2.1 * step)
        reward = 0.8 - 0.65 * math.exp(-step / 30) + 0.02 * noise
        if not healthy and step > COLLAPSE:
            reward = 0.05 + 0.01 * noise
        loss = 0.2 + 0.6 * math.exp(-step / 40) + 0.01 * math.cos(5.7 * step)
        rows.append(LoggedRow(step, round(loss, 4), round(reward, 4)))
    return rows


def _lines(line: Callable[[LoggedRow], str]) -> Form:
    """A form of one text for each row."""
    return lambda rows: "".join(line(row) + "\n" for row in rows)


def _template(text: str) -> Form:
    """A form by a template with the fields of a row: ``n``, ``loss``, ``reward``, ``lr``, ``t``."""
    return _lines(lambda r: text.format(n=r.step, loss=r.loss, reward=r.reward, lr=r.lr, t=r.clock))


#: One line for each row.
_LINES = {
    "equals": "step={n} loss={loss:.4f} reward={reward:.4f} lr={lr}",
    "equals and commas": "step={n}, loss={loss:.4f}, reward={reward:.4f}, lr={lr:.2e}",
    "equals, counter last": "loss={loss:.4f} reward={reward:.4f} step={n}",
    "blanks around equals": "step = {n}, loss = {loss:.4f}, reward = {reward:.4f}",
    "colons": "step: {n} loss: {loss:.4f} reward: {reward:.4f} lr: {lr}",
    "tight colons": "step:{n} loss:{loss:.3f} reward:{reward:.3f} lr:{lr:.1e}",
    "dashes": "step: {n} - loss: {loss:.4f} - reward: {reward:.4f}",
    "bars": "step {n} | loss {loss:.4f} | reward {reward:.4f} | lr {lr}",
    "bars and colons": "Step: {n} | Loss: {loss:.4f} | Reward: {reward:.4f} | LR: {lr}",
    "bars around": "| step: {n} | loss: {loss:.4f} | reward: {reward:.4f} |",
    "slashes": "step {n} / loss {loss:.4f} / reward {reward:.4f} /",
    "blanks": "step {n} loss {loss:.4f} reward {reward:.4f}",
    "two blanks": "step {n}  loss {loss:.4f}  reward {reward:.4f}",
    "aligned": "step {n:>6} | loss {loss:>10.4f} | reward {reward:>10.4f}",
    "zeros in front": "Step {n:06d} loss {loss:08.4f} reward {reward:08.4f}",
    "tabs": "step\t{n}\tloss\t{loss:.4f}\treward\t{reward:.4f}",
    "tabs and colons": "Step: {n}\tLoss: {loss:.4f}\tReward: {reward:.4f}",
    "semicolons": "step {n}; loss {loss:.4f}; reward {reward:.4f}",
    "commas": "step {n}, loss {loss:.4f}, reward {reward:.4f}",
    "capitals": "STEP: {n} LOSS: {loss:.4f} REWARD: {reward:.4f}",
    "an arrow": "step {n} -> loss {loss:.4f}, reward {reward:.4f}",
    "a thick arrow": "Step {n} => loss: {loss:.4f}, reward: {reward:.4f}",
    "parentheses": "step {n} (loss={loss:.4f}, reward={reward:.4f})",
    "parentheses each": "step {n} (loss: {loss:.4f}) (reward: {reward:.4f})",
    "brackets": "step {n}: [loss={loss:.4f}, reward={reward:.4f}]",
    "brackets each": "[step: {n}] [loss: {loss:.4f}] [reward: {reward:.4f}]",
    "values in brackets": "step [{n}] loss [{loss:.4f}] reward [{reward:.4f}]",
    "quoted names": '"step": {n}, "loss": {loss:.4f}, "reward": {reward:.4f}',
    "quoted values": "step='{n}' loss='{loss:.4f}' reward='{reward:.4f}'",
    "a fraction": "[{n}/120] loss {loss:.4f}  reward {reward:.4f}",
    "a fraction and colons": "[{n}/120] loss: {loss:.4f}, reward: {reward:.4f}",
    "a fraction and equals": "[{n:>3}/120] loss={loss:.4f} reward={reward:.4f}",
    "a fraction in parentheses": "({n}/120) loss: {loss:.4f} | reward: {reward:.4f}",
    "a bare fraction": "{n}/120 | loss {loss:.4f} | reward {reward:.4f}",
    "a bare fraction and a colon": "{n}/120: loss {loss:.4f}, reward {reward:.4f}",
    "a number in brackets": "[{n}] loss {loss:.4f} / reward {reward:.4f} /",
    "a number in brackets and equals": "[{n}] loss={loss:.4f}, reward={reward:.4f}",
    "a number": "{n} loss={loss:.4f} reward={reward:.4f}",
    "a number sign": "step #{n}: loss {loss:.4f}, reward {reward:.4f}",
    "a counter in brackets": "[step {n}] loss={loss:.4f} reward={reward:.4f}",
    "a counter of all in brackets": "[Step {n}/120] loss {loss:.4f} reward {reward:.4f}",
    "an equation in brackets": "[step={n}] loss: {loss:.4f} reward: {reward:.4f}",
    "of": "Step {n} of 120: loss {loss:.4f}, reward {reward:.4f}",
    "iteration of all": "Iteration {n}/120, loss {loss:.4f}, reward {reward:.4f}",
    "nanoGPT": "iter {n}: loss {loss:.4f}, reward {reward:.4f}, time 512.31ms, mfu 31.02%",
    "epochs": "Epoch {n}/120 - loss: {loss:.4f} - reward: {reward:.4f}",
    "epochs in brackets": "Epoch [{n}/120], Loss: {loss:.4f}, Reward: {reward:.4f}",
    "epochs and tabs": "Epoch: {n}\tLoss: {loss:.6f}\tReward: {reward:.6f}",
    "episodes": "Episode {n}\tReward: {reward:.4f}\tLoss: {loss:.4f}",
    "episodes in words": "Episode {n} finished with reward {reward:.4f}, loss {loss:.4f}",
    "updates": "Update {n}: reward={reward:.4f} loss={loss:.4f}",
    "global step": "global_step={n}, loss={loss:.4f}, reward={reward:.4f}",
    "global step in words": "Global step {n}: loss {loss:.4f} reward {reward:.4f}",
    "training step": "Training step {n}: loss = {loss:.4f}, reward = {reward:.4f}",
    "after steps": "After {n} steps: loss {loss:.4f}, reward {reward:.4f}",
    "steps behind": "{n} steps: loss={loss:.4f}, reward={reward:.4f}",
    "at steps": "eval @ {n} steps: loss={loss:.4f} reward={reward:.4f}",
    "at a step": "eval at step {n}: loss={loss:.4f} reward={reward:.4f}",
    "metrics at a step": "loss={loss:.4f} reward={reward:.4f} (step {n})",
    "a title": "train | step {n} | loss {loss:.4f} | reward {reward:.4f}",
    "a title and a colon": "Train: step {n}, loss {loss:.4f}, reward {reward:.4f}",
    "an emoji": "🚀 Step {n} | 📉 loss: {loss:.4f} | 🎯 reward: {reward:.4f}",
    "a tick": "✓ step {n}: loss {loss:.4f} reward {reward:.4f}",
    "a tree": "├─ step: {n} | loss: {loss:.4f} | reward: {reward:.4f}",
    "a bullet": "• step {n} • loss {loss:.4f} • reward {reward:.4f}",
    "averages": "step {n} loss {loss:.4f} ({loss:.4f}) reward {reward:.4f} ({reward:.4f})",
    "meters": "Epoch: [1][{n}/120]\tTime 0.512 (0.518)\tLoss {loss:.4f} ({loss:.4f})\t"
    "Reward {reward:.4f} ({reward:.4f})",
    "plus minus": "step {n}: loss {loss:.4f}, reward {reward:.4f} ± 0.1200",
    "plus minus of letters": "step={n} loss={loss:.4f} reward={reward:.4f} +- 0.12",
    "plus minus with a slash": "step: {n} | loss: {loss:.4f} | reward: {reward:.4f} +/- 0.12",
    "tight plus minus": "step {n} | loss {loss:.4f}±0.01 | reward {reward:.4f}±0.12",
    "percent": "step {n}: loss {loss:.4f}, acc 51.20%, reward {reward:.4f}",
    "units": "step {n} | loss {loss:.4f} | reward {reward:.4f} | 5.21 s | 1234 tok/s | 12.3 GB",
    "units in brackets": "step {n}: loss {loss:.4f} [nats], reward {reward:.4f} [1], time 5 [s]",
    "exponents": "step {n} loss {loss:.4e} reward {reward:.4E}",
    "signs": "step {n} loss {loss:+.4f} reward {reward:+.4f}",
    "prefixes": "step={n} train/loss={loss:.4f} train/reward={reward:.4f} train/lr={lr}",
    "names in words": "step {n} | policy loss {loss:.4f} | mean reward {reward:.4f}",
    "dots in names": "step={n} train.loss={loss:.4f} train.reward={reward:.4f}",
    "logfmt": 'time=2026-01-05T{t}Z level=info msg="train step" step={n} loss={loss} '
    "reward={reward}",
    "logrus": 'time="2026-01-05T{t}Z" level=info msg=metrics loss={loss} reward={reward} step={n}',
    "Megatron": "[2026-01-05 {t}] iteration {n:>8}/     120 | consumed samples: 96 | elapsed time "
    "per iteration (ms): 512.3 | learning rate: {lr:.6E} | loss: {loss:.6E} | reward: "
    "{reward:.6E} | number of skipped iterations:   0 |",
    "MMEngine": "2026/01/05 {t} - mmengine - INFO - Iter(train) [{n:>3}/120]  lr: {lr:.4e}  eta: "
    "0:01:02  time: 0.5123  data_time: 0.0021  loss: {loss:.4f}  reward: {reward:.4f}",
    "Detectron2": "[01/05 {t} d2.utils.events]:  eta: 0:01:02  iter: {n}  total_loss: {loss:.4f}  "
    "reward: {reward:.4f}  time: 0.5123  lr: {lr}  max_mem: 1234M",
    "fairseq": "2026-01-05 {t} | INFO | train_inner | epoch 001:    {n:>3} / 120 loss={loss:.3f}, "
    "reward={reward:.3f}, ppl=3.21, wps=1234.5, lr={lr}",
    "Ignite": "Epoch[1] Iteration[{n}/120] loss: {loss:.4f} reward: {reward:.4f}",
    "DeepSpeed": "[2026-01-05 {t},123] [INFO] [logging.py:96:log_dist] [Rank 0] step={n}, "
    "skipped=0, lr=[{lr}], loss={loss:.4f}, reward={reward:.4f}",
    "Dreamer": "[{n}000] model_loss {loss:.4f} / image_loss 11501.0 / reward {reward:.4f} /",
    # printed objects
    "a dict": "{{'step': {n}, 'loss': {loss}, 'reward': {reward}, 'lr': {lr}}}",
    "a dict without a step": "{{'loss': {loss}, 'reward': {reward}, 'epoch': {n}.0}}",
    "a dict of texts": "{{'loss': '{loss}', 'reward': '{reward}', 'step': '{n}'}}",
    "a dict behind a step": "step {n}: {{'loss': {loss}, 'reward': {reward}}}",
    "a dict behind a step without colon": "Step {n} {{'loss': {loss}, 'reward': {reward}}}",
    "a dict behind a step in brackets": "[step {n}] {{'loss': {loss}, 'reward': {reward}}}",
    "a dict behind a fraction": "[{n}/120] {{'loss': {loss}, 'reward': {reward}}}",
    "a dict behind a number": "{n} {{'loss': {loss}, 'reward': {reward}}}",
    "a dict behind a name": "metrics = {{'step': {n}, 'loss': {loss}, 'reward': {reward}}}",
    "a dict behind iteration": "Iteration {n}: metrics={{'loss': {loss}, 'reward': {reward}}}",
    "a nested dict": "{{'step': {n}, 'train': {{'loss': {loss}, 'reward': {reward}}}}}",
    "an ordered dict": "OrderedDict({{'step': {n}, 'loss': {loss}, 'reward': {reward}}})",
    "an ordered dict of pairs": "OrderedDict([('step', {n}), ('loss', {loss}), "
    "('reward', {reward})])",
    "pairs of a list": "[('step', {n}), ('loss', {loss}), ('reward', {reward})]",
    "a dataclass": "TrainMetrics(step={n}, loss={loss}, reward={reward}, lr={lr})",
    "a namespace": "namespace(step={n}, loss={loss}, reward={reward})",
    "numpy's numbers": "{{'step': {n}, 'loss': np.float64({loss}), "
    "'reward': np.float32({reward})}}",
    "tensors": "step {n} loss tensor({loss}, device='cuda:0') reward tensor({reward})",
    "tensors and equals": "step={n}, loss=tensor({loss}, grad_fn=<MeanBackward0>), "
    "reward=tensor({reward}, dtype=torch.float64)",
    "tensors in a dict": "{{'step': {n}, 'loss': tensor({loss}, device='cuda:0', "
    "grad_fn=<NllLossBackward0>), 'reward': tensor({reward})}}",
    "arrays of JAX": "step {n}: {{'loss': Array({loss}, dtype=float32), 'reward': "
    "Array({reward}, dtype=float32, weak_type=True)}}",
    "arrays of an older JAX": "step {n} loss=DeviceArray({loss}, dtype=float32) "
    "reward=DeviceArray({reward}, dtype=float32)",
    "arrays of one": "step {n} loss [{loss}] reward array([{reward}])",
    "JSON behind a logger": '2026-01-05 {t} INFO {{"step": {n}, "loss": {loss}, "reward": '
    "{reward}}}",
    # bars
    "tqdm": "Training:   2%|▏    | {n}/120 [00:03<01:57,  1.00it/s, loss={loss:.4f}, "
    "reward={reward:.4f}]",
    "tqdm in words": "loss {loss:.4f} reward {reward:.4f}:   2%|▏   | {n}/120 "
    "[00:03<01:57,  1.0it/s]",
    "progressbar2": "  2% ({n} of 120) |#     | Elapsed Time: 0:00:03 ETA:   0:01:57 loss: "
    "{loss:.4f} reward: {reward:.4f}",
    "alive-progress": "|█▎     | {n}/120 [2%] in 3s (1.0/s) loss: {loss:.4f}, reward: {reward:.4f}",
    "a bar of rich": "Training ━━━━╸━━━━  2% {n}/120 0:01:57 loss: {loss:.4f} reward: {reward:.4f}",
    "Keras": "{n}/120 [==>....] - ETA: 1:57 - loss: {loss:.4f} - reward: {reward:.4f}",
}

#: What stands before ``step={n} loss={loss} reward={reward}``.
_PREFIXES = {
    "logging": "2026-01-05 {t},123 - trainer - INFO - ",
    "logging as it is": "INFO:root:",
    "logging of a module": "INFO:my_project.train:",
    "logging with a line": "2026-01-05 {t},123 INFO train.py:123 ",
    "logging and brackets": "[2026-01-05 {t},123] [INFO] [train.py:123] ",
    "Hydra": "[2026-01-05 {t},123][__main__][INFO] - ",
    "examples of transformers": "01/05/2026 {t} - INFO - __main__ - ",
    "transformers": "[INFO|trainer.py:123] 2026-01-05 {t},123 >> ",
    "vLLM": "INFO 01-05 {t} train.py:123] ",
    "loguru": "2026-01-05 {t}.123 | INFO     | __main__:train:42 - ",
    "loguru with colours": "\x1b[32m2026-01-05 {t}.123\x1b[0m | \x1b[1mINFO    \x1b[0m | "
    "\x1b[36m__main__\x1b[0m:\x1b[36mtrain\x1b[0m:\x1b[36m42\x1b[0m - \x1b[1m",
    "absl": "I0105 {t}.123456 140228452884864 train.py:42] ",
    "glog": "I20260105 {t}.123456 12345 train.cc:42] ",
    "colorlog": "\x1b[32mINFO\x1b[0m:trainer:",
    "coloredlogs": "\x1b[32m2026-01-05 {t}\x1b[0m \x1b[35mhost\x1b[0m \x1b[34mtrainer[123]\x1b[0m "
    "\x1b[1;30mINFO\x1b[0m ",
    "structlog": "2026-01-05T{t}.123456Z [info     ] train                          ",
    "structlog with colours": "\x1b[2m2026-01-05T{t}.123456Z\x1b[0m [\x1b[32m\x1b[1minfo     "
    "\x1b[0m] \x1b[1mtrain                         \x1b[0m ",
    "tslog": "2026-01-05 {t}.123\tINFO\t/src/train.ts:42\t",
    "log4j": "26/01/05 {t} INFO Trainer: ",
    "zap": "2026-01-05T{t}.123Z\tINFO\ttrain/main.go:42\t",
    "tracing of Rust": "2026-01-05T{t}.123456Z  INFO train: ",
    "env_logger of Rust": "[2026-01-05T{t}Z INFO  train] ",
    "Optuna": "[I 2026-01-05 {t},123] ",
    "syslog": "Jan  5 {t} node7 python[1234]: ",
    "journald": "2026-01-05T{t}+0100 node7 train[1234]: ",
    "a clock": "{t} ",
    "a clock in brackets": "[{t}] ",
    "a date in brackets": "[2026-01-05 {t}] ",
    "ts": "Jan 05 {t} ",
    "an ISO date": "2026-01-05T{t} ",
    "seconds": "[1767607867.123] ",
    "elapsed time": "[0:12:07] ",
    "docker compose": "trainer-1  | ",
    "docker compose with colours": "\x1b[36mtrainer-1  | \x1b[0m",
    "kubectl": "[pod/train-abc-12/main] ",
    "kubectl with times": "2026-01-05T{t}.123456789Z ",
    "CRI": "2026-01-05T{t}.123456789Z stdout F ",
    "stern": "train-abc-12 main ",
    "Airflow": "[2026-01-05, {t} UTC] {{logging_mixin.py:149}} INFO - ",
    "Slurm": "0: ",
    "Ray": "(Trainer pid=1234) ",
    "Ray of another host": "(Trainer pid=1234, ip=10.0.0.7) ",
    "Ray with colours": "\x1b[36m(Trainer pid=1234)\x1b[0m ",
    "torchrun": "[rank0]:",
    "torchrun's default": "[default0]:",
    "rank in brackets": "[rank 0] ",
    "RANK": "[RANK 0] ",
    "mpirun": "[1,0]<stdout>:",
    "SageMaker": "[1,mpirank:0,algo-1]<stdout>:",
    "MPICH": "[0] ",
    "pdsh": "node001: ",
    "foreman": "{t} train.1  | ",
    "Lightning's rank": "[rank: 0] ",
    "a name in brackets": "[Trainer] ",
    "a name": "trainer: ",
    "greater": ">>> ",
    "asterisks": "*** ",
    "a percent sign": "[INFO] ",
    "an indent": "    ",
}


def _prefixed(text: str) -> Form:
    return _template(text + "step={n} loss={loss:.4f} reward={reward:.4f}")


def _block(line: str, *, above: str = "", below: str = "") -> Form:
    """A form of several lines for each row."""
    return _template(above + line + below)


_BLOCKS = {
    "a heading": "Step {n}:\n  loss: {loss:.4f}\n  reward: {reward:.4f}",
    "a heading with dashes": "--- Step {n} ---\nloss: {loss:.4f}\nreward: {reward:.4f}",
    "a heading with equals": "===== Step {n}/120 =====\nloss = {loss:.4f}\nreward = {reward:.4f}",
    "a heading of Markdown": "## Step {n}\n\n- loss: {loss:.4f}\n- reward: {reward:.4f}\n",
    "a heading in brackets": "[STEP {n:>4}]\n{{'loss': {loss}, 'reward': {reward}}}",
    "a heading above one line": "Step {n}\nloss {loss:.4f} | reward {reward:.4f}",
    "a heading and bullets": "Step {n}\n  * loss: {loss:.4f}\n  * reward: {reward:.4f}",
    "a heading and a tree": "Step {n}\n├── loss: {loss:.4f}\n└── reward: {reward:.4f}",
    "a heading and dots": "Step {n}\nloss ........ {loss:.4f}\nreward ...... {reward:.4f}",
    "a counter among pairs": "-----------------\nstep: {n}\nloss: {loss:.4f}\nreward: {reward:.4f}",
    "pairs and tabs": "----------------\nIteration: \t {n}\nBatchSize: \t 32\nLoss: \t {loss:.4f}\n"
    "Reward: \t {reward:.4f} +- 0.12",
    "a dict below a heading": "Step {n}:\n{{'loss': {loss}, 'reward': {reward}}}",
    "pprint": "{{'loss': {loss},\n 'reward': {reward},\n 'step': {n}}}",
    "one line for each name": "step {n} loss: {loss:.4f}\nstep {n} reward: {reward:.4f}",
    "one line for each name in brackets": "[{n}] loss: {loss:.4f}\n[{n}] reward: {reward:.4f}",
    "train and evaluation": "step {n} train loss {loss:.4f}\nstep {n} eval reward {reward:.4f}",
    "stable-baselines3": "-----------------------------\n| rollout/           |        |\n"
    "|    ep_rew_mean     | {reward:<6.4f} |\n| time/              |        |\n"
    "|    total_timesteps | {n:<6} |\n| train/             |        |\n"
    "|    loss            | {loss:<6.4f} |\n-----------------------------",
    "stable-baselines3 behind a bar": "\x1b[2K-----------------------------\x1b[38;5;237m━━━━━"
    "\x1b[0m \x1b[32m{n}/120 \x1b[0m [ \x1b[33m0:00:38\x1b[0m < \x1b[36m0:11:33\x1b[0m , "
    "\x1b[31m4 it/s\x1b[0m ]\n| rollout/           |        |\n"
    "|    ep_rew_mean     | {reward:<6.4f} |\n| time/              |        |\n"
    "|    total_timesteps | {n:<6} |\n| train/             |        |\n"
    "|    loss            | {loss:<6.4f} |\n-----------------------------",
    "a box of rich": "╭───────────────────────╮\n│ step    {n:>12}  │\n│ loss    {loss:>12.4f}  │\n"
    "│ reward  {reward:>12.4f}  │\n╰───────────────────────╯",
    "a box of two columns": "┏━━━━━━━━┳━━━━━━━━┓\n┃ metric ┃  value ┃\n┡━━━━━━━━╇━━━━━━━━┩\n"
    "│ step   │ {n:>6} │\n│ loss   │ {loss:.4f} │\n│ reward │ {reward:.4f} │\n└────────┴────────┘",
    "a grid": "+--------+--------+\n| step   | {n:>6} |\n+--------+--------+\n"
    "| loss   | {loss:.4f} |\n+--------+--------+\n| reward | {reward:.4f} |\n"
    "+--------+--------+",
    "aligned pairs with units": "------------------------------\nstep              {n}\n"
    "loss              {loss:.4f} nats\nreward            {reward:.4f}\ntime              5.21 s\n",
    "losses in one": "[Update {n}/120] Step: {n}/120 | FPS: 901\n └─ Reward: {reward:.4f} | "
    "Loss(P/V/E): {loss:.4f}/0.070/0.399",
    "rich, wrapped": "[{t}] INFO     step={n} loss={loss:.4f} lr={lr}            train.py:42\n"
    "                    reward={reward:.4f}",
}

#: A header, a row, what stands below, and how many rows a header has above.
_TABLES = {
    "columns": ("step    loss    reward\n", "{n:<7} {loss:.4f}  {reward:.4f}\n", ROWS),
    "columns to the right": (
        "    step      loss    reward\n",
        "{n:>8}{loss:>10.4f}{reward:>10.4f}\n",
        ROWS,
    ),
    "columns and a header again": (
        "  Step    Loss  Reward\n",
        "{n:>6}  {loss:.4f}  {reward:.4f}\n",
        20,
    ),
    "columns and a rule": (
        "  step    loss    reward\n------  ------  --------\n",
        "{n:>6}  {loss:.4f}  {reward:>8.4f}\n",
        ROWS,
    ),
    "tabs below a header": ("step\tloss\treward\n", "{n}\t{loss:.4f}\t{reward:.4f}\n", ROWS),
    "Markdown": (
        "| step | loss | reward |\n|------|------|--------|\n",
        "| {n} | {loss:.4f} | {reward:.4f} |\n",
        ROWS,
    ),
    "a table of ASCII": (
        "+------+--------+--------+\n| Step |   Loss | Reward |\n+======+========+========+\n",
        "| {n:>4} | {loss:.4f} | {reward:.4f} |\n+------+--------+--------+\n",
        ROWS,
    ),
    "a table of Unicode": (
        "┌──────┬────────┬────────┐\n│ step │ loss   │ reward │\n├──────┼────────┼────────┤\n",
        "│ {n:>4} │ {loss:.4f} │ {reward:.4f} │\n",
        ROWS,
    ),
    "a double table": (
        "╔══════╦════════╦════════╗\n║ Step ║  Loss  ║ Reward ║\n╠══════╬════════╬════════╣\n",
        "║ {n:>4} ║ {loss:.4f} ║ {reward:.4f} ║\n",
        ROWS,
    ),
    "a table with colours": (
        "\x1b[1m step \x1b[0m \x1b[1m  loss \x1b[0m \x1b[1m reward \x1b[0m\n",
        "\x1b[36m {n:>4} \x1b[0m \x1b[32m {loss:.4f} \x1b[0m \x1b[32m {reward:.4f} \x1b[0m\n",
        ROWS,
    ),
    "a data frame": (
        "     step    loss  reward\n",
        "{n:<4} {n:>4}  {loss:.4f}  {reward:.4f}\n",
        ROWS,
    ),
    "units in the header": (
        "step      loss [nats]   reward [1]\n",
        "{n:<9} {loss:<13.4f} {reward:.4f}\n",
        ROWS,
    ),
    "units in parentheses": (
        "Iter | Loss (avg) | Reward (mean) | Time (s)\n",
        "{n:>4} | {loss:>10.4f} | {reward:>13.4f} | 5.2\n",
        ROWS,
    ),
    "units in the cells": (
        "step      loss         reward   time\n",
        "{n:<9} {loss:.4f} nats  {reward:.4f}   5.21 s\n",
        ROWS,
    ),
    "percent in the cells": (
        "step      loss      acc       reward\n",
        "{n:<9} {loss:.4f}    51.2%     {reward:.4f}\n",
        ROWS,
    ),
    "a header behind a logger": (
        "[10:00:00] step    loss    reward\n",
        "[{t}] {n:<7} {loss:.4f}  {reward:.4f}\n",
        ROWS,
    ),
}


def _table(header: str, line: str, rows_below: int) -> Form:
    def text(rows: Rows) -> str:
        whole = ""
        for at, r in enumerate(rows):
            whole += "" if at % rows_below else header
            whole += line.format(n=r.step, loss=r.loss, reward=r.reward, t=r.clock)
        return whole

    return text


_plain = _template("step={n} loss={loss:.4f} reward={reward:.4f}")


def _text(rows: Rows, form: Form = _plain) -> str:
    text = form(rows)
    assert isinstance(text, str)
    return text


def _redrawn(rows: Rows) -> str:
    """A bar that is redrawn by carriage returns, from 0 on."""
    bars = [f"\rTraining:   0%|     | 0/{ROWS} [00:00<?, ?it/s]"]
    bars += [
        f"\rTraining: {r.step:>3}%|#    | {r.step}/{ROWS} [00:03<01:57,  1.00it/s, "
        f"loss={r.loss:.4f}, reward={r.reward:.4f}]"
        for r in rows
    ]
    return "".join(bars) + "\n"


def _bar_from_0(rows: Rows) -> str:
    """A bar with a counter that begins at 0, and five epochs."""
    bars = [
        f"\rEpoch {1 + at // 24}:  10%|#    | {at % 24}/24 [00:03<01:57,  1.00it/s, step={at}, "
        f"loss={r.loss:.4f}, reward={r.reward:.4f}]"
        for at, r in enumerate(rows)
    ]
    return "".join(bars) + "\n"


def _among_bars(rows: Rows) -> str:
    """Lines written between redraws of a bar."""
    return "".join(
        f"\r  2%|▏    | {r.step}/{ROWS} [00:03<01:57,  1.00it/s]\r\x1b[K"
        f"step {r.step}: loss {r.loss:.4f}, reward {r.reward:.4f}\n"
        for r in rows
    )


def _among_noise(rows: Rows) -> str:
    """Warnings, health pings and saved checkpoints between the rows."""
    text = "Using device: cuda:0\nLoaded 494,032,768 parameters\n"
    for r in rows:
        text += f"step={r.step} loss={r.loss:.4f} reward={r.reward:.4f}\n"
        if r.step % 10 == 0:
            text += f"Saved checkpoint to out/ckpt-{r.step}.pt\n"
        if r.step % 7 == 0:
            text += "/usr/lib/x.py:123: UserWarning: lr_scheduler.step() before optimizer.step()\n"
    return text


def _evaluations(rows: Rows) -> str:
    """Further names at the end of every tenth row, and others once."""
    text = ""
    for r in rows:
        text += f"step={r.step} loss={r.loss:.4f} reward={r.reward:.4f}"
        text += f" eval_acc=0.{500 + r.step}" if r.step % 10 == 0 else ""
        text += " best_score=0.71" if r.step == ROWS else ""
        text += "\n"
    return text


def _many_ranks(rows: Rows) -> str:
    return "".join(
        f"[rank{rank}]:step={r.step} loss={r.loss:.4f} reward={r.reward:.4f}\n"
        for r in rows
        for rank in range(4)
    )


def _commas(form: Form) -> Form:
    """The form with decimal commas."""
    return lambda rows: _text(rows, form).replace(".", ",")


_WHOLE: dict[str, Form] = {
    "a bar that is redrawn": _redrawn,
    "a bar from 0": _bar_from_0,
    "lines among bars": _among_bars,
    "lines among noise": _among_noise,
    "names that come now and then": _evaluations,
    "many ranks": _many_ranks,
    "CRLF": lambda rows: _text(rows).replace("\n", "\r\n"),
    "UTF-8 with a mark": lambda rows: _text(rows).encode("utf-8-sig"),
    "UTF-16": lambda rows: _text(rows).encode("utf-16"),
    "UTF-16 of Windows": lambda rows: _text(rows).replace("\n", "\r\n").encode("utf-16"),
    "UTF-16, the large end first": lambda rows: b"\xfe\xff" + _text(rows).encode("utf-16-be"),
    "latin-1": lambda rows: (
        ("# Lauf für Grün\n" + _text(rows)).replace("reward", "größe_reward").encode("latin-1")
    ),
    "thousands with commas": _template("step {n:,}000 | loss {loss:.4f} | reward {reward:.4f}"),
    "thousands with more commas": _lines(
        lambda r: f"step {50_000 * r.step:,} | loss {r.loss:.4f} | reward {r.reward:.4f}"
    ),
    "thousands with underscores": _lines(
        lambda r: f"step {1000 * r.step:_}: loss={r.loss:.4f} reward={r.reward:.4f}"
    ),
    "thousands with a letter": _template("step:{n}K loss:{loss:.4f} reward:{reward:.4f}"),
    "thousands with a letter in words": _template(
        "Step {n}.0k | loss {loss:.4f} | reward {reward:.4f}"
    ),
    "millions": _lines(
        lambda r: f"step: {r.step / 10:.1f}M, loss: {r.loss:.4f}, reward: {r.reward:.4f}"
    ),
    "decimal commas": _commas(_template("step {n}; loss {loss:.4f}; reward {reward:.4f}")),
    "decimal commas and equals": _commas(_plain),
    "large numbers with commas": _lines(
        lambda r: (
            f"step {r.step} | loss {r.loss:.4f} | tokens {4096 * r.step:,} | reward {r.reward:.4f}"
        )
    ),
}


def _joined() -> dict[str, Form]:
    forms = {name: _template(text) for name, text in (_LINES | _BLOCKS).items()}
    forms |= {f"{name}, in front": _prefixed(text) for name, text in _PREFIXES.items()}
    forms |= {name: _table(*parts) for name, parts in _TABLES.items()}
    return forms | _WHOLE


#: All forms by name.
FORMS: dict[str, Form] = _joined()
