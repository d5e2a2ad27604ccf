"""Usual layouts of a directory of logs: how many runs, their names, and their rows."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rltui
from rltui.sources.discovery.logdir import RunFinder
from tests.builders import discover
from tests.sources.discovery import layouts
from tests.sources.discovery.layouts import console, course, jsonl, monitor, wandb, write
from tests.tables import table

Layout = Callable[[Path], None]
#: Name -> what writes it, and the rows of each run.
LAYOUTS: dict[str, tuple[Layout, dict[str, int]]] = {}


def put(path: Path, root: Path, given: dict[str, Any]) -> None:
    """Write one entry of layouts.yaml."""
    kind, value = next(iter(given.items()))
    rest = {name: x for name, x in given.items() if name != kind}
    if kind == "text":
        write(path, value * rest.get("times", 1))
    elif kind == "link":
        path.symlink_to(value)
    elif kind == "copy":
        shutil.copy2(root / value, path)
    elif kind == "monitor":
        monitor(path)
    else:
        rows = course(value, rest.pop("last", 60))[slice(*rest.pop("rows", [None]))]
        getattr(layouts, kind)(path, rows=rows, **rest)


def written(files: list[dict[str, dict[str, Any]]]) -> Layout:
    def make(root: Path) -> None:
        for name, given in (pair for entry in files for pair in entry.items()):
            put(root / name, root, given)

    return make


for name, tree in table(__file__).items():
    LAYOUTS[name] = written(tree["files"]), tree["runs"]


def layout(**runs: int) -> Callable[[Layout], Layout]:
    """Register a layout that a function writes, with the rows of each run."""

    def register(make: Layout) -> Layout:
        LAYOUTS[make.__name__] = make, runs
        return make

    return register


@layout(work=60)
def wandb_beside_a_console_and_jsonl(root: Path) -> None:
    rows = course(1)
    wandb(root, "abc123", [r for r in rows if r["step"] % 7])
    console(root / "train.log", rows)
    jsonl(root / "logging.jsonl", rows)


@layout(work=59)
def wandb_one_step_ahead(root: Path) -> None:
    """The console counts from 1, the tracker from 0."""
    rows = course(1, 59)
    wandb(root, "abc123", [row | {"step": row["step"] - 1} for row in rows])
    console(root / "train.log", rows)


@layout(mine=120)
def a_console_appended_after_a_crash(root: Path) -> None:
    rows = course(1, 120)
    console(root / "mine.log", rows[:80])
    with (root / "mine.log").open("a") as file:
        file.write("Traceback (most recent call last):\nRuntimeError: CUDA error\n")
        for row in rows[60:]:
            file.write(f"step {row['step']} | loss {row['loss']} | reward {row['reward']}\n")


@layout(work=60)
def ranks_with_times(root: Path) -> None:
    for rank in range(3):
        rows = [
            row | {"time": 1.78e9 + row["step"] + rank / 50} for row in course(1, 60 - 5 * rank)
        ]
        jsonl(root / f"rank_{rank}.jsonl", rows)


@pytest.mark.parametrize("name", LAYOUTS)
def test_usual_layouts(tmp_path: Path, name: str) -> None:
    make, expected = LAYOUTS[name]
    root = tmp_path / "work"
    root.mkdir()
    make(root)
    for place, _, files in os.walk(root):  # written some hours ago
        for file in files:
            os.utime(f"{place}/{file}", (1.7801e9, 1.7801e9))
    runs = rltui.read(root)
    found = sorted((run._view.name, max(map(len, run.values()))) for run in runs)
    assert found == sorted(expected.items())


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
    LAYOUTS["trl resumed"][0](tmp_path)
    (run,) = rltui.read(tmp_path)
    superseded = run["reward"].superseded
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
