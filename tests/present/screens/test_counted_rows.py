"""What is shown of a run whose rows were counted because its log has no steps."""

from __future__ import annotations

import pytest

from rltui.present.kit.line import plain
from rltui.present.screens.explain import explain_tag
from rltui.present.screens.header import run_header
from rltui.present.screens.metric_chart import chart_of
from rltui.present.screens.view import View
from rltui.session import RunView, Session
from tests.builders import a_batch, a_source
from tests.fakes import a_session, grpo_tags
from tests.present.screens.parts import parts_of_run, parts_of_runs


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


def text_of_list(session: Session) -> str:
    return "\n".join(plain(x) for lines in parts_of_runs(session, View(), 120) for x in lines)


def text_of_overview(run: RunView) -> str:
    return "\n".join(plain(x) for p in parts_of_run(run, "overview", View(), 160, 45) for x in p)
