"""Runs whose rows were counted, and runs with too few rows for a verdict."""

from __future__ import annotations

import pytest

from rltui.core.level import Level
from rltui.draw.line import plain
from rltui.draw.view import View
from rltui.output.json_document import check_document
from rltui.output.text_report import check_text, verdict_line
from rltui.pages.findings.findings_pane import findings_pane
from rltui.pages.findings.lines import since_words
from rltui.pages.metric.lines import explain_tag
from rltui.pages.metric.metric_chart import chart_of
from rltui.pages.run.header import run_header, verdict_spans
from rltui.session import RunView, Session
from tests.builders import a_batch, a_source, steps
from tests.fakes import a_session, grpo_tags
from tests.pages.parts import parts_of_run, parts_of_runs


def session_of(counted: bool) -> Session:
    source = a_source("progress.csv", format="csv", steps_are_row_numbers=counted)
    return a_session(a_batch(grpo_tags(60), source=source))


@pytest.mark.parametrize(("counted", "word"), [(True, "row"), (False, "step")])
def test_the_header_the_list_and_the_chart_name_what_is_counted(counted: bool, word: str) -> None:
    session = session_of(counted)
    (run,) = session.runs()
    assert f"  {word} 60" in plain(run_header(run, View(), 120, None))
    assert chart_of(run, "actor/entropy", View()).x_unit == word
    assert ("row 60" in text_of_list(session)) is counted
    assert f"{word}s 1 to 60" in text_of_overview(run)
    explained = "\n".join(plain(x) for x in explain_tag(run, "actor/entropy", View(), 80))
    assert f"at {word} 60" in explained
    assert ("its rows were counted" in explained) is counted


@pytest.mark.parametrize(("counted", "since"), [(True, "row 38"), (False, "38")])
def test_what_a_finding_counts_from_is_named(counted: bool, since: str) -> None:
    source = a_source("progress.csv", format="csv", steps_are_row_numbers=counted)
    session = a_session(a_batch(grpo_tags(60, collapse=31), source=source))
    assert f"entropy collapse, since {since}: " in check_text(session)
    assert f"(bad since {since})" in verdict_line(session)
    (run,) = session.runs()
    assert run.report is not None
    found = next(f for f in run.report.findings if f.rule == "entropy_collapse")
    word = "row" if counted else "step"
    assert since_words(run, found) == f"{word} 38, 22 {word}s ago"


def text_of_list(session: Session) -> str:
    return "\n".join(plain(x) for lines in parts_of_runs(session, View(), 120) for x in lines)


def text_of_overview(run: RunView) -> str:
    return "\n".join(plain(x) for p in parts_of_run(run, "overview", View(), 160, 45) for x in p)


WHY = "only {}: too few to judge (a verdict needs 5)"


def after(rows: int, **tags: list[float]) -> Session:
    return a_session(a_batch(steps(1, grpo_tags(rows) | tags)))


@pytest.mark.parametrize(("rows", "words"), [(1, "1 row"), (2, "2 rows"), (4, "4 rows")])
def test_every_view_says_how_little_there_is_to_judge(rows: int, words: str) -> None:
    session, why = after(rows), WHY.format(words)
    (run,) = session.runs()
    assert run.verdict.level is Level.UNKNOWN
    assert why in check_text(session)
    assert why in verdict_line(session)
    (entry,) = check_document(session)["runs"]
    assert (entry["level"], entry["reason"]) == ("unknown", why)
    assert set(entry["categories"].values()) == {"unknown"}
    assert "not judged" in plain(verdict_spans(run, View(), words=True))
    pane = " ".join(plain(line).strip() for line in findings_pane(run, 60, 12, View()))
    assert why in " ".join(pane.split())
    for text in (check_text(session), pane):
        assert "✔" not in text
        assert "nothing to report" not in text


def test_no_metric_has_a_tick_before_the_run_has_one() -> None:
    (run,) = after(4).runs()
    assert {run.verdict.tag_level(tag) for tag in run.infos} == {Level.UNKNOWN}
    doubts = {run.verdict.doubt(tag) for tag in run.infos}
    assert "only 4 rows: too few to judge" in doubts


def test_what_is_wrong_from_the_first_row_is_found_in_a_short_log() -> None:
    session = after(3, **{"actor/grad_norm": [0.3, float("nan"), float("nan")]})
    (run,) = session.runs()
    assert run.verdict.level is Level.BAD
    assert "too few" not in check_text(session)
