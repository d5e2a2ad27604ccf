"""Rows of console logs, one sample for each grammar that more than one trainer prints."""

from collections.abc import Callable
from typing import Any

from tests.formats.sample import TAGS, VALUES, Sample

_COUNTS = (0.5, 2.0, 0.0, 30000.0)
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


def _engines(step: int) -> bytes:
    value = _COUNTS[step % len(_COUNTS)]
    vllm = (
        f"(EngineCore_0 pid=9) INFO 08-04 20:51:{step:02d} [loggers.py:310] Engine 000: Avg prompt "
    )
    vllm += f"throughput: {value} tokens/s, Avg generation throughput: {value} tokens/s\n"
    sglang = (
        f"[2026-08-04 20:51:{step:02d} DP0 TP0] Decode batch, #token: 7, token usage: {value}, "
    )
    return f"step:{step} - loss:{value}\n{vllm}{sglang}#queue-req: {value}\n".encode()


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


def _sample(
    row: Callable[[int], bytes], path: str, tags: tuple[str, ...], variant: str, **more: Any
) -> Sample:
    rows = (*more.pop("begin", ()), *(row(step) for step in range(12)))
    return Sample("console", path, rows, _GARBAGE, tags=tags, noted=False, variant=variant, **more)


SAMPLES = (
    _sample(
        _engines,
        "stdout.log",
        ("loss", "vllm/prompt_throughput", "vllm/throughput", "sglang/cache_use", "sglang/waiting"),
        "engines",
        values=_COUNTS,
    ),
    _sample(
        _verl,
        "stdout.log",
        TAGS,
        "verl",
        huge=b"step:1 - a:" + b"9" * 2_000_000,
        huge_ends=b"\n",
        tagged=_verl_tagged,
    ),
    _sample(_box, "log.txt", ("rollout/ep_rew_mean", "time/fps", "train/loss"), "table"),
    _sample(_own, "dpo_train_20260105_1", ("loss", "grad_norm"), "own loop", late=True),
    _sample(_record, "slurm-4711.out", ("train/loss", "train/kl"), "slime"),
    _sample(
        _sample_factory, "sf_log.txt", ("Fps (10 sec)", "Avg episode reward"), "Sample Factory"
    ),
    _sample(_bar, "training_output.txt", ("act_loss", "kl"), "bars", late=True),
    _sample(_heading, "cout.txt", ("loss", "return_mean"), "heading", late=True),
    _sample(
        _column,
        "train.out",
        ("Loss", "Reward"),
        "columns",
        late=True,
        preamble=1,
        begin=(b"Step     Loss     Reward\n",),
    ),
)
