"""Rows of console logs, one sample for each grammar that more than one trainer prints."""

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


def _own(step: int) -> bytes:
    value = VALUES[step % len(VALUES)]
    return f"[step {step}/99] loss={value} grad_norm={value}\r\n".encode()


def _record(step: int) -> bytes:
    value = VALUES[step % len(VALUES)]
    pairs = f"{{'train/loss': {value}, 'train/kl': {value}}}"
    return f"[2030-01-02 03:04:05] model.py:918 - step {step}: {pairs}\n".encode()


def _sample_factory(step: int) -> bytes:
    value = VALUES[step % len(VALUES)]
    head = f"[2026-01-01 10:00:{step:02d},206][100] "
    speeds = f"Fps is (10 sec: {value}). Total num frames: {step}."
    return f"{head}{speeds}\n{head}Avg episode reward: [(0, '{value}')]\n".encode()


def _bar(step: int) -> bytes:
    value = VALUES[step % len(VALUES)]
    rate = f"[05:05<03:09, 29.77step/s, act_loss={value}, kl={value}]"
    return f"   Training SAC:  {step}%|{'#' * step:<12}| {step}/99 {rate}\r".encode()


def _heading(step: int) -> bytes:
    value = VALUES[step % len(VALUES)]
    return f"[INFO] Step {step}\nloss: {value}\treturn_mean:     {value}\n".encode()


def _column(step: int) -> bytes:
    value = VALUES[step % len(VALUES)]
    return f"{step:<8} {value}    {value}\n".encode()


def _late(row: object, path: str, tags: tuple[str, ...], variant: str) -> Sample:
    rows = _rows(row)
    return Sample(
        "console", path, rows, _GARBAGE, tags=tags, noted=False, late=True, variant=variant
    )


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
    Sample(
        "console",
        "sf_log.txt",
        _rows(_sample_factory),
        _GARBAGE,
        tags=("Fps (10 sec)", "Avg episode reward"),
        noted=False,
        variant="Sample Factory",
    ),
    _late(_bar, "training_output.txt", ("act_loss", "kl"), "bars"),
    _late(_heading, "cout.txt", ("loss", "return_mean"), "heading"),
    Sample(
        "console",
        "train.out",
        (b"Step     Loss     Reward\n", *_rows(_column)),
        _GARBAGE,
        preamble=1,
        tags=("Loss", "Reward"),
        noted=False,
        late=True,
        variant="columns",
    ),
)
