"""Points that grow at their end, and what the tags of one log share."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.store.points import GrowingPoints, Points, distinct
from tests.builders import a_batch, a_run, steps

NAN = float("nan")


def points(first: int, count: int, value: float = 0.0, wall: float = 0.0) -> Points:
    at = np.arange(first, first + count)
    return at, at + wall, np.full(count, value)


def columns(growing: GrowingPoints) -> list[list[float]]:
    return [c.tolist() for c in growing.points]


class TestGrowing:
    def test_what_was_handed_out_stays(self) -> None:
        growing = GrowingPoints(points(0, 3))
        before = growing.points
        growing.append(points(3, 500))
        assert before[0].tolist() == [0, 1, 2]
        assert growing.points[0].tolist() == list(range(503))

    def test_wider_values_widen_the_buffer(self) -> None:
        at, walls, values = points(0, 3)
        growing = GrowingPoints((at, walls, values.astype(np.float32)))
        growing.append(points(3, 2, 0.1))
        assert growing.points[2].tolist() == [0.0, 0.0, 0.0, 0.1, 0.1]

    def test_a_column_of_a_block_is_not_written(self) -> None:
        block = np.arange(10.0)
        growing = GrowingPoints((np.arange(3), np.arange(3.0), block[:3]))
        growing.append(points(3, 2, 9.0))
        assert block.tolist() == list(range(10))


class TestBeside:
    def test_steps_and_times_are_shared(self) -> None:
        one = GrowingPoints(points(0, 3, 1.0))
        other = GrowingPoints(points(0, 3, 2.0), [one])
        for growing, value in ((one, 1.0), (other, 2.0)):
            growing.append(points(3, 400, value))
        assert np.shares_memory(one.points[0], other.points[0])
        assert np.shares_memory(one.points[1], other.points[1])
        assert columns(one)[0] == columns(other)[0] == list(range(403))
        assert set(columns(one)[2]) == {1.0}
        assert set(columns(other)[2]) == {2.0}

    def test_one_that_is_behind_can_be_shared(self) -> None:
        one = GrowingPoints(points(0, 9))
        other = GrowingPoints(points(0, 3), [one])
        other.append(points(3, 9))
        assert columns(other)[0] == list(range(12))
        assert columns(one)[0] == list(range(9))
        one.append(points(9, 3))
        assert columns(one)[0] == list(range(12))

    def test_they_part_when_they_differ(self) -> None:
        one = GrowingPoints(points(0, 3))
        other = GrowingPoints(points(0, 3), [one])
        one.append(points(3, 2))
        other.append(points(4, 2))
        one.append(points(5, 2))
        assert columns(one)[0] == [0, 1, 2, 3, 4, 5, 6]
        assert columns(other)[0] == [0, 1, 2, 4, 5]

    def test_other_times_are_not_shared(self) -> None:
        one = GrowingPoints(points(0, 3))
        other = GrowingPoints(points(0, 3, wall=0.5), [one])
        assert not np.shares_memory(one.points[0], other.points[0])

    def test_times_that_are_not_known_are_equal(self) -> None:
        at, _, values = points(0, 3)
        walls = np.full(3, NAN)
        one = GrowingPoints((at, walls, values))
        other = GrowingPoints((at.copy(), walls.copy(), values), [one])
        assert np.shares_memory(one.points[0], other.points[0])


def test_the_tags_of_a_log_share_their_steps() -> None:
    """A live log of many blocks costs the values, and steps and times once per row."""
    rows, tags = 20_000, [f"t{n}" for n in range(20)]
    run = a_run(steps(1, dict.fromkeys(tags, [0.5] * 10_000)))
    run.apply(a_batch(steps(10_001, dict.fromkeys(tags, [0.5] * 10_000))))
    for more in (0, 10):
        whole = [run.series(t) for t in tags]
        assert all(np.shares_memory(s.steps, whole[0].steps) for s in whole)
        assert all(np.shares_memory(s.wall_times, whole[0].wall_times) for s in whole)
        assert run.table.nbytes < 10.5 * rows * len(tags)
        run.apply(a_batch(steps(rows + more + 1, dict.fromkeys(tags, [0.5] * 10))))
    assert all(run.series(t).count == rows + 20 for t in tags)


@pytest.mark.parametrize("steps", [[], [3], [3, 3], [1, 2, 5], [1, 1, 2, 5, 5, 5]])
def test_distinct_steps(steps: list[int]) -> None:
    logged = np.array(steps, np.int64)
    found = distinct(logged)
    assert found.tolist() == sorted(set(steps))
    assert (found is logged) == (len(found) == len(steps))
