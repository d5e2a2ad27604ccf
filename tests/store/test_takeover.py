"""What a resumed log supersedes: of each tag what it logs again, on the axis of that tag."""

from __future__ import annotations

import math
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from rltui.core.batch import Restart, RunKey
from rltui.core.block import Block
from rltui.store import RunData
from tests.builders import LOGDIR, a_batch, a_block

EPISODE, STEP = "Episodic Reward/episode", "Average Reward/(t)"


def two_axes(first: int, last: int) -> list[Block]:
    """Rows of a training that logs episodes, and environment steps 2000 times as large."""
    rows: list[Block] = []
    for episode in range(first, last + 1, 5):
        rows.append(a_block({EPISODE: [episode]}, steps=[episode]))
        rows.append(a_block({STEP: [episode]}, steps=[episode * 2000]))
    return rows


def read(*files: list[Block | Restart]) -> RunData:
    run = RunData(RunKey(0, "."), LOGDIR)
    for order, rows in enumerate(files):
        for row in rows:
            run.apply(a_batch(row, source=f"events.{order}", order=order))
    return run


def test_a_declared_restart_counts_on_its_own_axis() -> None:
    run = read([*two_axes(5, 500)], [Restart(490), *two_axes(490, 600)])
    assert run.series(STEP).old_points[0].tolist() == [980_000, 990_000, 1_000_000]
    assert run.series(EPISODE).old_points[0].tolist() == [490, 495, 500]
    assert (run.extent.restarts, run.last_step) == ((490,), 1_200_000)


# --- against a model

LogRow = tuple[dict[str, int], float]
"""Step of each tag that is logged, and the value."""
SCALES = {"train": 1, "eval": 1, "frames": 500}
"""Each tag has its own axis, or shares that of another."""


@st.composite
def logs(draw: st.DrawFn) -> list[list[LogRow]]:
    """One to four files; each resumes somewhere in the one before it, or goes on behind it."""
    files: list[list[LogRow]] = []
    end, number = 0, 0.0
    for _ in range(draw(st.integers(1, 4))):
        at = max(1, end - draw(st.sampled_from([-1, -1, 0, 3, 100])))
        rows: list[LogRow] = []
        for _ in range(draw(st.integers(1, 10))):
            chosen = draw(st.sets(st.sampled_from(sorted(SCALES)), min_size=1))
            number += 1
            # NaN between values would be a gap: see test_gaps
            value = draw(st.sampled_from([number, number, math.inf]))
            rows.append(({t: at * SCALES[t] for t in sorted(chosen)}, value))
            at += draw(st.integers(1, 4))
        end = at - 1
        files.append(rows)
    return files


def expected(files: list[list[LogRow]], tag: str) -> tuple[list[int], list[int]]:
    """The steps that count, and those that a later file has superseded."""
    kept: list[int] = []
    lost: list[int] = []
    for number, rows in enumerate(files):
        own = [at[tag] for at, _ in rows if tag in at]
        later = [next((at[tag] for at, _ in f if tag in at), None) for f in files[number + 1 :]]
        limit = min((s for s in later if s is not None), default=None)
        kept += [s for s in own if limit is None or s < limit]
        lost += [s for s in own if limit is not None and s >= limit]
    return sorted(kept), sorted(lost)


def block_of(row: LogRow) -> list[Block]:
    """The blocks of one row: tags of one step together."""
    at, value = row
    by_step: Mapping[int, list[str]] = {s: [t for t in at if at[t] == s] for s in at.values()}
    return [a_block({t: [value] for t in tags}, steps=[s]) for s, tags in by_step.items()]


@given(logs(), st.randoms(use_true_random=False), st.booleans())
def test_any_order_of_arrival_gives_the_points_of_the_model(
    files: list[list[LogRow]], random: object, look: bool
) -> None:
    waiting = [[*rows] for rows in files]
    run = RunData(RunKey(0, "."), LOGDIR)
    while open_files := [i for i, rows in enumerate(waiting) if rows]:
        number = random.choice(open_files)  # type: ignore[attr-defined]
        for block in block_of(waiting[number].pop(0)):
            run.apply(a_batch(block, source=f"events.{number}", order=number))
        if look:
            for tag in run.tags:
                run.series(tag)
    for tag in run.tags:
        series = run.series(tag)
        kept, lost = expected(files, tag)
        assert series.steps.tolist() == kept
        assert sorted(series.old_points[0].tolist()) == lost
    assert run.last_step == max(expected(files, t)[0][-1] for t in run.tags)
    assert bool(run.extent.restarts) == any(expected(files, t)[1] for t in run.tags)
