"""The state of a run is the same word in every view, also when the run stalls.

Findings as rows: one for each fact.
"""

from dataclasses import replace

import pytest

from rltui.core.batch import Batch, LogTail
from rltui.draw.line import plain
from rltui.draw.view import View
from rltui.facts.findings import finding_rows
from rltui.facts.runs import ListedRuns
from rltui.health.model import Diagnosed, Finding, FindingState
from rltui.output.text_report import check_text, run_lines, snapshot_text
from rltui.pages.findings.findings_detail import detail_lines
from rltui.pages.findings.lines import finding_line
from rltui.pages.run.header import run_header
from rltui.pages.runs.lines import RunRows
from rltui.session import JudgedRun, Session
from tests.builders import START, a_batch, a_source
from tests.clock import ManualClock
from tests.fakes import FakeReader, a_session, grpo_batch, grpo_clock
from tests.tui.hand import open_app

VIEW = View()
HOUR = 3600.0
#: Rows come every 20 s from START on; the last one of 60 after 20 minutes.
STATES = {
    "live": (30.0, "live", "30 s ago"),
    "waiting": (90.0, "waiting", "1 m"),
    "stalled": (1200.0, "stalled", "20 m"),
    "stopped": (50 * HOUR, "stopped", "2 d ago"),
}


def seen(age: float) -> Session:
    clock = ManualClock(START + 20.0 * 60 + age)
    session = a_session(grpo_batch(60, collapse=None), clock=clock)
    session.refresh_progress()
    return session


def a_crash() -> tuple[Batch, Batch]:
    batch = grpo_batch(60, collapse=None, run=".")
    end = START + 20.0 * 60
    log = a_source("train.log", format="console", precision_rank=1, modified=end)
    tail = LogTail(("Traceback (most recent call last):", "RuntimeError: CUDA out of memory"), 2)
    died = replace(a_batch({"x": [1.0]}, source=log), items=(), tail=tail)
    return batch, died


def crashed(age: float) -> Session:
    return a_session(*a_crash(), clock=ManualClock(START + 20.0 * 60 + age))


def views(session: Session) -> list[str]:
    """The lines of every view that show the state."""
    (run,) = session.runs()
    headers = [plain(run_header(run, VIEW, w, None)) for w in (80, 120, 160)]
    (row,) = RunRows(ListedRuns([run]).shown("name", ""), VIEW, 120).entries(0)
    reports = (check_text(session), snapshot_text(session))
    return [*headers, plain(row.draw(False)[0]), *(r.splitlines()[0] for r in reports)]


def lost() -> Session:
    """Its host got out of reach 10 s after its newest row."""
    clock, reader = ManualClock(START + 20.0 * 60 + 10), FakeReader()
    session = a_session(grpo_batch(60, collapse=None), clock=clock, reader=reader)
    reader.out_of_reach = session.logdirs
    session.refresh_progress()
    clock.advance(HOUR)
    session.refresh_progress()
    return session


def test_all_views_show_that_the_host_is_out_of_reach() -> None:
    for text in views(lost()):
        assert "unreachable" in text
        assert "live" not in text
        assert "ETA" not in text


@pytest.mark.parametrize("name", STATES)
def test_all_views_show_one_word(name: str) -> None:
    age, word, _ = STATES[name]
    for text in views(seen(age)):
        assert word in text
        for other in {"live", "waiting", "stalled", "stopped", "unknown"} - {word}:
            assert other not in text


@pytest.mark.parametrize("width", [80, 120, 160])
def test_the_age_of_a_crash_does_not_read_as_how_long_it_lasted(width: int) -> None:
    (run,) = crashed(50 * HOUR).runs()
    assert run.verdict.state_word == "crashed"
    text = plain(run_header(run, VIEW, width, None))
    assert "2 d ago" in text


@pytest.mark.parametrize("size", [(80, 24), (160, 45)])
async def test_a_stall_is_shown_everywhere(size: tuple[int, int]) -> None:
    async with open_app(grpo_batch(60, collapse=None), size=size) as hand:
        hand.app.session.start()
        assert "✔ ok" in hand.lines[0]
        hand.clock.advance(3600)
        hand.app.pump.age()
        await hand.settle()
        assert "stalled" in hand.lines[0]
        assert "1 watch" in hand.lines[0]
        assert "✔ ok" not in hand.lines[0]
        await hand.press("9")
        assert "▲ stalled" in hand.text
        assert "no row for 1 h" in hand.text
        await hand.press("e")
        assert "next step    Look at the end of the log" in hand.text
        await hand.press("escape", "escape", "r")
        assert "○ stalled" in hand.text


def a_run() -> tuple[JudgedRun, Finding]:
    (run,) = a_session(grpo_batch(60), clock=grpo_clock()).runs()
    return run, run.report.firing()[0]


def with_findings(run: JudgedRun, *findings: Finding) -> None:
    assert run.report is not None
    run.full_report = replace(run.report, findings=findings, diagnosed=Diagnosed())
    run.version += 1


def run_text(run: JudgedRun) -> str:
    return "\n".join(run_lines(run))


def over(finding: Finding, since: int, until: int, tag: str | None = None) -> Finding:
    ended = {"state": FindingState.RESOLVED, "since_step": since, "until_step": until}
    return finding._replace(tag=tag or finding.tag, **ended)  # type: ignore[arg-type]


def test_episodes_of_one_fact_are_one_row() -> None:
    run, finding = a_run()
    past = over(finding, 3, 5), over(finding, 10, 12)
    with_findings(run, finding, *past)
    (row,) = finding_rows(run)
    assert row.is_firing
    assert [f.since_step for f in row.earlier] == [10, 3]
    assert "(3 times)" in plain(finding_line(run, row, 60, View())[0])
    detail = [plain(x) for x in detail_lines(run, row.id, View(), 80, 30)]
    assert any(x.startswith("before") and "10 to 12" in x for x in detail)
    since, certain = row.finding.since_step, row.finding.certain_step
    when = f"since {since}, certain at {certain}"
    assert f"entropy collapse, 3 times: {when}, and 10 to 12, 3 to 5" in run_text(run)


async def test_the_next_finding_of_a_run_that_crashed_is_how_it_ended() -> None:
    async with open_app(*a_crash(), clock=ManualClock(START + 20.0 * 60 + 30.0)) as hand:
        await hand.press("exclamation_mark")
        assert "no findings" not in hand.notices
        assert "out of memory" in hand.text
        assert hand.run.tab == "findings"
        assert "1 bad" in hand.text
        assert "Firing" not in hand.text
