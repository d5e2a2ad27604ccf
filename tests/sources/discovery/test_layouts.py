"""Usual layouts of a directory of logs: how many runs, their names, and their rows."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import rltui
from rltui.sources.discovery.logdir import RunFinder
from tests.builders import discover
from tests.sources.discovery.layouts import (
    console,
    course,
    dicts,
    events,
    jsonl,
    mlflow,
    monitor,
    sb3_csv,
    sb3_rows,
    sb3_table,
    state,
    swanlab,
    table,
    trackio,
    trial,
    verl,
    verl_file,
    wandb,
    write,
)

Layout = Callable[[Path], None]
#: Layout -> the rows of each run.
LAYOUTS: dict[Layout, dict[str, int]] = {}


def layout(**runs: int) -> Callable[[Layout], Layout]:
    """Register a layout whose runs have names that are identifiers, with the rows of each."""
    return named(runs)


def named(runs: dict[str, int]) -> Callable[[Layout], Layout]:
    """Register a layout with the rows of each run."""

    def register(make: Layout) -> Layout:
        LAYOUTS[make] = runs
        return make

    return register


# -- seeds and sweeps ---------------------------------------------------------------------------


@layout(seed_0=60, seed_1=50, seed_2=60)
def seeds_in_directories(root: Path) -> None:
    for seed, last in enumerate((60, 50, 60)):
        events(root / f"seed_{seed}", course(seed, last), stamp=1780000000 + seed)


@named({"lr1e-5_s0": 60, "lr1e-5_s1": 60, "lr3e-5_s0": 60})
def a_sweep_of_files(root: Path) -> None:
    for seed, name in enumerate(("lr1e-5_s0", "lr1e-5_s1", "lr3e-5_s0")):
        jsonl(root / f"{name}.jsonl", course(seed))


@layout(s1=60, s2=60, s3=60)
def seeds_as_consoles(root: Path) -> None:
    for seed in (1, 2, 3):
        console(root / f"s{seed}.log", course(seed))


@named({"ppo/s1": 60, "ppo/s2": 60, "sac": 60})
def algorithms_and_seeds(root: Path) -> None:
    for n, name in enumerate(("ppo/s1", "ppo/s2", "sac/s1")):
        table(root / name / "progress.csv", course(n))
        write(root / name / "config.json", '{"seed": 1, "lr": 0.001}')


# -- hydra, lightning, tune ---------------------------------------------------------------------


@layout(work=60)
def hydra_single(root: Path) -> None:
    where = root / "outputs/2026-11-28/10-00-00"
    console(where / "train.log", course(1))
    events(where / "tb", course(1))
    write(where / ".hydra/config.yaml", "lr: 0.1\n")
    write(where / ".hydra/overrides.yaml", "- lr=0.1\n")


@named({f"multirun/2026-11-28/10-00-00/{n}": 60 for n in range(3)})
def hydra_multirun(root: Path) -> None:
    for n in range(3):
        where = root / f"multirun/2026-11-28/10-00-00/{n}"
        console(where / "train.log", course(n))
        write(where / ".hydra/config.yaml", "lr: 0.1\n")
    write(root / "multirun/2026-11-28/10-00-00/multirun.yaml", "hydra: {}\n")


@named({"version_0": 60, "version_1": 40})
def lightning(root: Path) -> None:
    for n, last in enumerate((60, 40)):
        where = root / f"lightning_logs/version_{n}"
        table(where / "metrics.csv", course(n, last))
        write(where / "hparams.yaml", "lr: 0.1\n")
        events(where, course(n, last), stamp=1780000000 + n)


@named({"PPO_env_1_lr=0.1": 60, "PPO_env_2_lr=0.3": 60})
def tune_trials(root: Path) -> None:
    for n, name in enumerate(("PPO_env_1_lr=0.1", "PPO_env_2_lr=0.3")):
        trial(root / name, course(n))
    write(root / "experiment_state-2026-11-28_10-00-00.json", '{"trials": [], "step": 3}')


# -- ranks, and several consoles of one training ------------------------------------------------


@layout(work=60)
def ranks_that_log_the_same(root: Path) -> None:
    for rank in range(4):
        console(root / f"rank_{rank}.log", course(1), first=f"rank {rank} of 4\n")


@layout(work=60)
def ranks_in_a_folder_of_logs(root: Path) -> None:
    for rank in range(3):
        console(root / f"logs/train_rank{rank}.log", course(1), first=f"rank {rank}\n")


@layout(a=60, b=60)
def ranks_of_two_trainings(root: Path) -> None:
    for n, name in enumerate("ab"):
        for rank in range(2):
            console(root / name / f"worker-{rank}.out", course(n), first=f"rank {rank}\n")


@layout(work=60)
def torchrun_directories(root: Path) -> None:
    for rank in range(2):
        console(root / f"attempt_0/{rank}/stdout.log", course(1), first=f"rank {rank}\n")
        write(root / f"attempt_0/{rank}/stderr.log", "W1128 10:00:00 warning\n")


@layout(work=60)
def train_and_eval(root: Path) -> None:
    console(root / "train.log", course(1))
    lines = [
        f"eval step {n} eval/accuracy {n / 100} eval/loss {2 - n / 60}\n" for n in (20, 40, 60)
    ]
    write(root / "eval.log", "".join(lines))


@named({"exp1": 60, "exp2": 60})
def train_and_eval_of_two(root: Path) -> None:
    for n in (1, 2):
        jsonl(root / f"exp{n}/train.jsonl", course(n))
        rows = [{"step": s, "eval/score": s / 100 + n} for s in (20, 40, 60)]
        jsonl(root / f"exp{n}/eval.jsonl", rows)


@named({"exp7": 120})
def one_file_a_day(root: Path) -> None:
    rows = course(7, 120)
    for day, (begin, end) in enumerate(((0, 50), (50, 90), (90, 120)), 26):
        jsonl(root / f"exp7/metrics_2026-11-{day}.jsonl", rows[begin:end])


# -- rotations and copies -----------------------------------------------------------------------


@layout(work=120)
def a_rotated_log(root: Path) -> None:
    rows = course(1, 120)
    console(root / "train.log.1", rows[:60])
    console(root / "train.log", rows[60:], first="")


@layout(run5=120)
def rotated_twice(root: Path) -> None:
    rows = course(1, 120)
    console(root / "run5.log.2", rows[:30])
    console(root / "run5.log.1", rows[30:80], first="")
    console(root / "run5.log", rows[80:], first="")


@layout(work=120)
def a_rotated_jsonl(root: Path) -> None:
    rows = course(1, 120)
    jsonl(root / "metrics.jsonl.1", rows[:70])
    jsonl(root / "metrics.jsonl", rows[70:])


@layout(mine=60)
def leavings_of_editors(root: Path) -> None:
    jsonl(root / "mine.jsonl", course(1))
    for name in (
        "mine.jsonl~",
        "mine.jsonl.bak",
        "mine.jsonl.orig",
        "#mine.jsonl#",
        "mine.log.save",
    ):
        jsonl(root / name, course(2))
    console(root / "bak57~", course(3))
    console(root / "train.log.bak", course(3))
    write(root / ".mine.jsonl.swp", b"b0VIM 8.2\0" + bytes(4000))


@layout(out=60)
def a_copy_by_tee(root: Path) -> None:
    jsonl(root / "out/metrics.jsonl", course(1))
    console(root / "tee.log", course(1))


@named({"exp1": 60})
def a_copied_console(root: Path) -> None:
    console(root / "exp1/train.log", course(1))
    shutil.copy2(root / "exp1/train.log", root / "exp1/train_copy.log")


# -- trackers beside consoles -------------------------------------------------------------------


@layout(work=60)
def wandb_beside_a_console(root: Path) -> None:
    wandb(root, "abc123", course(1))
    console(root / "train.log", course(1))


@layout(work=60)
def wandb_beside_a_console_and_jsonl(root: Path) -> None:
    rows = course(1)
    wandb(root, "abc123", [r for r in rows if r["step"] % 7])
    console(root / "train.log", rows)
    jsonl(root / "logging.jsonl", rows)


@layout(work=60)
def wandb_alone(root: Path) -> None:
    wandb(root, "abc123", course(1))


@layout(work=59)
def wandb_one_step_ahead(root: Path) -> None:
    """The console counts from 1, the tracker from 0."""
    rows = course(1, 59)
    wandb(root, "abc123", [row | {"step": row["step"] - 1} for row in rows])
    console(root / "train.log", rows)


@layout(work=120)
def wandb_resumed(root: Path) -> None:
    rows = course(1, 120)
    wandb(root, "abc123", rows[:70], when="20261127_190056")
    wandb(root, "abc123", rows[60:], when="20261128_190056")


@named({"ppo": 120, "sac": 60})
def wandb_names_that_were_given(root: Path) -> None:
    rows = course(1, 120)
    wandb(root, "abc123", rows[:70], when="20261127_190056", name="ppo")
    wandb(root, "abc123", rows[60:], when="20261128_190056", name="ppo")
    wandb(root, "abc124", course(2), when="20261128_200056", name="sac")


@named({"ppo": 60, "offline-run-20261128_200056-abc124": 60})
def wandb_one_name_for_two(root: Path) -> None:
    wandb(root, "abc123", course(1), name="ppo")
    wandb(root, "abc124", course(2), when="20261128_200056", name="ppo")


@named({"exp1": 60, "exp2": 60})
def wandb_names_below_directories(root: Path) -> None:
    wandb(root / "exp1", "abc123", course(1), name="ppo")
    wandb(root / "exp2", "abc124", course(2), name="ppo")


@named({"a": 60, "b": 60})
def wandb_of_two(root: Path) -> None:
    for n, name in enumerate("ab"):
        wandb(root / name, f"abc12{n}", course(n))
        console(root / name / "train.log", course(n))


@named({"exp/brave-fox-7": 60})
def mlflow_beside_a_console(root: Path) -> None:
    mlflow(root, course(1))
    console(root / "train.log", course(1))


@layout(work=60)
def swanlab_beside_a_console(root: Path) -> None:
    swanlab(root, "abc", course(1))
    console(root / "train.log", course(1))


@named({"proj/mine": 60})
def trackio_beside_a_console(root: Path) -> None:
    (root / "trackio").mkdir()
    trackio(root / "trackio", course(1))
    console(root / "train.log", course(1))


# -- TRL, transformers --------------------------------------------------------------------------


@layout(alpha=60, beta=60)
def trl_default_with_two(root: Path) -> None:
    for n, name in enumerate(("alpha", "beta")):
        where = root / f"runs/{name}/runs/Nov28_19-00-5{n}_vm"
        events(where, course(n), stamp=1780000000 + n, prefix="train/")
        dicts(root / f"runs/{name}.log", course(n))


@layout(work=60)
def trl_default_with_one(root: Path) -> None:
    events(root / "runs/Nov28_19-00-56_vm", course(1), prefix="train/")


@layout(out=60)
def trl_with_checkpoints(root: Path) -> None:
    events(root / "out/runs/Nov28_19-00-56_vm", course(1), prefix="train/")
    for step in (20, 40, 60):
        state(root / f"out/checkpoint-{step}/trainer_state.json", course(1)[:step])
    dicts(root / "train.log", course(1))


@layout(work=60)
def only_checkpoints(root: Path) -> None:
    for step in (20, 40, 60):
        state(root / f"checkpoint-{step}/trainer_state.json", course(1)[:step])


@layout(work=120)
def trl_resumed(root: Path) -> None:
    rows = course(1, 120)
    events(root / "runs/Nov27_10-00-00_vm", rows[:80], stamp=1780000000)
    events(root / "runs/Nov28_09-00-00_vm", rows[70:], stamp=1780080000)


@named({"Nov27_10-00-00_vm": 80, "Nov28_09-00-00_vm": 60})
def trl_begun_twice(root: Path) -> None:
    events(root / "runs/Nov27_10-00-00_vm", course(1, 80), stamp=1780000000)
    events(root / "runs/Nov28_09-00-00_vm", course(2, 60), stamp=1780080000)


# -- verl, OpenRLHF, SB3, CleanRL ---------------------------------------------------------------


@named({"p/exp1": 60, "p/exp2": 60})
def verl_with_tensorboard(root: Path) -> None:
    for n in (1, 2):
        events(root / f"tensorboard_log/p/exp{n}", course(n), stamp=1780000000 + n)
        verl_file(root / f"p/exp{n}.jsonl", course(n))


@named({"p/exp1": 60})
def verl_with_a_console(root: Path) -> None:
    events(root / "tensorboard_log/p/exp1", course(1))
    verl(root / "exp1.log", course(1))


@named({"ppo_1128T19:00": 60})
def openrlhf(root: Path) -> None:
    events(root / "tb/ppo_1128T19:00", course(1), prefix="train/")
    events(root / "tb/ppo_1128T19:00", course(1)[::20], prefix="eval/", stamp=1780000001)


@layout(work=60)
def sb3_with_everything(root: Path) -> None:
    sb3_csv(root / "progress.csv", course(1))
    sb3_table(root / "log.txt", course(1))
    monitor(root / "monitor.csv")
    write(root / "evaluations.npz", b"PK\3\4" + bytes(200))
    jsonl(root / "results/final.json", [{"mean_reward": 1.5, "std_reward": 0.1}])


@layout(cartpole=60, walker=60)
def sb3_with_a_console(root: Path) -> None:
    for n, name in enumerate(("cartpole", "walker")):
        sb3_table(root / f"logs/{name}/stdout.log", course(n))
        monitor(root / f"logs/{name}/monitor.csv")
        events(root / f"logs/{name}/tb/PPO_1", sb3_rows(course(n)), stamp=1780000000 + n)


@layout(cartpole=60)
def sb3_with_a_console_alone(root: Path) -> None:
    sb3_table(root / "logs/cartpole/stdout.log", course(1))
    monitor(root / "logs/cartpole/monitor.csv")
    events(root / "logs/cartpole/tb/PPO_1", sb3_rows(course(1)))


@layout(work=60)
def sb3_with_a_console_in_the_logdir(root: Path) -> None:
    sb3_table(root / "train.log", course(1))
    events(root / "tb/PPO_1", sb3_rows(course(1)))


@named({"PPO_1": 60, "PPO_2": 60})
def sb3_with_event_files_alone(root: Path) -> None:
    for n in (1, 2):
        events(root / f"tb/PPO_{n}", sb3_rows(course(n)), stamp=1780000000 + n)


@named({"CartPole-v1__ppo__1__1780000000": 60, "CartPole-v1__ppo__2__1780000001": 60})
def cleanrl(root: Path) -> None:
    for n in (1, 2):
        events(root / f"runs/CartPole-v1__ppo__{n}__{1780000000 + n - 1}", course(n))


@named({"Nov28_19-00-56_vm": 60, "Nov28_20-00-56_vm": 60})
def date_and_host(root: Path) -> None:
    for n in (19, 20):
        events(root / f"runs/Nov28_{n}-00-56_vm", course(n), stamp=1780000000 + 3600 * n)


# -- schedulers, links, data --------------------------------------------------------------------


@named({"slurm-1001": 60, "slurm-1002": 60})
def slurm(root: Path) -> None:
    for job in (1001, 1002):
        console(root / f"slurm-{job}.out", course(job))
        write(root / f"slurm-{job}.err", "WARNING: nothing of note\n" * 5)


@layout(exp1=60)
def a_link_to_the_latest(root: Path) -> None:
    jsonl(root / "exp1/metrics.jsonl", course(1))
    (root / "latest").symlink_to("exp1")
    (root / "current.jsonl").symlink_to("exp1/metrics.jsonl")


@layout(work=60)
def data_and_results_beside(root: Path) -> None:
    jsonl(root / "metrics.jsonl", course(1))
    write(root / "data/train.jsonl", '{"prompt": "2+2", "answer": "4"}\n' * 50)
    write(root / "data/test.csv", "id,question,label\n1,a,0\n2,b,1\n")
    write(root / "results.json", '{"accuracy": 0.5, "n": 100}')
    write(root / "summary.csv", "model,accuracy\na,0.5\nb,0.6\n")
    write(root / "vocab.txt", "one\ntwo\n" * 50)


@named({"mine": 60})
def a_repository_within(root: Path) -> None:
    jsonl(root / "mine.jsonl", course(1))
    write(root / "third_party/.git/HEAD", "ref: refs/heads/main\n")
    write(root / "third_party/.git/logs/HEAD", "0 1 me 1780000000 +0000 commit: step 1 loss 0.5\n")
    write(root / "third_party/README.md", "# A trainer\n\n    step 10 loss 0.5\n")
    write(root / "third_party/requirements.txt", "torch==2.1\n")


@named({"mine": 120})
def a_console_appended_after_a_crash(root: Path) -> None:
    rows = course(1, 120)
    console(root / "mine.log", rows[:80])
    with (root / "mine.log").open("a") as file:
        file.write("Traceback (most recent call last):\nRuntimeError: CUDA error\n")
        for row in rows[60:]:
            file.write(f"step {row['step']} | loss {row['loss']} | reward {row['reward']}\n")


@named({f"multirun/2026-11-28/10-00-00/{n}": 60 for n in range(2)})
def hydra_multirun_with_evaluations(root: Path) -> None:
    for n in range(2):
        where = root / f"multirun/2026-11-28/10-00-00/{n}"
        console(where / "train.log", course(n))
        console(where / "eval.log", course(n + 5)[::20])


@named({"Nov27_10-00-00_vm": 60, "Nov28_09-00-00_vm": 30})
def another_interval(root: Path) -> None:
    """What begins at a later step because it logs less often continues nothing."""
    events(root / "runs/Nov27_10-00-00_vm", course(1), stamp=1780000000)
    events(root / "runs/Nov28_09-00-00_vm", course(2, 300)[9::10], stamp=1780080000)


@named({"work": 60})
def ranks_with_times(root: Path) -> None:
    for rank in range(3):
        rows = [
            row | {"time": 1.78e9 + row["step"] + rank / 50} for row in course(1, 60 - 5 * rank)
        ]
        jsonl(root / f"rank_{rank}.jsonl", rows)


@named({"env_0": 60, "env_1": 50})
def workers_with_rows_of_their_own(root: Path) -> None:
    for n in range(2):
        console(root / f"env_{n}.log", course(n, 60 - 10 * n))


@pytest.mark.parametrize("make", LAYOUTS, ids=lambda make: make.__name__)
def test_usual_layouts(tmp_path: Path, make: Layout) -> None:
    root = tmp_path / "work"
    root.mkdir()
    make(root)
    for place, _, files in os.walk(root):  # written some hours ago
        for name in files:
            os.utime(f"{place}/{name}", (1.7801e9, 1.7801e9))
    runs = rltui.read(root)
    found = sorted((run._view.name, max(map(len, run.values()))) for run in runs)
    assert found == sorted(LAYOUTS[make].items())


def test_what_was_rotated_while_it_was_followed_is_not_read_again(tmp_path: Path) -> None:
    console(tmp_path / "train.log", course(1))
    finder = RunFinder([tmp_path])
    finder.find()
    (tmp_path / "train.log").rename(tmp_path / "train.log.1")
    console(tmp_path / "train.log", course(1, 90, first=61))
    (run,) = finder.find().runs
    assert [f.path.name for f in run.files] == ["train.log"]


def test_tags_of_what_is_held_out_get_a_prefix(tmp_path: Path) -> None:
    console(tmp_path / "train.log", course(1))
    console(tmp_path / "eval.log", course(2)[::20])
    (run,) = rltui.read(tmp_path)
    found = {tag: len(points) for tag, points in run.items()}
    assert found == {"loss": 60, "reward": 60, "eval/loss": 3, "eval/reward": 3}


def test_a_link_of_a_resumed_run_shows_its_restart(tmp_path: Path) -> None:
    trl_resumed(tmp_path)
    (run,) = rltui.read(tmp_path)
    superseded = run["reward"].superseded
    assert superseded is not None
    assert superseded.steps.tolist() == list(range(71, 81))


def test_rows_that_a_tracker_dropped_are_said(tmp_path: Path) -> None:
    wandb(tmp_path, "abc123", course(1))
    assert "9 rows that the tracker dropped" in str(rltui.read(tmp_path).notes)


@pytest.mark.parametrize(
    ("name", "is_log"),
    [
        *((name, False) for name in ("bak57~", "a.log~", "a.log.bak", "a.log.orig", "#a.log#")),
        *((name, False) for name in (".a.log.swp", "a.log.save", "a.log.save.1", ".#a.log")),
        *((name, True) for name in ("a.log", "save.log", "orig.log", "bak.log")),
    ],
)
def test_leavings_of_editors(tmp_path: Path, name: str, is_log: bool) -> None:
    console(tmp_path / name, course(1))
    assert len(discover([tmp_path]).runs) == is_log
