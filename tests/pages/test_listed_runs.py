"""What the list of runs knows of them, found again for those that changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rltui.core.address import parse_logdir
from rltui.core.level import Level
from rltui.draw.view import View
from rltui.facts.runs import ListedRuns, runs_matching
from rltui.pages.runs.lines import RunRows
from rltui.session import Session
from tests.fakes import a_session, grpo_batch, grpo_clock

VIEW = View()


@pytest.fixture
def session() -> Session:
    return a_session(
        grpo_batch(60, run="bad/run"),
        grpo_batch(30, run="calm", collapse=None),
        grpo_batch(20, run="young", collapse=None),
        clock=grpo_clock(),
    )


def test_runs_are_found_by_their_host() -> None:
    near, far = grpo_batch(20, run="near"), grpo_batch(20, run="far")
    far = replace(far, run_path=parse_logdir("node8:/runs/far"))
    runs = a_session(near, far, clock=grpo_clock()).runs()
    assert [run.name for run in runs_matching(runs, "node8")] == ["far"]


def test_an_order_is_kept_until_a_run_changes(session: Session) -> None:
    listed, runs = ListedRuns(session.runs()), session.runs()
    assert next(x.name for x in listed.shown("verdict", "")) == "bad"
    assert runs[0].full_report is not None
    runs[0].full_report = replace(runs[0].full_report, findings=(), level=Level.UNKNOWN)
    runs[0].version += 1
    listed.refresh(runs)
    assert [x.name for x in listed.shown("verdict", "")][-1] == "bad"


def test_names_and_columns_stay_while_a_filter_is_typed(session: Session) -> None:
    listed = ListedRuns(session.runs())
    heads = [
        RunRows(listed.shown("name", text), VIEW, 60, None, None, listed.names).head()
        for text in ("", "calm")
    ]
    assert heads[0] == heads[1]
