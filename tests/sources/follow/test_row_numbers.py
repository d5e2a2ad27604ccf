"""Rows of logs whose steps are none are counted."""

import numpy as np
import pytest

from rltui.core.batch import Restart
from rltui.core.block import Block
from rltui.formats.base import Decoded
from rltui.sources.follow.row_numbers import RowNumbers
from tests.blocks import make_block

BORN = 1_795_000_000


def block(steps: list[int], tags: tuple[str, ...] = ("loss",), wall: float = BORN) -> Block:
    walls = [wall + n for n in range(len(steps))]
    return make_block(tags, steps, walls, np.ones((len(steps), len(tags))))


def steps_of(decoded: Decoded) -> list[list[int]]:
    return [b.steps.tolist() for b in decoded.items if isinstance(b, Block)]


def test_true_steps_stay_and_cost_nothing() -> None:
    numbers, given = RowNumbers(), Decoded((block([0, 1, 2]),))
    assert numbers.of(given) is given
    later = Decoded((block([0, 0, 0, 0, 0]),))
    assert numbers.of(later) is later


def test_a_writer_that_is_given_no_step() -> None:
    numbers = RowNumbers()
    first = numbers.of(Decoded((block([0, 0]),)))
    assert (steps_of(first), first.steps_are_row_numbers) == ([[0, 0]], False)
    second = numbers.of(Decoded((block([0, 0]),)))
    assert second.replaces
    assert second.steps_are_row_numbers
    assert steps_of(second) == [[1, 2], [3, 4]]
    third = numbers.of(Decoded((block([0]),)))
    assert (steps_of(third), third.replaces) == ([[5]], False)


def test_evaluations_at_step_0_before_a_training_are_no_rows() -> None:
    numbers = RowNumbers()
    assert steps_of(numbers.of(Decoded((block([0] * 6),)))) == [[1, 2, 3, 4, 5, 6]]
    after = numbers.of(Decoded((block([10, 20]),)))
    assert after.replaces
    assert not after.steps_are_row_numbers
    assert steps_of(after) == [[0] * 6, [10, 20]]


def test_tags_with_rows_of_their_own() -> None:
    absent = np.array([[False, False], [True, False], [True, False], [False, False]])
    both = make_block(("a", "b"), [0] * 4, [0.0] * 4, np.ones((4, 2)), absent)
    assert steps_of(RowNumbers().of(Decoded((both,)))) == [[1, 2], [1, 2, 3, 4]]


@pytest.mark.parametrize("unit", [1, 1000, 1_000_000])
def test_times_given_as_steps(unit: int) -> None:
    given = block([(BORN + 60 * n) * unit for n in range(3)])
    found = RowNumbers().of(Decoded((given,)))
    assert steps_of(found) == [[1, 2, 3]]
    assert found.steps_are_row_numbers


def test_large_steps_are_no_times() -> None:
    frames = Decoded((block([1_500_000_000, 1_500_001_000]),))
    assert RowNumbers().of(frames) is frames


def test_a_time_in_place_of_a_step_is_that_of_the_row() -> None:
    given = make_block(("a",), [BORN * 1000], [float("nan")], np.ones((1, 1)))
    (item,) = RowNumbers().of(Decoded((given,))).items
    assert not isinstance(item, Restart)
    assert item.wall_times.tolist() == [BORN]
