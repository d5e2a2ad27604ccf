"""The step of a run is that of the axis on which most of its tags lie."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import pytest

from rltui.core.batch import Restart, RunKey
from rltui.core.block import Block
from rltui.store import RunData
from tests.builders import LOGDIR, START, a_batch, a_block

ITERATIONS = ("Loss/surrogate", "Loss/value_function", "Policy/mean_std", "Train/mean_reward")
SECONDS = ("Train/mean_reward/time",)

Steps = Callable[[int], int]


def rows(
    tags: Iterable[str], step: Steps, numbers: Sequence[int], seconds: float | None = 2.5
) -> Block:
    """One row for each number; row n was written ``n * seconds`` after the start."""
    walls = [math.nan if seconds is None else START + n * seconds for n in numbers]
    values = {t: [float(n) for n in numbers] for t in tags}
    return a_block(values, steps=[step(n) for n in numbers], walls=walls)


def by_iteration(last: int = 40, seconds: float | None = 2.5) -> Block:
    return rows(ITERATIONS, lambda n: n, range(last), seconds)


def by_second(last: int = 40, seconds: float | None = 2.5) -> Block:
    return rows(SECONDS, lambda n: round(2.5 * n), range(last), seconds)


@pytest.mark.parametrize("seconds", [2.5, None])
def test_seconds_beside_iterations_are_not_the_steps_of_a_run(seconds: float | None) -> None:
    run = RunData(RunKey(0, "."), LOGDIR)
    run.apply(a_batch(by_iteration(seconds=seconds), by_second(seconds=seconds)))
    assert run.off_axis == frozenset(SECONDS)
    assert (run.first_step, run.last_step) == (0, 39)
    assert run.series(SECONDS[0]).steps[-1] == 98


def test_episodes_beside_environment_steps_are_not_the_steps_of_a_run() -> None:
    losses = rows(["loss", "entropy", "lr"], lambda n: 2048 * (n + 1), range(30))
    episodes = rows(["return/episode", "length/episode"], lambda n: n + 1, range(30))
    run = RunData(RunKey(0, "."), LOGDIR)
    run.apply(a_batch(episodes, losses))
    assert run.off_axis == {"return/episode", "length/episode"}
    assert (run.first_step, run.last_step) == (2048, 61_440)


def test_of_two_axes_with_about_as_many_tags_the_finer_one_counts() -> None:
    episodes = rows(["a/episode", "b/episode", "c/info"], lambda n: 5 * n, range(1, 31))
    frames = rows(["a", "b"], lambda n: 900 * n, range(1, 31))
    run = RunData(RunKey(0, "."), LOGDIR)
    run.apply(a_batch(episodes, frames))
    assert (run.first_step, run.last_step) == (900, 27_000)


def test_a_resume_continues_both_axes() -> None:
    run = RunData(RunKey(0, "."), LOGDIR)
    for order, numbers in enumerate((range(30), range(20, 50))):
        blocks = (
            rows(ITERATIONS, lambda n: n, numbers),
            rows(SECONDS, lambda n: round(2.5 * n), numbers),
        )
        run.apply(a_batch(*blocks, source=f"events.{order}", order=order))
    assert (run.off_axis, run.last_step) == (frozenset(SECONDS), 49)
    assert run.series(SECONDS[0]).restarts.tolist() == [50]


# --- what is on the axis of the run, however much it differs


def one_axis(*blocks: Block) -> RunData:
    run = RunData(RunKey(0, "."), LOGDIR)
    run.apply(a_batch(*blocks))
    assert run.off_axis == frozenset()
    return run


@pytest.mark.parametrize("seconds", [2.5, None])
def test_a_tag_that_ended_early_or_is_logged_rarely(seconds: float | None) -> None:
    many = by_iteration(last=400, seconds=seconds)
    early = rows(["warmup/loss"], lambda n: n, range(60), seconds)
    rare = rows(["eval/a", "eval/b"], lambda n: n, range(0, 300, 50), seconds)
    assert one_axis(many, early, rare).last_step == 399


def test_a_log_that_was_converted_tag_by_tag() -> None:
    """All times are those of the conversion."""
    first = a_block({"a": [1.0] * 40}, steps=range(40), walls=[START + 1e-3 * n for n in range(40)])
    walls = [START + 1 + 1e-3 * n for n in range(400)]
    second = a_block({"b": [1.0] * 400, "c": [1.0] * 400}, steps=range(400), walls=walls)
    assert one_axis(first, second).last_step == 399


def test_tags_of_which_a_restart_left_no_point_have_no_axis() -> None:
    run = RunData(RunKey(0, "."), LOGDIR)
    run.apply(a_batch(rows(["a", "b"], lambda n: n, range(3, 9))))
    run.apply(a_batch(Restart(1)))
    run.apply(a_batch(rows(["c"], lambda n: n, range(1, 3))))
    run.apply(a_batch(rows(["c"], lambda n: n, range(7))))
    run.apply(a_batch(rows(["b"], lambda n: n, range(1, 7))))
    assert run.series("a").count == 0
    assert run.off_axis == frozenset()
