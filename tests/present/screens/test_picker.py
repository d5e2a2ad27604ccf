"""The list of logs on screen and as text: what it says, at every size, whatever the names."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.core.text import cell_width
from rltui.present.kit.line import Token, plain
from rltui.present.screens.picker import draw_picker
from rltui.present.screens.suggestion_lines import PathDisplay, suggestions_text
from rltui.present.screens.view import View
from rltui.sources.discovery.log_writers import LogWriter
from rltui.sources.discovery.suggestions import Suggestion, Suggestions
from rltui.sources.discovery.tree import Candidate

NOW = 1_800_000_000.0
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
        "newest": (Candidate(Path(path) / "run_7" / "events.1", "run_7", None, 1, NOW - age),),
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


def view() -> View:
    return View(screen="picker")


def text(
    suggestions: Suggestions | None, view: View, width: int = 120, height: int = 36
) -> list[str]:
    frame = draw_picker(suggestions, view, AROUND, NOW, width, height)
    return [plain(line).rstrip() for line in frame.lines]


def row(lines: list[str], word: str) -> str:
    [found] = [x for x in lines if word in x]
    return found


def test_path_runs_formats_age_and_writer() -> None:
    lines = text(some(), view())
    assert " ".join(row(lines, "12 runs").split()) == ("▌· runs 12 runs tfevents, jsonl 2 h ago")
    assert " ".join(row(lines, "exp1.jsonl").split()) == (
        "● /data/exp1.jsonl 1 run tfevents 3 s ago pid 4711 python train.py"
    )
    assert "2,000+ runs" in row(lines, "everything here")
    assert row(lines, "~/ray_results")


def test_the_working_directory_comes_first_then_the_newest() -> None:
    lines = text(some(), view())
    order = [i for w in ("In ~/proj", "12 runs", "Elsewhere", "exp1.jsonl", "ray_results")
             for i, x in enumerate(lines[:12]) if w in x]  # fmt: skip
    assert order == sorted(order)
    assert len(order) == 5


def test_narrow_screens_put_the_writer_below() -> None:
    lines = text(some(), view(), 80, 24)
    at = next(i for i, x in enumerate(lines) if "exp1.jsonl" in x)
    assert lines[at + 1].strip() == "pid 4711 python train.py"


def test_the_cursor_stays_with_its_offer() -> None:
    state = view()
    frame = draw_picker(some(), state, AROUND, NOW, 120, 36)
    assert state.cursor["picker"] == frame.items[0] == "/home/me/proj/runs"
    state.cursor["picker"] = "/home/me/ray_results"
    state.moved.add("picker")
    later = Suggestions((an_offer("/new", 1), *some().items), ())
    lines = text(later, state)
    assert "~/ray_results" in next(x for x in lines if "▌" in x)
    assert any("run_7/events.1" in x for x in lines), "its newest logs stand below the list"


def test_the_row_at_the_cursor_shows_without_colour() -> None:
    frame = draw_picker(some(), view(), AROUND, NOW, 120, 36)
    marked = [x for x in frame.lines if any(look.bg is Token.SEL for _, look in x)]
    assert len(marked) == 1
    assert "▌" in plain(marked[0])


def test_a_filter_and_what_is_left() -> None:
    state = view()
    state.filter, state.editing = "4711", "filter"
    lines = text(some(), state)
    assert sum("ago" in x for x in lines) == 2, "the row, and its newest log"
    assert "/4711█" in lines[-1]
    assert "1 of 4" in lines[-1]
    state.filter = "nope"
    assert any("nothing matches" in x for x in text(some(), state))


def test_before_and_without_a_result() -> None:
    assert any("looking for logs" in x for x in text(None, view()))
    words = " ".join(text(Suggestions((), ("runs", "$WANDB_DIR")), view()))
    for word in (
        "No logs found in ~/proj",
        "Looked in runs, $WANDB_DIR, and",
        "rltui watch LOGDIR",
    ):
        assert word in words
    assert "every 5 s" in words


def test_a_long_list_scrolls_with_the_cursor() -> None:
    suggestions = Suggestions(tuple(an_offer(f"/data/{i:02}", i) for i in range(60)), ())
    state = view()
    draw_picker(suggestions, state, AROUND, NOW, 80, 24)
    for item in ("/data/59", "/data/30", "/data/00"):
        state.cursor["picker"] = item
        state.moved.add("picker")
        assert any(item in x and "▌" in x for x in text(suggestions, state, 80, 24)), item
    assert any("Found" in x for x in text(suggestions, state, 80, 24)), "the heading is back"


def test_clicks_hit_the_rows() -> None:
    frame = draw_picker(some(), view(), AROUND, NOW, 80, 24)
    for y, item in frame.hits.items():
        name = "everything" if item == "/home/me/proj" else Path(item).name
        assert name in plain(frame.lines[y]) or "pid 4711" in plain(frame.lines[y])
    assert set(frame.hits.values()) == set(frame.items)


HOSTILE = Suggestions(
    (
        an_offer("/data/\x1b[31mred\n\u202e" + "x" * 300, 1, formats=("a" * 90, "b" * 90)),
        an_offer("/home/me/proj/実験/損失", -50, writers=(LogWriter(1, "python " + "y" * 190),)),
        an_offer("/home/me/proj/[b]", float("inf")),
    ),
    ("$" + "z" * 500,),
)


@pytest.mark.parametrize("marker", ["braille", "ascii"])
@pytest.mark.parametrize(
    "size", [(20, 5), (1, 1), (24, 6), (40, 10), (80, 24), (160, 45), (400, 90)]
)
def test_every_size_is_filled_exactly(size: tuple[int, int], marker: str) -> None:
    for suggestions in (None, Suggestions((), ("x",) * 40), some(), HOSTILE):
        for overlay in ("", "help"):
            for editing in ("", "filter"):
                state = View(screen="picker", marker=marker, overlay=overlay, editing=editing)
                frame = draw_picker(suggestions, state, AROUND, NOW, *size)
                assert len(frame.lines) == size[1]
                for line in frame.lines:
                    assert cell_width(plain(line)) == size[0]
                    assert plain(line).isprintable()
                    assert marker != "ascii" or plain(line).isascii() or "█" in plain(line)


def test_as_text_every_offer_is_one_harmless_line() -> None:
    told = suggestions_text(some(), AROUND, NOW)
    assert [x.split()[0] for x in told.splitlines()] == [
        "/data/exp1.jsonl",
        "~/proj/runs",
        "~/proj",
        "~/ray_results",
    ]
    assert all(x.isprintable() for x in suggestions_text(HOSTILE, AROUND, NOW).splitlines())
    assert suggestions_text(Suggestions((), ("runs",)), AROUND, NOW) == "no logs found in: runs\n"
