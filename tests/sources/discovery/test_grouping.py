"""Which files below a logdir are one training, by where they lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.core.batch import Joined
from rltui.sources import discover
from rltui.sources.discovery.logdir import RunFinder
from tests.sources.discovery.test_logdir import JSONL, events


def made(root: Path, *names: str) -> Path:
    """Write logs: a name without a suffix is a directory with an event file."""
    for name in names:
        path = root / name
        if path.suffix == ".jsonl":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(JSONL)
        else:
            events(path, "loss")
    return root


def grouped(root: Path) -> dict[str, list[str]]:
    return {
        r.key.name: sorted(f.path.relative_to(root).as_posix() for f in r.files)
        for r in discover([root]).runs
    }


EVENT = "events.out.tfevents.1780000000.h"
CASES = {
    "one file beside event files": ([".", "exp.jsonl"], {".": ["exp.jsonl", EVENT]}),
    "several files beside event files": (
        [".", "a.jsonl", "b.jsonl"],
        {".": [EVENT], "a": ["a.jsonl"], "b": ["b.jsonl"]},
    ),
    "by name, as verl does": (
        ["tb/proj/exp", "tb/proj/old", "proj/exp.jsonl"],
        {
            "tb/proj/exp": ["proj/exp.jsonl", f"tb/proj/exp/{EVENT}"],
            "tb/proj/old": [f"tb/proj/old/{EVENT}"],
        },
    ),
    "a directory of event files within that of the run": (
        ["exp/tb", "exp/metrics.jsonl", "other/tb"],
        {
            "exp": ["exp/metrics.jsonl", f"exp/tb/{EVENT}"],
            "other": [f"other/tb/{EVENT}"],
        },
    ),
    "event files in the only directory of the logdir": (["tb"], {".": [f"tb/{EVENT}"]}),
    "a name that two have": (
        ["a/exp", "b/exp", "exp.jsonl"],
        {"a/exp": [f"a/exp/{EVENT}"], "b/exp": [f"b/exp/{EVENT}"], "exp": ["exp.jsonl"]},
    ),
    "above the only run": (["runs/x", "mine.jsonl"], {"runs/x": ["mine.jsonl", f"runs/x/{EVENT}"]}),
    "above two runs": (
        ["runs/x", "runs/y", "mine.jsonl"],
        {"mine": ["mine.jsonl"], "runs/x": [f"runs/x/{EVENT}"], "runs/y": [f"runs/y/{EVENT}"]},
    ),
    "each over its own": (
        ["a/runs/x", "a/mine.jsonl", "b/runs/x", "b/mine.jsonl"],
        {
            "a/runs/x": ["a/mine.jsonl", f"a/runs/x/{EVENT}"],
            "b/runs/x": ["b/mine.jsonl", f"b/runs/x/{EVENT}"],
        },
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_one_training(tmp_path: Path, case: str) -> None:
    files, expected = CASES[case]
    assert grouped(made(tmp_path, *files)) == {k: sorted(v) for k, v in expected.items()}


def test_the_files_that_only_lie_beside_say_so(tmp_path: Path) -> None:
    made(tmp_path, "runs/x", "mine.jsonl")
    (run,) = discover([tmp_path]).runs
    found = {f.kind: (f.joined, f.alone) for f in run.files}
    assert found == {"tfevents": (Joined.OWN, ""), "jsonl": (Joined.SURELY, "mine")}


def test_a_run_stays_what_it_is_when_another_appears(tmp_path: Path) -> None:
    made(tmp_path, "runs/x", "mine.jsonl")
    finder = RunFinder([tmp_path])
    before = {r.key.name: len(r.files) for r in finder.find().runs}
    made(tmp_path, "runs/y")
    after = {r.key.name: len(r.files) for r in finder.find().runs}
    assert after == {**before, "runs/y": 1}


def test_a_log_that_comes_late_must_show_that_it_is_of_the_run(tmp_path: Path) -> None:
    made(tmp_path, "mine.jsonl")
    finder = RunFinder([tmp_path])
    finder.find()
    made(tmp_path, "runs/x")
    (run,) = finder.find().runs
    found = {f.kind: (f.joined, f.alone) for f in run.files}
    assert found == {"jsonl": (Joined.SURELY, "mine"), "tfevents": (Joined.SURELY, "runs/x")}


# -- a directory and a file on the command line ------------------------------------------------


def test_a_file_named_beside_a_directory_is_of_its_run(tmp_path: Path) -> None:
    made(tmp_path, "tb", "else/where.jsonl")
    (run,) = discover([tmp_path / "tb", tmp_path / "else/where.jsonl"]).runs
    assert (run.key.name, [f.kind for f in run.files]) == (".", ["tfevents", "jsonl"])
    assert run.files[1].joined is Joined.SURELY


def test_a_file_named_beside_a_directory_of_several_runs(tmp_path: Path) -> None:
    made(tmp_path, "tb/x", "tb/y", "else/x.jsonl", "else/z.jsonl")
    paths = [tmp_path / "tb", tmp_path / "else/x.jsonl", tmp_path / "else/z.jsonl"]
    found = {r.key.name: [f.kind for f in r.files] for r in discover(paths).runs}
    assert found == {"x": ["tfevents", "jsonl"], "y": ["tfevents"], "z.jsonl": ["jsonl"]}


# -- one log after the other -------------------------------------------------------------------


def rows(path: Path, first: int, last: int) -> None:
    path.write_text("".join(f'{{"step": {s}, "loss": {1 / s}}}\n' for s in range(first, last + 1)))


def test_a_log_that_goes_on_from_another_is_of_its_run(tmp_path: Path) -> None:
    rows(tmp_path / "exper_resumed.jsonl", 80, 200)  # written first, as copies are
    rows(tmp_path / "exper.jsonl", 1, 100)
    (run,) = discover([tmp_path]).runs
    assert (run.key.name, [f.path.name for f in run.files]) == (
        "exper",
        ["exper.jsonl", "exper_resumed.jsonl"],
    )


@pytest.mark.parametrize(
    ("name", "first"),
    [("train_b.jsonl", 1), ("train_b.jsonl", 102), ("other.jsonl", 50)],
    ids=["from the start", "after a gap", "of another name"],
)
def test_logs_of_two_runs_stay_apart(tmp_path: Path, name: str, first: int) -> None:
    rows(tmp_path / "train_a.jsonl", 1, 100)
    rows(tmp_path / name, first, 300)
    assert len(discover([tmp_path]).runs) == 2


def test_a_log_that_could_go_on_from_two_may_be_of_the_last_or_of_its_name(tmp_path: Path) -> None:
    rows(tmp_path / "train_a.jsonl", 1, 100)
    rows(tmp_path / "train_b.jsonl", 1, 100)
    rows(tmp_path / "train_a_more.jsonl", 50, 300)
    rows(tmp_path / "train_c.jsonl", 50, 300)
    found = {
        r.key.name: [(f.path.name, f.joined) for f in r.files] for r in discover([tmp_path]).runs
    }
    own, maybe = Joined.OWN, Joined.MAYBE
    assert found == {
        "train_a": [("train_a.jsonl", own), ("train_a_more.jsonl", maybe)],
        "train_b": [("train_b.jsonl", own), ("train_c.jsonl", maybe)],
    }
