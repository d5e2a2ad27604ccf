"""Runs that stand still for the screens while their logs are read and judged further.

Runs that are over: crashed, cancelled, finished, and those that only look so.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rltui.core.batch import Batch, LogTail, TextPoint
from rltui.core.level import RunState
from rltui.session import JudgedRun, Session
from tests.builders import START, a_batch, a_source, steps
from tests.clock import ManualClock
from tests.fakes import FakeReader, a_session, grpo_clock, grpo_tags


def rows(first: int, count: int, run: str = "grpo", collapse: int | None = None) -> Any:
    tags = grpo_tags(count, first, collapse)
    return a_batch(steps(first, tags), run=run, source=a_source(f"{run}.events"))


def held(*batches: Any) -> tuple[Session, FakeReader, JudgedRun]:
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


OOM = (
    "Traceback (most recent call last):",
    '  File "train.py", line 3, in <module>',
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
)


def a_console(*lines: str, after: int | None = None, **source: object) -> Batch:
    """Thirty rows, then these lines; ``after``: how many of them follow the last row."""
    info = a_source("stdout.log", format="console", precision_rank=1, **source)
    tail = LogTail(lines, len(lines) if after is None else after)
    return replace(a_batch(steps(1, grpo_tags(30)), source=info), tail=tail)


def judged(*batches: Batch) -> JudgedRun:
    (run,) = a_session(*batches).runs()
    return run


def state(*batches: Batch) -> RunState:
    run = judged(*batches)
    return run.progress.state


def test_a_traceback_that_rows_followed_is_no_end() -> None:
    assert state(a_console(*OOM, "step:31 - loss:1", after=0)) is not RunState.CRASHED


@pytest.mark.parametrize(
    ("code", "expected"), [(0, RunState.FINISHED), (1, RunState.CRASHED), (137, RunState.CRASHED)]
)
def test_the_exit_code_of_a_tracker(code: int, expected: RunState) -> None:
    assert state(replace(a_batch(steps(1, grpo_tags(30))), exit_code=code)) is expected


@pytest.mark.parametrize("later", [-5, 0, 5])
def test_the_errors_of_a_job_end_the_run_of_its_output(tmp_path: Path, later: int) -> None:
    output, errors = tmp_path / "slurm-7.out", tmp_path / "slurm-7.err"
    output.write_text("".join(f"step {n}, loss 0.5, reward 0.25\n" for n in range(9)) + "bye\n")
    errors.write_text("\n".join(OOM) + "\n")
    os.utime(output, (START, START))
    os.utime(errors, (START + later, START + later))
    session = Session([tmp_path], clock=ManualClock(START + 100))
    session.judge.prepare()
    session.read_all()
    (run,) = session.runs()
    assert run.progress.state is RunState.CRASHED
    assert "out of memory" in run.progress.exit_status.reason.lower()
    assert run.progress.last_step == 8


def test_the_console_that_was_written_last_decides() -> None:
    first = a_console(*OOM, modified=START)
    again = replace(
        a_batch(
            steps(20, grpo_tags(30)),
            source=a_source(
                "resumed.log", 1, format="console", precision_rank=1, modified=START + 500
            ),
        ),
        tail=LogTail(("fine",), 1),
    )
    assert state(first, again) is not RunState.CRASHED
