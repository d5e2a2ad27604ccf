"""Rows of console logs: verl's lines, boxes of stable-baselines3, torchtune, an own loop."""

from __future__ import annotations

from tests.formats.sample import TAGS, VALUES, Sample

_GARBAGE = b"\x00garb{age\xff | step:x - {'a': \x1b[31m\n"


def _verl(step: int) -> bytes:
    value = VALUES[step % len(VALUES)]
    word = f"np.float64({value})" if step % 3 == 1 else f"{value}"
    fields = " - ".join(f"{tag}:{word}" for tag in TAGS)
    return f"\x1b[36m(TaskRunner pid=7)\x1b[0m step:{step} - {fields}\n".encode()


def _verl_tagged(tags: tuple[str, ...]) -> bytes:
    return ("step:1 - " + " - ".join(f"{tag}:1.0" for tag in tags) + "\n").encode()


def _box(step: int) -> bytes:
    value = VALUES[step % len(VALUES)]
    text = (
        "-----------------------------\n"
        "| rollout/           |      |\n"
        f"|    ep_rew_mean     | {value} |\n"
        "| time/              |      |\n"
        f"|    fps             | {value} |\n"
        f"|    total_timesteps | {step} |\n"
        "| train/             |      |\n"
        f"|    loss            | {value} |\n"
        "-----------------------------\n"
    )
    return text.encode()


def _tune(step: int) -> bytes:
    value = VALUES[step % len(VALUES)]
    return f"Step {step} | loss:{value} lr:{value} \n".encode()


def _own(step: int) -> bytes:
    value = VALUES[step % len(VALUES)]
    return f"[step {step}/99] loss={value} grad_norm={value}\r\n".encode()


def _record(step: int) -> bytes:
    value = VALUES[step % len(VALUES)]
    pairs = f"{{'train/loss': {value}, 'train/kl': {value}}}"
    return f"[2030-01-02 03:04:05] model.py:918 - step {step}: {pairs}\n".encode()


def _rows(row: object) -> tuple[bytes, ...]:
    assert callable(row)
    return tuple(row(step) for step in range(12))


SAMPLES = (
    Sample(
        "console",
        "stdout.log",
        _rows(_verl),
        _GARBAGE,
        noted=False,
        huge=b"step:1 - a:" + b"9" * 2_000_000,
        huge_ends=b"\n",
        tagged=_verl_tagged,
        variant="verl",
    ),
    Sample(
        "console",
        "log.txt",
        _rows(_box),
        _GARBAGE,
        tags=("rollout/ep_rew_mean", "time/fps", "train/loss"),
        noted=False,
        variant="table",
    ),
    Sample(
        "console",
        "log_1781234567.txt",
        _rows(_tune),
        _GARBAGE,
        tags=("loss", "lr"),
        noted=False,
        variant="torchtune",
    ),
    Sample(
        "console",
        "dpo_train_20260105_1",
        _rows(_own),
        _GARBAGE,
        tags=("loss", "grad_norm"),
        noted=False,
        late=True,
        variant="own loop",
    ),
    Sample(
        "console",
        "slurm-4711.out",
        _rows(_record),
        _GARBAGE,
        tags=("train/loss", "train/kl"),
        noted=False,
        variant="slime",
    ),
)
