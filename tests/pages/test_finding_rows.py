"""Findings as rows: one for each fact."""

from __future__ import annotations

from dataclasses import replace

from rltui.draw.line import plain
from rltui.draw.view import View
from rltui.facts.findings import finding_rows, worst_rows
from rltui.health.model import Diagnosed, Finding, FindingState
from rltui.output.text_report import run_lines
from rltui.pages.findings.findings_detail import detail_lines
from rltui.pages.findings.lines import counts, finding_line
from rltui.session import RunView
from tests.fakes import a_session, grpo_batch, grpo_clock


def a_run() -> tuple[RunView, Finding]:
    (run,) = a_session(grpo_batch(60), clock=grpo_clock()).runs()
    assert run.report is not None
    return run, run.report.firing()[0]


def with_findings(run: RunView, *findings: Finding) -> None:
    assert run.report is not None
    run.full_report = replace(run.report, findings=findings, diagnosed=Diagnosed())
    run.version += 1


def run_text(run: RunView) -> str:
    return "\n".join(run_lines(run))


def over(finding: Finding, since: int, until: int, tag: str | None = None) -> Finding:
    ended = {"state": FindingState.RESOLVED, "since_step": since, "until_step": until}
    return finding._replace(tag=tag or finding.tag, **ended)  # type: ignore[arg-type]


def test_two_tags_that_show_the_same_are_one_row() -> None:
    run, finding = a_run()
    with_findings(run, finding, finding._replace(tag="other/entropy"))
    (row,) = finding_rows(run)
    assert len(row.findings) == 2
    assert "(2 tags)" in plain(finding_line(run, row, 60, View()))
    detail = [plain(x) for x in detail_lines(run, row.id, View(), 80, 30)]
    assert any(x.startswith("also") and "other/entropy" in x for x in detail)


def test_episodes_of_one_fact_are_one_row() -> None:
    run, finding = a_run()
    past = over(finding, 3, 5), over(finding, 10, 12)
    with_findings(run, finding, *past)
    (row,) = finding_rows(run)
    assert row.is_firing
    assert [f.since_step for f in row.earlier] == [10, 3]
    assert "(3 times)" in plain(finding_line(run, row, 60, View()))
    detail = [plain(x) for x in detail_lines(run, row.id, View(), 80, 30)]
    assert any(x.startswith("before") and "10 to 12" in x for x in detail)
    since = row.finding.since_step
    assert f"entropy collapse, 3 times: since {since}, and 10 to 12, 3 to 5" in run_text(run)


def test_what_is_excused_is_not_called_resolved() -> None:
    run, finding = a_run()
    with_findings(run, over(finding, 3, 5)._replace(state=FindingState.EXCUSED))
    (row,) = finding_rows(run)
    assert "3 to 5, excused" in plain(finding_line(run, row, 60, View()))
    assert "1 excused" in counts(run)
    assert "resolved" not in run_text(run) + counts(run)


def test_what_no_other_row_says_comes_before_repeats() -> None:
    run, finding = a_run()
    again = finding._replace(title="the same in other words")
    other = finding._replace(title="another fact", tag="other")
    with_findings(run, finding, again, other)
    rows = finding_rows(run)
    assert [r.finding.title for r in worst_rows(rows, 2)] == [finding.title, "another fact"]
