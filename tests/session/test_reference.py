"""The runs of a session beside one of them."""

from __future__ import annotations

import pytest

from rltui.core.errors import UsageError
from rltui.session import RunView, Session
from rltui.session.session import Choice
from tests.fakes import FakeReader, a_session, grpo_batch

GOOD, LOST = "good/run", "lost"


def batches() -> tuple[object, ...]:
    return grpo_batch(60, run=GOOD, collapse=None), grpo_batch(60, run=LOST, collapse=30)


def off(run: RunView) -> list[str]:
    found = run.report.findings if run.report else ()
    return [f.rule for f in found if f.rule == "off_reference"]


def by_name(session: Session) -> dict[str, RunView]:
    return {v.key.name: v for v in session.runs()}


@pytest.mark.parametrize("name", [GOOD, "run"], ids=["name", "end of the path"])
def test_a_run_that_leaves_the_course_of_the_reference_is_found(name: str) -> None:
    session = a_session(*batches(), choice=Choice(reference=name))  # type: ignore[arg-type]
    runs = by_name(session)
    assert session.reference is runs[GOOD]
    assert (off(runs[LOST]), off(runs[GOOD])) == (["off_reference"], [])


def test_an_unknown_reference_is_an_error_once_all_is_read() -> None:
    with pytest.raises(UsageError, match="no run is named 'god/run'"):
        a_session(*batches(), choice=Choice(reference="god/run"))  # type: ignore[arg-type]


def test_a_comparison_begins_and_ends_while_watching() -> None:
    reader = FakeReader()
    session = a_session(reader=reader)
    session.start()
    reader.feed(*batches())  # type: ignore[arg-type]
    session.drain()
    runs = by_name(session)
    assert off(runs[LOST]) == []
    session.compare_with(runs[GOOD].key)
    assert session.unsettled
    session.clock.advance(10.0)  # type: ignore[attr-defined]
    session.drain()
    assert off(runs[LOST]) == ["off_reference"]
    session.compare_with(None)
    session.clock.advance(10.0)  # type: ignore[attr-defined]
    session.drain()
    assert off(runs[LOST]) == []
