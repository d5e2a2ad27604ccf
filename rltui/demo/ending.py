"""How a demo run ends before its last step: what the console says of a crash."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

#: Seconds for which a run that hangs has been silent when it is opened.
SILENT_S = 600.0

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


def write_crash(directory: Path, rows: Iterable[tuple[int, Mapping[str, float]]]) -> None:
    """The console log of a run that dies after the last of ``rows``: (step, tag -> value)."""
    lines = [
        f"step:{step} - {' - '.join(f'{tag}:{value}' for tag, value in row.items())}\n"
        for step, row in rows
    ]
    (directory / "train.log").write_text("".join(lines) + _TRACEBACK, encoding="utf-8")
