"""A demo run on disk: real event files, framed by TensorBoard's own writer of records.

Owned by one thread at a time. Creates one event file in the given directory, which is the run, and
what verl leaves beside it; removes nothing: the caller owns the directory.
"""

from __future__ import annotations

import json
import math
import os
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rltui.core.clock import Clock, SystemClock
from rltui.core.errors import UsageError
from rltui.core.yaml_document import nearest
from rltui.demo.course import MAX_RESPONSE
from rltui.demo.scenario import SCENARIOS, Rows
from rltui.demo.verl_tags import KL_COEF, RESPONSES, SAMPLES_PER_PROMPT, VALIDATE_EVERY, Row

#: Seconds between two records; verl writes one record per value.
_BETWEEN_RECORDS = 2e-5
#: Seconds that the app has for its first paint before the histories of further runs are written.
_FIRST_PAINT_S = 1.0
#: Seed of a scenario that is one run.
_SEED = 7
#: Seconds for which a run that hangs has been silent when it is opened.
_SILENT_S = 600.0
#: Rows that the console log of a crash holds.
_CONSOLE_ROWS = 3
#: ``wait(seconds)`` returns True when the wait was cut short because the writer is to stop.
Wait = Callable[[float], bool]
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


class DemoRun:
    """Writes the rows 0 to ``total_steps`` of a scenario, one after the other.

    Row 0 is what a trainer logs before its first step. A crash or a hang comes at the onset.

    Equal arguments give equal values; wall times come from ``clock`` and never run backwards.
    """

    def __init__(
        self,
        directory: Path,
        scenario: str,
        seed: int,
        total_steps: int = 200,
        *,
        clock: Clock | None = None,
    ) -> None:
        if scenario not in SCENARIOS:
            message = f"unknown scenario {scenario!r}; one of {', '.join(SCENARIOS)}"
            raise UsageError(message, hint=nearest(scenario, SCENARIOS))
        if total_steps < 1:
            raise UsageError("a demo run has at least one step")

        self.scenario = SCENARIOS[scenario]
        if self.scenario.runs:
            raise UsageError(f"{scenario!r} stands for several runs")

        self.total_steps = total_steps
        self._seed = seed
        self.directory = directory
        """Path of the event file, which is created with the first step."""
        self.step = -1
        """Last row that was written; -1 before the first."""
        self._clock = clock or SystemClock()
        ends = self.scenario.onset_of(total_steps) if self.scenario.ending else None
        self._last = total_steps if ends is None else ends
        self._rows = Rows(self.scenario, seed, total_steps)
        self._newest: deque[tuple[int, Row]] = deque(maxlen=_CONSOLE_ROWS)
        self._wall = -math.inf
        self._next: Row = self._rows.make(0)
        self._writer: Any = None

    @property
    def finished(self) -> bool:
        """Whether the last step was written, or the run has ended before it."""
        return self.step >= self._last

    @property
    def next_duration(self) -> float:
        """Seconds that the next step logs as its duration; about one."""
        return self._rows.seconds(self._next)

    def write_history(self, steps: int) -> None:
        """Write the first ``steps`` steps at once, as if the last one had just ended."""
        rows: list[Row] = []
        while self.step < min(steps, self._last):
            rows.append(self._next_row())
        took = [self._rows.seconds(row) for row in rows]
        silent = _SILENT_S if self.finished and self.scenario.ending == "hang" else 0.0
        wall = self._clock.now() - silent - sum(took)
        for offset, row in enumerate(rows):
            wall += took[offset]
            self._write(self.step - len(rows) + 1 + offset, row, wall)
        self._flush()
        if silent:
            for path in self.directory.iterdir():
                os.utime(path, (wall, wall))

    def write_step(self) -> bool:
        """Write the next step with the current time; False when the run is finished."""
        if self.finished:
            return False
        row = self._next_row()
        self._write(self.step, row, self._clock.now())
        self._flush()
        return True

    def close(self) -> None:
        """Close the event file; a further step would create another one."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _next_row(self) -> Row:
        row = self._next
        self.step += 1
        self._next = {} if self.finished else self._rows.make(self.step + 1)
        return row

    def _write(self, step: int, row: Row, wall: float) -> None:
        from tensorboard.compat.proto import event_pb2, summary_pb2  # heavy

        if self._writer is None:
            # TensorBoard's own writer of events takes a lock for each, and three times as long
            from tensorboard.summary.writer.record_writer import RecordWriter  # heavy

            self.directory.mkdir(parents=True, exist_ok=True)
            name = f"events.out.tfevents.{int(wall):010d}.{socket.gethostname()}.{os.getpid()}.0"
            self._writer = RecordWriter((self.directory / name).open("xb"))
            version = event_pb2.Event(wall_time=wall, file_version="brain.Event:2")
            self._writer.write(version.SerializeToString())
        if self.scenario.trainer == "verl" and step == 0:
            lr = self.scenario.lr
            write_settings(self.directory, lr=lr, seed=self._seed, total_steps=self.total_steps)
        if self.scenario.trainer == "verl" and step % VALIDATE_EVERY == 0:
            write_samples(self.directory, step, row, self._seed)

        step *= self._rows.stride
        self._newest.append((step, row))
        wall = max(wall, self._wall + _BETWEEN_RECORDS)
        for index, (tag, value) in enumerate(row.items()):
            self._wall = wall + index * _BETWEEN_RECORDS
            summary = summary_pb2.Summary(
                value=[summary_pb2.Summary.Value(tag=tag, simple_value=value)]
            )
            event = event_pb2.Event(wall_time=self._wall, step=step, summary=summary)
            self._writer.write(event.SerializeToString())

    def _flush(self) -> None:
        if self._writer is not None:
            self._writer.flush()
        if self.finished and self.scenario.ending == "crash":
            write_crash(self.directory, self._newest)


def demo_runs(
    logdir: Path, scenario: str, total_steps: int, *, clock: Clock | None = None
) -> list[DemoRun]:
    """The runs of a scenario: ``logdir`` itself, or a directory in it for each of several."""
    found = SCENARIOS.get(scenario)
    if found is None or not found.runs:
        return [DemoRun(logdir, scenario, _SEED, total_steps, clock=clock)]
    return [
        DemoRun(logdir / name, part, seed, total_steps, clock=clock)
        for name, part, seed in found.runs
    ]


class DemoWriter:
    """Owns ``run`` between :meth:`start` and :meth:`stop`; it must not be used elsewhere then."""

    def __init__(self, run: DemoRun, *, wait: Wait | None = None) -> None:
        self._run = run
        self._stopping = threading.Event()
        self._wait = wait or self._stopping.wait
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None

    def start(self, speed: float = 1.0, history: int = 0) -> None:
        """Start writing, once: the ``history`` at once, then at speed 1 each step in the second or
        so that it logs as its duration."""
        self._thread = threading.Thread(
            target=self._write, args=(speed, history), name="rltui-demo", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """End the thread and close the file. Raises what went wrong while writing, if anything."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        self._run.close()
        if self._error is not None:
            error = self._error
            self._error = None
            raise error

    def _write(self, speed: float, history: int) -> None:
        try:
            if history > max(0, self._run.step):
                if self._wait(_FIRST_PAINT_S):
                    return
                self._run.write_history(history)
            while not (self._run.finished or self._stopping.is_set()):
                if self._wait(self._run.next_duration / speed):
                    return
                self._run.write_step()
        except OSError as error:
            # the directory is gone or the disk is full; stop() raises it
            self._error = error


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
        output = "!" * 400
        right = False
    elif float(rng.random()) < row.get("response_length/clip_ratio", 0.0):
        output = f"Let me check again: {a} × {b} = {a * b}. " * 40
        right = False
    else:
        last = f"{a * b} {'-' if sign > 0 else '+'} {c}"
        output = f"First, {a} × {b} = {a * b}.\nThen {last} = {said}.\n#### {said}"

    return {
        "input": f"user\n{question}\nassistant\n",
        "output": output,
        "gts": str(truth),
        "score": float(right),
        "step": step,
    }


def write_crash(directory: Path, rows: Iterable[tuple[int, Mapping[str, float]]]) -> None:
    """The console log of a run that dies after the last of ``rows``: (step, tag -> value)."""
    lines = [
        f"step:{step} - {' - '.join(f'{tag}:{value}' for tag, value in row.items())}\n"
        for step, row in rows
    ]
    (directory / "train.log").write_text("".join(lines) + _TRACEBACK, encoding="utf-8")
