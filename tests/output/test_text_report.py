"""Text reports: colours of badges, and what chat services take for a mention.

One line for a status bar.
The JSON that people's programs read.
"""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rltui.core.batch import Batch, RunKey
from rltui.core.level import Level
from rltui.core.text import cell_width
from rltui.facts.runs import ListedRuns
from rltui.output.json_text import dump
from rltui.output.markdown import without_mentions
from rltui.output.text_report import WIDTH, painter, status_line
from tests.builders import a_batch
from tests.fakes import a_session
from tests.hostile import PAYLOADS
from tests.tables import cases

REPORT = """\
✖ run (PPO, step 9): 2 bad
    ▲ entropy, since 4
      check first: KL 0 now, 1.66 at 4,608 ✖ (one spike?)
12:30:01 ✖ run: loss
✔ calm
· short
○ over, 3 to 9
✖name
"""


def test_the_badge_that_begins_a_line_has_the_colour_of_its_level() -> None:
    text = painter(True)(REPORT)
    assert re.findall(r"(.*?)\x1b\[(\d+)m(.)\x1b\[0m", text) == [
        ("", "31", "✖"),
        ("    ", "33", "▲"),
        ("12:30:01 ", "31", "✖"),
        ("", "32", "✔"),
    ]
    assert re.sub(r"\x1b\[\d+m", "", text) == REPORT


def test_without_colour_nothing_changes() -> None:
    assert painter(False)(REPORT) == REPORT


@cases(__file__, "mentions_of_a_text_become_plain")
def test_mentions_of_a_text_become_plain(text: str, shown: str) -> None:
    assert without_mentions(text) == shown


def run(name: str, *, sick: bool, more: dict[str, list[float]] | None = None) -> Batch:
    values = [*(1.0 / (i + 1) for i in range(30)), math.nan if sick else 0.01]
    batch = a_batch({"loss": values, **(more or {})})
    source = batch.source._replace(path=Path("/logs", name, "log.jsonl"))
    return replace(batch, run=RunKey(0, name), source=source)


def test_the_worst_run_has_the_word() -> None:
    line = status_line(a_session(run("a", sick=False), run("b", sick=True), run("c", sick=False)))
    counts, _, words = line.partition("  ")
    assert counts.startswith("✖ 1 ")
    assert words.startswith("b 31: ")


def test_the_word_is_with_the_run_that_heads_the_list() -> None:
    """Of one level: the run with more findings, not the first by name."""
    entropy = [1.0] * 10 + [1e-4] * 21
    session = a_session(run("a", sick=True), run("b", sick=True, more={"entropy": entropy}))
    listed = ListedRuns(session.runs())
    assert [r.verdict.level for r in session.runs()] == [Level.BAD, Level.BAD]
    assert [x.name for x in listed.shown("verdict", "")] == ["b", "a"]
    assert status_line(session).partition("  ")[2].startswith("b 31")


def test_a_single_run_is_named() -> None:
    assert status_line(a_session(run("a", sick=False))).split() == ["✔", "a", "31"]
    assert status_line(a_session(run("a", sick=True))).startswith("✖ a 31: ")


def test_a_status_line_without_runs_says_so() -> None:
    assert status_line(a_session()) == "rltui: no runs"


@pytest.mark.parametrize("count", [1, 2])
def test_a_status_line_is_short_and_harmless(count: int) -> None:
    name = "".join(PAYLOADS) + "名" * 100
    line = status_line(a_session(*(run(f"{i}{name}", sick=True) for i in range(count))))
    assert cell_width(line) <= WIDTH
    assert line.isprintable()


_NUMBERS = {"a": 1e-05, "b": float("nan"), "c": [-float("inf"), 0.1], "d": 2**53 + 1, "e": None}
_READ = {"a": 1e-05, "b": None, "c": [None, 0.1], "d": 2**53 + 1, "e": None}


@pytest.mark.parametrize(
    "text", ["plain", "größe ∞", "\udcff.jsonl", "\x1b[31m", 2**80], ids=list("abcde")
)
def test_any_document_is_strict_json_in_ascii(text: str | int) -> None:
    found = dump({"text": text, "numbers": _NUMBERS, "pair": (1, True)})
    assert found.isascii()
    assert found.endswith("}\n")
    assert "\x1b" not in found
    assert json.loads(found) == {"text": text, "numbers": _READ, "pair": [1, True]}


@pytest.mark.parametrize("text", ["plain", "größe"])
def test_numbers_of_numpy_are_numbers(text: str) -> None:
    found = dump(
        {
            "single": np.float32(0.1),
            "double": np.float64("nan"),
            "count": np.int64(3),
            "flag": np.bool_(True),
            "level": Level.BAD.word,
            "text": text,
        }
    )
    assert json.loads(found) == {
        "single": 0.10000000149011612,
        "double": None,
        "count": 3,
        "flag": True,
        "level": "bad",
        "text": text,
    }
