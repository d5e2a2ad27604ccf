"""Which files below a logdir are one training, by where they lie.

What a directory with thousands of files that are no logs costs: files opened, bytes read.
Console logs whose names say nothing, among all the other texts that lie about.
"""

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rltui.core.batch import Joined
from rltui.health.job_log import JobLogs
from rltui.sources.discovery import log_head
from rltui.sources.discovery import walk as strangers
from rltui.sources.discovery.logdir import RunFinder
from rltui.sources.discovery.walk import MOST_ALIKE_STRANGERS as MOST_ALIKE
from rltui.sources.discovery.walk import Walk
from tests.builders import discover
from tests.places import FIXTURES
from tests.sources.discovery.test_logdir import JSONL, events
from tests.tables import cases


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


@cases(__file__, "what_is_one_training")
def test_what_is_one_training(
    tmp_path: Path, files: list[str], expected: dict[str, list[str]]
) -> None:
    named = {run: [name.replace("EVENT", EVENT) for name in of] for run, of in expected.items()}
    assert grouped(made(tmp_path, *files)) == {run: sorted(of) for run, of in named.items()}


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


FILES = 3_000
TEXT = b"a prompt, its answer, and what a judge said of it\n" * 4
ROW = "step:{0} - actor/entropy_loss:0.5 - critic/score/mean:0.25\n"


class Reads:
    """Files below a directory that were opened, and bytes of them: small ones are read whole."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self.opens: Counter[str] = Counter()
        self.bytes_read = 0

    def opened(self, descriptor: int, path: Any, flags: int) -> int:
        """Count a file that was opened to be read."""
        if str(path).startswith(self._root) and not flags & os.O_WRONLY:
            self.opens[Path(path).name] += 1
            self.bytes_read += os.fstat(descriptor).st_size
        return descriptor

    def clear(self) -> None:
        self.opens.clear()
        self.bytes_read = 0


@pytest.fixture
def reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reads:
    found, real = Reads(tmp_path), os.open
    monkeypatch.setattr(os, "open", lambda p, f, *a: found.opened(real(p, f, *a), p, f))
    return found


def crowd(root: Path, name: str, files: int = FILES) -> None:
    for number in range(files):
        descriptor = os.open(root / name.format(number), os.O_WRONLY | os.O_CREAT)
        os.write(descriptor, TEXT)
        os.close(descriptor)


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("sample_{:05}.txt", MOST_ALIKE),
        ("train_{:05}.txt", Walk.most_alike),
        ("{:05}.log", Walk.most_alike),
        ("sample-{:05}.out", Walk.most_alike),
    ],
)
def test_of_files_that_are_no_logs_a_few_are_opened_once(
    tmp_path: Path, reads: Reads, name: str, most: int
) -> None:
    crowd(tmp_path, name)
    finder = RunFinder([tmp_path], ends=JobLogs())
    found = finder.find()
    assert not found.runs
    assert sum(reads.opens.values()) == most
    assert reads.bytes_read == most * len(TEXT)
    reads.clear()
    finder.find()
    assert not reads.opens, "what is known is not read again"
    with (tmp_path / name.format(FILES - 1)).open("ab") as file:
        file.write(TEXT)
    reads.clear()
    finder.find()
    assert sum(reads.opens.values()) <= 2


CONSOLES = sorted((FIXTURES / "console").iterdir())
LOG = "".join(f"step {n}: loss={1 / n:.4f} reward={n}\n" for n in range(1, 30))


def found_in(logdir: Path) -> list[str]:
    return [file.path.name for run in discover([logdir]).runs for file in run.files]


@pytest.mark.parametrize("suffix", ["", ".md"])
@pytest.mark.parametrize("console", CONSOLES, ids=lambda path: path.stem)
def test_a_console_log_of_any_name_is_found(console: Path, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"monday{suffix}"
    path.write_bytes(console.read_bytes())
    assert found_in(tmp_path) == found_in(path) == [path.name]


@cases(__file__, "what_is_no_log_makes_no_run_and_no_word")
def test_what_is_no_log_makes_no_run_and_no_word(
    name: str, text: str, times: int, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text.replace("LOG\n", LOG) * times)
    found = discover([tmp_path])
    assert (found.runs, found.refused, found.notes) == ((), (), ())


def test_few_of_many_texts_are_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in range(20):
        (tmp_path / f"shard{folder}").mkdir()
        for number in range(60):
            (tmp_path / f"shard{folder}" / f"{number}.txt").write_text("a text of a data set\n")
    opened: list[Path] = []
    monkeypatch.setattr(log_head, "read_head", lambda path: opened.append(path) or b"a text")
    assert found_in(tmp_path) == []
    assert len(opened) == strangers.MOST_STRANGERS
    assert max(sum(p.parent == path.parent for p in opened) for path in opened) == 40


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_text_that_cannot_be_read_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text(LOG)
    (tmp_path / "secret.txt").chmod(0)
    found = discover([tmp_path])
    assert (found.runs, found.notes) == ((), ())


def test_logs_of_engines_belong_to_the_nearest_run(tmp_path: Path) -> None:
    made(tmp_path, "one", "two", "many/a.jsonl", "many/b.jsonl")
    line = "INFO 08-04 20:51:08 x] Avg prompt throughput: 0.0 tokens/s, Running: 1 reqs\n"
    for name in ("one/vllm.log", "one/logs/engine_0.log", "one/logs/engine_1.log"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(line)
    (tmp_path / "many/sglang_server.out").write_text(line)
    (tmp_path / "two/rollout.log").write_text(line + "step:1 - loss:0.5\nstep:2 - loss:0.4\n")
    found = {r.key.name: r.files for r in discover([tmp_path]).runs}
    assert {name: {f.path.name: f.beside for f in files} for name, files in found.items()} == {
        "one": {EVENT: False, "vllm.log": True, "engine_0.log": True, "engine_1.log": True},
        "two": {EVENT: False, "rollout.log": False},
        "many/a": {"a.jsonl": False},
        "many/b": {"b.jsonl": False},
        "many/sglang_server": {"sglang_server.out": True},
    }
    joined = {f.path.name: f.joined for f in found["one"]}
    assert {joined.pop(EVENT), *joined.values()} == {Joined.OWN, Joined.SURELY}


def test_logs_of_engines_alone_are_the_run_that_begins_there(tmp_path: Path) -> None:
    finder = RunFinder([tmp_path])
    for name in ("run/engine_0.log", "run/engine_1.log"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("[2026-08-04 16:06:07] Decode batch, #running-req: 6\n")
    (alone,) = finder.find().runs
    made(tmp_path, "run/metrics.jsonl")
    (run,) = finder.find().runs
    assert run.key == alone.key == (0, "run")
    assert (len(alone.files), len(run.files)) == (2, 3)
