"""Runs that stand still for the screens while their logs are read and judged further."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rltui.core.batch import TextPoint
from rltui.session import RunView, Session
from tests.builders import a_batch, a_source, steps
from tests.fakes import FakeReader, a_session, grpo_clock, grpo_tags


def rows(first: int, count: int, run: str = "grpo", collapse: int | None = None) -> Any:
    tags = grpo_tags(count, first, collapse)
    return a_batch(steps(first, tags), run=run, source=a_source(f"{run}.events"))


def held(*batches: Any) -> tuple[Session, FakeReader, RunView]:
    reader = FakeReader()
    session = a_session(*batches, reader=reader, clock=grpo_clock())
    session.start()
    session.drain()
    session.run_list.hold()
    return session, reader, session.runs()[0]


def test_a_run_that_is_new_waits() -> None:
    session, reader, run = held(rows(1, 30))
    reader.feed(rows(1, 30, run="new"))
    session.drain()
    assert session.runs() == [run]
    assert len(session.views) == 1
    session.run_list.release()
    assert [r.name for r in session.runs()] == ["grpo", "new"]


def test_the_reference_is_the_run_that_is_shown() -> None:
    session, reader, first = held(rows(1, 60, "a"), rows(1, 60, "b"))
    session.run_list.release()
    second = session.runs()[1]
    session.reference.choose(first)
    session.drain()
    session.run_list.hold()
    for run in ("a", "b"):
        reader.feed(rows(61, 5, run))
    session.drain()
    assert second.reference is first
    now = session.run_list.in_order(now=True)
    assert [r.reference for r in now] == [None, now[0]]
    session.reference.choose(second)
    session.drain()
    assert second.reference is first, "what is shown stands still"
    session.run_list.release()
    assert (first.reference, second.reference) == (second, None)


def test_texts_and_hyperparameters_stay_and_catch_up() -> None:
    def text(step: int) -> TextPoint:
        return TextPoint("val/generations", step, 0.0, f"at {step}")

    first = replace(rows(1, 60), texts=(text(60),), hparams={"lr": 1.0})
    session, reader, run = held(first)
    reader.feed(replace(rows(61, 3), texts=(text(61),), hparams={"lr": 2.0, "seed": 3}))
    session.drain()
    assert [s.steps for s in run.texts.sets()] == [[60]]
    assert run.hyperparameters.values == {"lr": 1.0}
    assert run.hyperparameters.changes() == []
    session.run_list.release()
    assert [s.steps for s in run.texts.sets()] == [[60, 61]]
    assert run.hyperparameters.values == {"lr": 2.0, "seed": 3}
    assert len(run.hyperparameters.changes()) == 1
