"""The list of logs on screen and as text: what it says, at every size, whatever the names."""

from pathlib import Path

import pytest

from rltui.draw.line import plain
from rltui.draw.view import View
from rltui.formats import FORMATS
from rltui.pages.picker.lines import (
    Choices,
    PathDisplay,
    choices_of,
    picker_header,
    suggestion_entries,
    suggestions_text,
)
from rltui.sources.discovery.processes import LogWriter
from rltui.sources.discovery.run_files import LogFile
from rltui.sources.discovery.suggestions import Suggestion, Suggestions
from rltui.trackers import TRACKERS
from tests.pages.parts import assert_harmless, drawn

NOW = 1_800_000_000.0
CSV = next(f for f in FORMATS if f.name == "csv")
HOME = Path("/home/me")
AROUND = PathDisplay(HOME / "proj", HOME)


def an_offer(path: str = "/data/x", age: float = 500.0, **changes: object) -> Suggestion:
    given = {
        "path": Path(path),
        "origin": "working directory",
        "here": Path(path).is_relative_to(HOME / "proj"),
        "runs": 1,
        "formats": ("tfevents",),
        "modified": NOW - age,
        "partial": False,
        "newest": (
            LogFile(
                Path(path) / "run_7" / "events.1",
                None,
                size=1,
                modified=NOW - age,
                directory="run_7",
            ),
        ),
    }
    return Suggestion(**{**given, **changes})  # type: ignore[arg-type]


def some() -> Suggestions:
    return Suggestions(
        (
            an_offer("/data/exp1.jsonl", 3, writers=(LogWriter(4711, "python train.py"),)),
            an_offer("/home/me/proj/runs", 7300, runs=12, formats=("tfevents", "jsonl")),
            an_offer("/home/me/proj", 7300, runs=2000, partial=True),
            an_offer("/home/me/ray_results", 260_000),
        ),
        ("working directory", "runs", "$TENSORBOARD_DIR"),
    )


def listed(
    suggestions: Suggestions | None, width: int = 120, height: int = 36, text: str = ""
) -> list[str]:
    """The list, without a cursor."""
    choices = choices_of(suggestions) if suggestions is not None else Choices()
    shown = choices.shown(text, AROUND)
    entries = suggestion_entries(suggestions, choices, shown, View(), AROUND, NOW, width, height)
    return [plain(line).rstrip() for entry in entries for line in entry.draw(False)]


def row(lines: list[str], word: str) -> str:
    [found] = [x for x in lines if word in x]
    return found


def test_path_runs_formats_age_and_writer() -> None:
    lines = listed(some())
    assert " ".join(row(lines, "12 runs").split()) == ("· runs 12 runs tfevents, jsonl 2 h ago")
    assert " ".join(row(lines, "exp1.jsonl").split()) == (
        "● /data/exp1.jsonl 1 run tfevents 3 s ago pid 4711 python train.py"
    )
    assert "2,000+ runs" in row(lines, "everything here")
    assert row(lines, "~/ray_results")


def test_the_newest_runs_of_a_place_are_choices() -> None:
    logs = tuple(
        LogFile(
            HOME / "proj" / f"run_{n}" / "progress.csv",
            CSV,
            size=1,
            modified=NOW - 10 * n,
            directory=f"run_{n}",
        )
        for n in range(3)
    )
    everything = an_offer("/home/me/proj", 5, runs=3, newest=logs)
    found = Suggestions((everything,), ())
    choices = choices_of(found)
    runs = [HOME / "proj" / f"run_{n}" for n in range(3)]
    assert [s.path for s in choices.shown("", AROUND)] == [HOME / "proj", *runs]
    assert [s.path for s in choices.shown("run_1", AROUND)] == [HOME / "proj" / "run_1"]
    assert "1 run" in row(listed(found), "run_2")


def a_log(name: str, age: float, **changes: object) -> LogFile:
    """A log of a run of the directory ``runs``, or of a store in it."""
    path = HOME / "proj" / "runs" / name / "progress.csv"
    given = {"path": path, "directory": name, "format": CSV, "size": 1, "modified": NOW - age}
    return LogFile(**{**given, **changes})  # type: ignore[arg-type]


def test_places_come_first_then_all_runs_newest_first_and_each_once() -> None:
    logs = tuple(a_log(f"run_{n}", 10 * n) for n in range(3))
    under = tuple(x._replace(directory=f"runs/{x.directory}") for x in logs)
    places = (
        an_offer("/data/y", 1, runs=2, newest=tuple(
            x._replace(path=Path(f"/data/y/{n}/progress.csv"), directory=f"{n}")
            for n, x in enumerate(logs[1:])
        )),
        an_offer("/home/me/proj", 5, runs=3, newest=under),
        an_offer("/home/me/proj/runs", 5, runs=3, newest=logs),
    )  # fmt: skip
    lines = listed(Suggestions(places, ()))
    words = ("everything here", "● runs ", "/data/y ", " 5 runs, newest", "run_0", "/data/y/0")
    order = [lines.index(row(lines, word)) for word in words]
    assert order == sorted(order)
    assert row(lines, "run_1")


def test_the_picker_says_how_many_runs_are_listed() -> None:
    logs = tuple(a_log(f"run_{n}", 10 * n) for n in range(3))
    runs = an_offer("/home/me/proj/runs", runs=54, newest=logs)
    assert row(listed(Suggestions((runs,), ())), "3 of 54 runs, newest first")
    more = runs._replace(partial=True)
    assert row(listed(Suggestions((more,), ())), "3 of 54+ runs, newest first")
    whole = runs._replace(runs=3)
    assert row(listed(Suggestions((whole,), ())), " 3 runs, newest first")
    assert row(listed(Suggestions((whole,), ()), text="run_2"), " 1 of 3 runs, newest first")


def test_directories_that_are_parts_of_a_run_are_no_choices() -> None:
    logs = (a_log("exp/losses_value", 1), a_log("exp", 2), a_log("other", 3))
    runs = an_offer("/home/me/proj/runs", runs=2, newest=logs)
    found = choices_of(Suggestions((runs,), ())).items
    assert [s.path.name for s in found] == ["runs", "exp", "other"]


def test_runs_of_trackers_are_choices() -> None:
    mlflow, trackio = (t for t in TRACKERS if t.name in ("mlflow-files", "trackio"))
    folder, database = HOME / "proj/mlruns/7/0af1", HOME / "proj/grid.db"
    stored = {"format": None, "path": database, "directory": ""}
    logs = (
        a_log("", 1, **{**stored, "path": folder}, tracker=mlflow, title="calm-owl"),
        *(a_log("", n, **stored, tracker=trackio, part=f"{n}", title=f"t{n}") for n in (2, 3)),
    )
    found = Suggestions((an_offer("/home/me/proj", runs=3, newest=logs),), ())
    _, first, second = choices_of(found).items
    assert (first.path, first.runs, first.formats) == (folder, 1, ("mlflow-files",))
    assert (second.path, second.runs, second.formats) == (database, 2, ("trackio",))
    assert row(listed(found), "mlruns/7/calm-owl ")
    assert row(listed(found, text="calm"), "calm-owl")
    assert row(listed(found), " 3 runs, newest first")


def test_a_filter_and_what_is_left() -> None:
    assert sum("ago" in x for x in listed(some(), text="4711")) == 1
    assert any("nothing matches" in x for x in listed(some(), text="nope"))


def test_before_and_without_a_result() -> None:
    assert any("looking for logs" in x for x in listed(None))
    words = " ".join(listed(Suggestions((), ("runs", "$WANDB_DIR"))))
    for word in (
        "No logs found in ~/proj",
        "Looked in runs, $WANDB_DIR, and",
        "rltui watch LOGDIR",
    ):
        assert word in words
    assert "every 5 s" in words


HOSTILE = Suggestions(
    (
        an_offer("/data/\x1b[31mred\n\u202e" + "x" * 300, 1, formats=("a" * 90, "b" * 90)),
        an_offer("/home/me/proj/実験/損失", -50, writers=(LogWriter(1, "python " + "y" * 190),)),
        an_offer("/home/me/proj/[b]", float("inf")),
    ),
    ("$" + "z" * 500,),
)


@pytest.mark.parametrize("marker", ["braille", "ascii"])
@pytest.mark.parametrize("size", [(20, 5), (24, 6), (40, 10), (80, 24), (160, 45), (400, 90)])
def test_whatever_is_found_fits_and_is_harmless(size: tuple[int, int], marker: str) -> None:
    (width, height), view = size, View(marker=marker)
    for suggestions in (None, Suggestions((), ("x",) * 40), some(), HOSTILE):
        choices = choices_of(suggestions) if suggestions is not None else Choices()
        shown = choices.shown("", AROUND)
        assert_harmless([picker_header(width)], width, view)
        entries = suggestion_entries(suggestions, choices, shown, view, AROUND, NOW, width, height)
        assert_harmless(drawn(entries), width, view)


def test_as_text_every_offer_is_one_harmless_line() -> None:
    listed = suggestions_text(some(), AROUND, NOW)
    assert [x.split()[0] for x in listed.splitlines()] == [
        "/data/exp1.jsonl",
        "~/proj/runs",
        "~/proj",
        "~/ray_results",
    ]
    assert all(x.isprintable() for x in suggestions_text(HOSTILE, AROUND, NOW).splitlines())
    assert suggestions_text(Suggestions((), ("runs",)), AROUND, NOW) == "no logs found in: runs\n"
