"""A run with too few rows for a verdict has no tick, and every view says why."""

from __future__ import annotations

import pytest

from rltui.core.level import Level
from rltui.draw.line import plain
from rltui.draw.view import View
from rltui.output.json_document import check_document
from rltui.output.text_report import check_text, verdict_line
from rltui.pages.findings.findings_pane import findings_pane
from rltui.pages.run.header import verdict_spans
from rltui.session import Session
from tests.builders import a_batch, steps
from tests.fakes import a_session, grpo_tags

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
