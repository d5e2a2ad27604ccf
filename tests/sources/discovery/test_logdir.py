"""What is a run, and which files belong to it."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rltui.core.errors import SourceError
from rltui.sources import Reader
from rltui.sources.discovery.logdir import RunFinder
from tests.builders import discover
from tests.formats import encode
from tests.tables import cases
from tests.trackers.store import MlflowDatabase, TrackioDatabase

JSONL = '{"step": 1, "loss": 0.5}\n'


def events(path: Path, *tags: str, stamp: int = 1780000000, host: str = "h") -> Path:
    """Write an event file with one value for each tag into a directory."""
    path.mkdir(parents=True, exist_ok=True)
    file = path / f"events.out.tfevents.{stamp}.{host}"
    values = [encode.event(1, 1.78e9, encode.simple(t.encode(), 1.0)) for t in tags]
    file.write_bytes(encode.header() + b"".join(values))
    return file


def hparams(path: Path) -> None:
    file = events(path)
    value = encode.field(1, b"_hparams_/session_start_info") + encode.plugin(b"hparams")
    metric = encode.event(0, 1.78e9, encode.simple(b"hparam/best", 1.0))
    file.write_bytes(encode.header() + encode.event(0, 1.78e9, value) + metric)


def names(path: Path) -> dict[str, int]:
    return {r.key.name: len(r.files) for r in discover([path]).runs}


def tags(path: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for batch in Reader([path]).read_all():
        found.setdefault(batch.run.name, set()).update(t for b in batch.blocks for t in b.tags)
    return found


@cases(__file__, "runs_and_the_number_of_their_files")
def test_runs_and_the_number_of_their_files(
    tmp_path: Path, logs: dict[str, list[str] | str], runs: dict[str, int]
) -> None:
    for name, content in logs.items():
        path = tmp_path / name
        if content == "HPARAMS":
            hparams(path)
        elif isinstance(content, str):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content.replace("JSONL", JSONL))
        else:
            events(path, *content, stamp=1780000000 + name.endswith("/"))
    assert names(tmp_path) == runs


def test_series_have_the_names_that_the_training_gave_them(tmp_path: Path) -> None:
    events(tmp_path / "run", "train/loss")
    events(tmp_path / "run" / "eval_losses_value", "eval/losses")
    events(tmp_path / "run" / "eval/losses/policy", "eval/losses")
    hparams(tmp_path / "run" / "1795163947.164851")
    assert tags(tmp_path) == {"run": {"train/loss", "eval/losses/policy", "eval/losses/value"}}


def test_order_is_by_time_in_the_name_and_stays(tmp_path: Path) -> None:
    late = events(tmp_path, "a", stamp=1780000009)
    early = events(tmp_path, "a", stamp=1780000001)
    finder = RunFinder([tmp_path])
    (run,) = finder.find().runs
    assert [f.path for f in run.files] == [early, late]
    oldest = events(tmp_path, "a", stamp=1770000000)
    (run,) = finder.find().runs
    assert [f.path for f in run.files] == [early, late, oldest]
    assert [f.order for f in run.files] == [0, 1, 2]


def test_empty_jsonl_is_claimed_when_it_grows(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    file.touch()
    finder = RunFinder([tmp_path])
    found = finder.find()
    assert (found.runs, found.unclaimed) == ((), (file,))
    file.write_text(JSONL)
    assert [r.key.name for r in finder.find().runs] == ["run"]


def test_symlinks_neither_loop_nor_double(tmp_path: Path) -> None:
    events(tmp_path / "real", "a")
    (tmp_path / "real" / "up").symlink_to(tmp_path)
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    (tmp_path / "x.tfevents.1").symlink_to(tmp_path / "gone")
    assert names(tmp_path) == {"real": 1}


def test_names_of_a_store_are_escaped_once(tmp_path: Path) -> None:
    directory = tmp_path / "a\x07"
    directory.mkdir()
    TrackioDatabase(directory, ids=False).log("b\x1b", [(1, {"loss": 1.0})])
    assert names(tmp_path) == {r"a\x07/proj/b\x1b": 1}
    (directory / "progress.csv").write_text("step,loss\n1,0.5\n")
    (run,) = discover([tmp_path]).runs
    assert (run.key.name, run.files[1].alone) == (r"a\x07", r"a\x07/proj/b\x1b")


# -- names ------------------------------------------------------------------------------------


def test_a_name_is_never_given_twice(tmp_path: Path) -> None:
    jsonl = tmp_path / "exp.jsonl"
    jsonl.write_text(JSONL)
    finder = RunFinder([tmp_path])
    assert [r.key.name for r in finder.find().runs] == ["exp"]
    events(tmp_path / "exp", "a")
    (run,) = finder.find().runs
    assert (run.key.name, run.path, len(run.files)) == ("exp", jsonl, 2)
    jsonl.unlink()
    (run,) = finder.find().runs
    assert (run.key.name, len(run.files)) == ("exp", 1)


# -- paths that are wrong ---------------------------------------------------------------------


NO_STEP = "rows have no step (looked for step, global_step, _step and others)"
EMPTY = "empty so far"
REFUSED = {
    "": "empty so far",
    " \n": "empty so far",
    "hello\n": "not valid JSON",
    "hello": "not valid JSON",
    '{"prompt": "x"}\n': NO_STEP,
    '{"prompt": "x"}': NO_STEP,
    '{"ste': "its first row is not complete yet",
    "[1, 2]\n": "rows are not JSON objects",
    '{"step": 1, "prompt": "x", "answer": "y"}\n': "rows are texts, not metrics",
    '{"prompt": "' + 70_000 * "x": NO_STEP,
}


@pytest.mark.parametrize(("content", "reason"), REFUSED.items())
def test_a_file_that_is_no_log(tmp_path: Path, content: str, reason: str) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(content)
    with pytest.raises(SourceError) as caught:
        discover([file])
    assert str(caught.value).startswith(f"{file}: ")
    assert f"jsonl ({reason})" in str(caught.value) or reason in EMPTY
    found = discover([tmp_path])
    assert [(n.path, n.message) for n in found.refused] == [(file, reason)]


def test_files_that_are_not_read_are_bounded(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number}.ndjson").touch()
    (tmp_path / "0.jsonl").write_text("garbage\n")
    found = discover([tmp_path])
    assert found.refused[0].path.name == "0.jsonl"
    assert (len(found.refused), found.refused_count) == (20, 31)
    reader = Reader([tmp_path])
    reader.scan()
    assert len(reader.state.unclaimed) == 21
    assert reader.state.unclaimed[-1].message == "11 more files are not read"


def test_of_many_files_the_newest_are_opened(tmp_path: Path) -> None:
    for number in range(100):
        path = tmp_path / f"slurm-{number:03}.out"
        path.write_text("nothing of interest\n")
        os.utime(path, (1000 + number, 1000 + number))
    path.write_text("".join(f"step:{s} - actor/pg_loss:0.5 - critic/score/mean:1\n" for s in "123"))
    assert names(tmp_path) == {"slurm-099": 1}


def test_a_single_file_that_vanishes_is_left_to_its_feed(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(JSONL)
    finder = RunFinder([file])
    before = finder.find()
    file.unlink()
    assert finder.find() == before


def refuse(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    scandir = os.scandir

    def guarded(directory: Any) -> Any:
        if Path(directory) == path:
            raise PermissionError(13, "Permission denied")
        return scandir(directory)

    monkeypatch.setattr(os, "scandir", guarded)


def test_an_unreadable_directory_inside_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events(tmp_path / "run", "a")
    events(tmp_path / "closed", "a")
    refuse(monkeypatch, tmp_path / "closed")
    found = discover([tmp_path])
    assert [r.key.name for r in found.runs] == ["run"]
    assert [(n.path, n.message) for n in found.notes] == [
        (tmp_path / "closed", "cannot be read: Permission denied")
    ]


# -- stores of trackers, and files that come and go -------------------------------------------


@pytest.mark.parametrize("kind", [MlflowDatabase, TrackioDatabase])
@pytest.mark.parametrize("named", [False, True])
def test_only_a_new_run_of_a_store_is_a_change(
    tmp_path: Path, kind: type[MlflowDatabase | TrackioDatabase], named: bool
) -> None:
    store = kind(tmp_path)
    store.log("one", [(1, {"loss": 1.0})])
    finder = RunFinder([store.path if named else tmp_path])
    finder.find()
    assert not finder.stores_changed()
    store.log("one", [(2, {"loss": 1.0})])
    assert not finder.stores_changed()
    store.log("two", [(1, {"loss": 1.0})])
    assert finder.stores_changed()
    assert len(finder.find().runs) == 2
    assert not finder.stores_changed()


def test_a_locked_store_is_tried_again(tmp_path: Path) -> None:
    store = MlflowDatabase(tmp_path)
    store.log("one", [(1, {"loss": 1.0})])
    finder = RunFinder([tmp_path])
    with closing(sqlite3.connect(store.path, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        found = finder.find()
        assert (found.runs, "locked" in found.notes[0].message) == ((), True)
        assert not finder.stores_changed()
    assert finder.stores_changed()
    assert len(finder.find().runs) == 1
    assert not finder.stores_changed()


def test_a_file_that_comes_back_has_its_number(tmp_path: Path) -> None:
    file, other = (events(tmp_path, "a", stamp=n) for n in (1_780_000_000, 1_780_000_001))
    finder = RunFinder([tmp_path])
    before = finder.find().runs
    content = file.read_bytes()
    file.unlink()
    assert [f.path for f in finder.find().runs[0].files] == [other]
    file.write_bytes(content)
    again = finder.find().runs
    assert [(f.path, f.order) for f in again[0].files] == [
        (f.path, f.order) for f in before[0].files
    ]


def test_an_empty_file_that_is_waited_for(tmp_path: Path) -> None:
    """It may hold text before its first row."""
    file, run = tmp_path / "train.log", tmp_path / "run"
    file.touch()
    events(run, "x")
    with pytest.raises(SourceError, match="empty so far"):
        discover([file])
    finder = RunFinder([file, run], waits=True)
    found = finder.find()
    assert [r.path for r in found.runs] == [run]
    assert [(n.path, n.message) for n in found.refused] == [(file, "empty so far")]
    assert file in found.unclaimed
    file.write_text("loading the model\n")
    found = finder.find()
    assert len(found.runs) == 1
    assert file in found.unclaimed
    assert "1 line of text" in found.refused[0].message
    file.write_text("loading the model\nstep 1 loss=0.5\nstep 2 loss=0.4\n")
    found = finder.find()
    assert {f.path for r in found.runs for f in r.files} >= {file}
    assert (found.refused, found.notes) == ((), ())
