"""Blocks that become one which grows: the points stay, and each is held once."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.core.block import Block, IntArray, ValueArray
from rltui.store import branch as branch_module
from rltui.store.branch import Branch
from rltui.store.points import Points
from tests.blocks import make_block
from tests.builders import a_batch, a_run

#: A tag may be left out of a row (None), or of the block.
ROW = st.lists(st.one_of(st.floats(width=32), st.none()), min_size=3, max_size=3)
BLOCKS = st.lists(
    st.tuples(
        st.sets(st.sampled_from([0, 1, 2]), min_size=1), st.lists(ROW, min_size=1), st.booleans()
    ),
    max_size=14,
)
TAGS = ("a", "b", "c")
Point = tuple[int, bytes]


def new_branch() -> Branch:
    return Branch(Path("log"), (0, 0, 0), None)


def a_part(step: int, columns: list[int], rows: list[list[float | None]], double: bool) -> Block:
    values = [[0.0 if row[c] is None else row[c] for c in columns] for row in rows]
    absent = np.array([[row[c] is None for c in columns] for row in rows])
    return make_block(
        [TAGS[c] for c in columns],
        range(step, step + len(rows)),
        None,
        np.array(values),
        absent if absent.any() else None,
        dtype=np.float64 if double else np.float32,
    )


def found(branch: Branch, tag: str) -> list[Point]:
    steps, _, values = branch.points(tag)
    return as_points(steps, values)


def as_points(steps: IntArray, values: ValueArray) -> list[Point]:
    return [(s, np.float64(v).tobytes()) for s, v in zip(steps.tolist(), values, strict=True)]


@settings(max_examples=200, deadline=None)
@given(BLOCKS, st.data())
def test_any_blocks_read_at_any_time(
    blocks: list[tuple[set[int], list[list[float | None]], bool]], data: st.DataObject
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(branch_module, "_GROWING_ROWS", 3)
        branch, expected = new_branch(), {tag: list[Point]() for tag in TAGS}
        handed: list[tuple[list[Point], Points]] = []
        step = 0
        for columns, rows, double in blocks:
            branch.append(a_part(step, sorted(columns), rows, double))
            for offset, row in enumerate(rows):
                for column in columns:
                    value = row[column]
                    if value is not None:
                        point = step + offset, np.float64(value).tobytes()
                        expected[TAGS[column]].append(point)
            step += len(rows)
            if data.draw(st.booleans()):
                branch = copy.deepcopy(branch)
            for tag in data.draw(st.sets(st.sampled_from(TAGS))):
                assert found(branch, tag) == expected[tag]
                handed.append((list(expected[tag]), branch.points(tag)))
        for tag in TAGS:
            assert found(branch, tag) == expected[tag]
            steps = [s for s, _ in expected[tag]]
            for start in range(len(steps)):
                assert branch.points(tag, start)[0].tolist() == steps[start:]
        for points, (steps, _, values) in handed:  # what was handed out stays as it was
            assert as_points(steps, values) == points


def rows_of(begin: int, count: int, tags: int = 20) -> Block:
    values = np.random.default_rng(begin).normal(size=(count, tags))
    return make_block([f"t{i}" for i in range(tags)], range(begin, begin + count), None, values)


def test_a_point_is_held_once_when_all_tags_are_read() -> None:
    run = a_run(rows_of(0, 5000))
    for part in range(1, 12):
        run.apply(a_batch(rows_of(5000 * part, 5000)))
    for row in range(60_000, 60_500):
        run.apply(a_batch(rows_of(row, 1)))
        read = [run.series(tag) for tag in run.tags]
    assert {s.count for s in read} == {60_500}
    assert run.table.nbytes < 1.25 * 60_500 * (8 * 20 + 16)
