"""One line for a status bar."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from rltui.core.batch import Batch, RunKey
from rltui.core.level import Level
from rltui.core.text import cell_width
from rltui.facts.runs import ListedRuns
from rltui.output.text_report import WIDTH, status_line
from tests.builders import a_batch
from tests.fakes import a_session
from tests.hostile import PAYLOADS


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


def test_nothing() -> None:
    assert status_line(a_session()) == "rltui: no runs"


@pytest.mark.parametrize("count", [1, 2])
def test_it_is_short_and_harmless(count: int) -> None:
    name = "".join(PAYLOADS) + "名" * 100
    line = status_line(a_session(*(run(f"{i}{name}", sick=True) for i in range(count))))
    assert cell_width(line) <= WIDTH
    assert line.isprintable()
