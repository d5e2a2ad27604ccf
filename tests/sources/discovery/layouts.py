"""Writers of small logs, each as a framework or tracker leaves it, of the same kind of rows."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from rltui.formats.tracker_log.tracker_decoder import SWANLAB_FRAMING, WANDB_FRAMING
from tests.formats import encode
from tests.formats.encode_tracker import LogWriter, full_row, scalar
from tests.formats.encode_tracker import run as run_record
from tests.trackers.store import MlflowDatabase, TrackioDatabase

Row = dict[str, float]
_WALL = 1.78e9


def course(seed: int, last: int = 60, first: int = 1) -> list[Row]:
    """Rows of a training: another seed gives other values, the same seed the same training."""
    noise = np.random.default_rng(seed).standard_normal((last + 1, 2))
    return [
        {
            "step": step,
            "loss": round(2.0 / (1 + step / 20) + 0.05 * noise[step, 0], 4),
            "reward": round(step / 100 + 0.05 * noise[step, 1], 4),
        }
        for step in range(first, last + 1)
    ]


def write(path: Path, text: str | bytes) -> None:
    """Write a file, with its directories."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)


def jsonl(path: Path, rows: Iterable[Row]) -> None:
    """One object a line."""
    write(path, "".join(f"{json.dumps(row)}\n" for row in rows))


def table(path: Path, rows: Sequence[Row]) -> None:
    """A CSV."""
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    write(path, "\n".join(lines) + "\n")


def console(path: Path, rows: Iterable[Row], first: str = "loading model\n") -> None:
    """Lines of an own loop, as ``tee`` saves them."""
    lines = [f"step {r['step']:.0f} | loss {r['loss']} | reward {r['reward']}\n" for r in rows]
    write(path, first + "".join(lines))


def dicts(path: Path, rows: Iterable[Row]) -> None:
    """What TRL prints: dicts under a bar."""
    lines = [
        f"{{'loss': {r['loss']}, 'reward': {r['reward']}, 'epoch': {r['step'] / 100}}}\n"
        f" {r['step']:.0f}%|##        | {r['step']:.0f}/100 [00:10<00:20,  1.00s/it]\n"
        for r in rows
    ]
    write(path, "".join(lines))


def verl(path: Path, rows: Iterable[Row]) -> None:
    """The console of verl."""
    lines = [
        f"step:{r['step']:.0f} - actor/pg_loss:{r['loss']} - critic/rewards/mean:{r['reward']}\n"
        for r in rows
    ]
    write(path, "".join(lines))


def verl_file(path: Path, rows: Iterable[Row]) -> None:
    """The file logger of verl."""
    write(
        path,
        "".join(
            json.dumps({"step": r["step"], "data": {"actor/pg_loss": r["loss"]}}) + "\n"
            for r in rows
        ),
    )


def events(path: Path, rows: Sequence[Row], *, stamp: int = 1780000000, prefix: str = "") -> None:
    """An event file in a directory."""
    data = [encode.header()]
    for row in rows:
        step = int(row["step"])
        wall = _WALL + stamp % 100_000 + step
        tags = [(k, v) for k, v in row.items() if k != "step"]
        data += [
            encode.event(step, wall, encode.simple((prefix + tag).encode(), value))
            for tag, value in tags
        ]
    write(path / f"events.out.tfevents.{stamp}.vm.77.0", b"".join(data))


def wandb(
    root: Path, run: str, rows: Sequence[Row], *, when: str = "20261128_190056", name: str = ""
) -> Path:
    """A directory of W&B, with its own logs and its links; returns it."""
    writer, folder = LogWriter(WANDB_FRAMING), root / f"wandb/offline-run-{when}-{run}"
    day = int(when[6:8]) * 86400
    records = [writer.record(run_record(name, _WALL + day))] if name else []
    records += [
        writer.record(
            full_row(
                int(r["step"]), _WALL + day + r["step"], {"loss": r["loss"], "reward": r["reward"]}
            )
        )
        for r in rows
    ]
    write(folder / f"run-{run}.wandb", writer.header + b"".join(records))
    write(folder / "logs/debug.log", f"2026-11-28 19:00:56,374 INFO {when} step: 3 loss: 0.5\n" * 9)
    internal = [
        json.dumps(
            {"level": "WARN", "msg": "handler: ignoring partial history record", "step": n}
            | {"current": n + 9}
        )
        for n in range(9)
    ]
    write(folder / "logs/debug-internal.log", "\n".join(internal) + "\n")
    for log in ("debug.log", "debug-internal.log"):
        link = root / "wandb" / log
        link.unlink(missing_ok=True)
        link.symlink_to(f"{folder.name}/logs/{log}")
    latest = root / "wandb/latest-run"
    latest.unlink(missing_ok=True)
    latest.symlink_to(folder.name)
    return folder


def swanlab(root: Path, run: str, rows: Iterable[Row]) -> None:
    """A directory of SwanLab."""
    writer = LogWriter(SWANLAB_FRAMING)
    records = [
        writer.record(scalar(tag, int(row["step"]), row[tag], _WALL + row["step"]))
        for row in rows
        for tag in ("loss", "reward")
    ]
    folder = root / f"swanlog/run-20261128_190056-{run}"
    write(folder / f"run-{run}.swanlab", writer.header + b"".join(records))


def mlflow(root: Path, rows: Sequence[Row], name: str = "brave-fox-7") -> None:
    """A database of MLflow with one run."""
    database = MlflowDatabase(root)
    database.start("r1", name)
    database.log("r1", _pairs(rows))


def trackio(root: Path, rows: Sequence[Row], name: str = "mine") -> None:
    """A database of trackio with one run."""
    root.mkdir(exist_ok=True)
    TrackioDatabase(root).log(name, _pairs(rows))


def _pairs(rows: Sequence[Row]) -> list[tuple[int, Row]]:
    return [(int(r["step"]), {"loss": r["loss"], "reward": r["reward"]}) for r in rows]


def state(path: Path, rows: Sequence[Row]) -> None:
    """``trainer_state.json`` of transformers."""
    document = {"global_step": rows[-1]["step"], "log_history": list(rows)}
    write(path, json.dumps(document))


def sb3_table(path: Path, rows: Iterable[Row]) -> None:
    """The tables that SB3 prints and writes into ``log.txt``."""
    lines = [
        f"| rollout/ep_rew_mean | {r['reward']} |\n| time/total_timesteps | "
        f"{r['step'] * 2048:.0f} |\n| train/loss | {r['loss']} |\n{'-' * 40}\n"
        for r in rows
    ]
    write(path, "-" * 40 + "\n" + "".join(lines))


def sb3_events(path: Path, rows: Iterable[Row], *, stamp: int = 1780000000) -> None:
    """An event file with the names of SB3."""
    events(path, sb3_rows(rows), stamp=stamp)


def sb3_rows(rows: Iterable[Row]) -> list[Row]:
    """The same rows as SB3 writes them into event files."""
    return [
        {"step": r["step"] * 2048, "rollout/ep_rew_mean": r["reward"], "train/loss": r["loss"]}
        for r in rows
    ]


def sb3_csv(path: Path, rows: Iterable[Row]) -> None:
    """``progress.csv`` of SB3."""
    lines = [f"{r['reward']},{r['step'] * 2048:.0f},{r['loss']}" for r in rows]
    write(path, "\n".join(["rollout/ep_rew_mean,time/total_timesteps,train/loss", *lines, ""]))


def monitor(path: Path, episodes: int = 40) -> None:
    """``monitor.csv`` of SB3."""
    lines = [f"{20 + n % 7}.0,{20 + n % 7},{n * 0.5}" for n in range(episodes)]
    head = '#{"t_start": 1780000000.0, "env_id": "CartPole-v1"}'
    write(path, "\n".join([head, "r,l,t", *lines, ""]))


def trial(path: Path, rows: Iterable[Row]) -> None:
    """``result.json`` and ``progress.csv`` of a trial of Tune."""
    kept = [
        {
            "training_iteration": int(r["step"]),
            "episode_reward_mean": r["reward"],
            "loss": r["loss"],
        }
        for r in rows
    ]
    jsonl(path / "result.json", kept)
    table(path / "progress.csv", kept)
    write(path / "params.json", '{"lr": 0.0003, "gamma": 0.99}')
