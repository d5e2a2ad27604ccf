"""Copies of a log: they double nothing and hide nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rltui.core.batch import Batch, Restart
from rltui.core.block import Block
from rltui.store import RunData, Store
from tests.builders import START, a_batch, a_block, a_source

LOSS = np.random.default_rng(3).standard_normal(60).tolist()
LOSS[40] = math.nan

Items = Sequence[Block | Restart]


def read(*files: Items, backwards: bool = False) -> Store:
    store = Store()
    numbered = list(enumerate(files))
    for left, (order, items) in enumerate(reversed(numbered) if backwards else numbered):
        rows = sum(len(i.steps) for i in items if isinstance(i, Block))
        source = a_source(f"events.{order}", order, records=rows)
        store.apply(a_batch(*items, source=source, waiting=len(files) - 1 - left))
    return store


def only(store: Store) -> RunData:
    (run,) = store.runs.values()
    return run


def losses(first: int, last: int) -> Block:
    return a_block({"loss": LOSS[first - 1 : last]}, first=first)


def check_whole(store: Store, restarts: tuple[int, ...] = ()) -> None:
    series = only(store).series("loss")
    assert series.steps.tolist() == list(range(1, 61))
    np.testing.assert_array_equal(series.values, LOSS)
    assert only(store).extent.restarts == restarts
    assert only(store).last_step == 60


def test_a_copy_of_a_log_that_has_restarted() -> None:
    whole = [losses(1, 35), Restart(31), losses(31, 60)]
    store = read(whole, whole)
    check_whole(store, restarts=(31,))
    assert only(store).series("loss").old_points[0].tolist() == [31, 32, 33, 34, 35]


def test_what_only_a_copy_has_is_read_on_each_axis() -> None:
    """Episodes go on in the longer file, though steps of the other axis are beyond them."""

    def rows(last: int) -> list[Block]:
        return [
            a_block({"reward/episode": LOSS[:last]}),
            a_block({"reward/step": LOSS[:last]}, steps=[1000 * s for s in range(1, last + 1)]),
        ]

    run = only(read(rows(25), rows(60)))
    assert [run.series(t).count for t in run.tags] == [60, 60]


def test_the_same_values_at_another_time_are_a_resumed_run() -> None:
    """A training with a fixed seed that begins anew and has not come as far yet."""
    later = [START + 9000 + s for s in range(1, 21)]
    run = only(read([losses(1, 60)], [a_block({"loss": LOSS[:20]}, walls=later)]))
    assert run.series("loss").steps.tolist() == list(range(1, 21))
    assert (run.extent.restarts, run.last_step) == ((1,), 20)


@given(st.lists(st.integers(5, 60), min_size=1, max_size=4), st.booleans())
def test_any_copies_in_any_order_give_the_points_of_the_longest(
    lengths: list[int], backwards: bool
) -> None:
    run = only(read(*([losses(1, n)] for n in lengths), backwards=backwards))
    series = run.series("loss")
    assert series.steps.tolist() == list(range(1, max(lengths) + 1))
    assert series.old_count == 0


def a_file(name: str, order: int, block: Block, **changes: object) -> Batch:
    source = a_source(name, order, records=len(block.steps), format="csv")
    return a_batch(block, source=source, **changes)


def test_a_file_that_is_written_anew_with_the_same_rows_doubles_nothing() -> None:
    store = Store()
    store.apply(a_file("progress.csv", 0, losses(1, 60)))
    store.apply(a_file("old.csv", 1, losses(1, 60)))
    store.apply(a_file("progress.csv", 0, losses(1, 60), replaced=True))
    check_whole(store)
    assert not only(store).series("loss").old_count
