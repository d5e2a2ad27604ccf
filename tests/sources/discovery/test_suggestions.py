"""What is suggested when nobody named a path: where, what, how much it may cost."""

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from rltui.formats import FORMATS
from rltui.formats.base import Options
from rltui.sources.discovery import suggestions
from rltui.sources.discovery.suggestions import (
    NAMED,
    VARIABLES,
    LogdirFinder,
    Suggestion,
    quick_scan,
)
from rltui.sources.discovery.walk import Walker
from tests.clock import ManualClock
from tests.formats.encode import event, header, simple
from tests.places import FIXTURES
from tests.sources.discovery.test_processes import linux, running

NOWHERE = Path("/no/such/proc")


def jsonl(path: Path, age_s: float = 100.0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "".join(json.dumps({"step": i, "loss": 1.0 / (i + 1)}) + "\n" for i in range(5))
    )
    return aged(path, age_s)


def events(directory: Path, age_s: float = 100.0) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "events.out.tfevents.1700000000.host"
    path.write_bytes(header() + event(1, 1.7e9, simple(b"loss", 1.0)))
    return aged(path, age_s)


def aged(path: Path, age_s: float) -> Path:
    os.utime(path, (time.time() - age_s,) * 2)
    return path


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def suggested(
    here: Path | None, home: Path | None = None, proc: Path = NOWHERE, **environment: str
) -> tuple[Suggestion, ...]:
    # A clock that stands still: the machine of the tests may be busy.
    clock = ManualClock()
    return (
        LogdirFinder(here, environment, home, formats=FORMATS, trackers=(), clock=clock, proc=proc)
        .find()
        .items
    )


def paths(found: tuple[Suggestion, ...]) -> list[Path]:
    return [o.path for o in found]


def test_nothing_is_found_and_it_says_where_it_looked(here: Path, home: Path) -> None:
    found = LogdirFinder(here, {"TENSORBOARD_DIR": "x"}, home, trackers=(), proc=NOWHERE).find()
    assert found.items == ()
    assert {"working directory", "$TENSORBOARD_DIR", "~/ray_results", *NAMED} <= set(found.searched)


def test_runs_formats_age_and_place(here: Path) -> None:
    events(here / "a", 500)
    events(here / "b", 50)
    jsonl(here / "c.jsonl", 300)
    [item] = suggested(here)
    assert (item.path, item.runs, item.formats) == (here, 3, ("tfevents", "jsonl"))
    assert (item.here, item.partial, item.writers) == (True, False, ())
    assert 40 < time.time() - item.modified < 100
    assert [log.path.parent.name for log in item.newest] == ["b", "project", "a"]


@pytest.mark.parametrize("name", NAMED)
def test_directories_that_frameworks_make(here: Path, name: str) -> None:
    events(here / name / "x" / "y")
    [item] = suggested(here)
    assert (item.path, item.runs, item.here) == (here / name, 1, True)


@pytest.mark.parametrize("name", VARIABLES)
def test_variables_that_name_a_directory(here: Path, tmp_path: Path, name: str) -> None:
    events(tmp_path / "there" / "x")
    for value in (str(tmp_path / "there"), "../there"):
        [item] = suggested(here, **{name: value})
        assert item.path.resolve() == tmp_path / "there"
        assert (item.origin, item.here) == (f"${name}", False)


@pytest.mark.parametrize("uri", ["file://{}", "file:{}", "{}"])
def test_where_mlflow_writes(here: Path, tmp_path: Path, uri: str) -> None:
    events(tmp_path / "there" / "x")
    [item] = suggested(here, MLFLOW_TRACKING_URI=uri.format(tmp_path / "there"))
    assert item.path == tmp_path / "there"


def test_a_directory_that_adds_nothing_to_one_inside_it_is_left_out(here: Path) -> None:
    events(here / "runs" / "x")
    assert paths(suggested(here)) == [here / "runs"]
    events(here / "outputs" / "y", 10)
    found = suggested(here)
    assert paths(found) == [here, here / "outputs", here / "runs"]
    assert [o.runs for o in found] == [2, 1, 1]


def test_the_stores_of_trackers(here: Path, home: Path) -> None:
    shutil.copytree(FIXTURES / "mlflow" / "mlruns", here / "mlruns")
    shutil.copy(FIXTURES / "mlflow" / "mlflow.db", here)
    grid = home / ".cache" / "huggingface" / "trackio" / "grid.db"
    grid.parent.mkdir(parents=True)
    shutil.copy(FIXTURES / "trackio" / "tiny.db", grid)
    found = LogdirFinder(here, {}, home, clock=ManualClock(), proc=NOWHERE).find().items
    assert {(o.path, o.runs, frozenset(o.formats)) for o in found} == {
        (here, 3, frozenset(("mlflow", "mlflow-files"))),
        (here / "mlruns", 2, frozenset(("mlflow-files",))),
        (grid.parent, 1, frozenset(("trackio",))),
    }
    everything = next(o for o in found if o.path == here)
    assert {log.path.name for log in everything.newest if log.part} == {"mlflow.db"}


def test_a_working_directory_that_was_deleted(home: Path) -> None:
    events(home / "ray_results" / "x")
    assert paths(suggested(None, home)) == [home / "ray_results"]
    assert suggested(None, None) == ()


# -- what is a log -------------------------------------------------------------------------


def test_datasets_and_empty_directories_are_not_suggested(here: Path) -> None:
    for i in range(50):
        (here / f"train_{i}.jsonl").write_text('{"prompt": "x", "answer": "y"}\n')
    (here / "runs").mkdir()
    assert suggested(here) == ()


# -- bounds --------------------------------------------------------------------------------


def look(path: Path) -> tuple[int, bool]:
    found = quick_scan(Walker(FORMATS, (), Options()), path, ManualClock().monotonic, 1.0)
    return found.runs, found.partial


def test_a_look_ends_at_its_bounds(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(40):
        events(here / f"run_{i}")
    assert look(here) == (40, False)
    monkeypatch.setattr(suggestions, "MOST_ENTRIES", 60)
    runs, partial = look(here)
    assert partial
    assert 0 < runs < 40


# -- processes -----------------------------------------------------------------------------

WRITE = """
import json
f = open("exp.jsonl", "w")
for i in range(5):
    f.write(json.dumps({"step": i, "loss": 1.0}) + "\\n")
f.flush()
"""


@linux
def test_a_log_that_a_process_writes_elsewhere(here: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with running(WRITE, cwd=tmp_path / "there") as pid:
        found = [o for o in suggested(here, proc=Path("/proc")) if tmp_path in o.path.parents]
    assert paths(tuple(found)) == [tmp_path / "there" / "exp.jsonl"]
    assert [h.pid for h in found[0].writers] == [pid]
    assert found[0].writers[0].command.endswith("train.py")
    assert (found[0].origin, found[0].here) == ("running process", False)
