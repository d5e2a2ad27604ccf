"""The epoch of a series: while it is the same, points were appended and nothing else happened."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.core.batch import Batch, Restart, RunKey
from rltui.core.block import Block
from rltui.store import RunData, Series, Store, branch
from rltui.store.series import Derived
from tests.builders import LOGDIR, a_batch, a_block, a_run, a_source

TAGS = ("a", "b")
#: File -> (format, precision rank, order).
FILES = {
    "events.0": ("tfevents", 2, 0),
    "events.1": ("tfevents", 2, 1),
    "metrics.jsonl": ("jsonl", 3, 0),
    "stdout.log": ("console", 1, 0),
}


@pytest.fixture(autouse=True)
def _few_rows_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks become one that grows from the third row on."""
    monkeypatch.setattr(branch, "_GROWING_ROWS", 3)


values = st.one_of(st.integers(0, 3).map(float), st.sampled_from([float("nan"), float("inf")]))


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    rows = draw(st.integers(1, 4))
    tags = draw(st.sampled_from([("a",), ("b",), TAGS]))
    begin = draw(st.integers(0, 30))
    if draw(st.booleans()):
        at = list(range(begin, begin + rows))
    else:
        at = draw(st.lists(st.integers(0, 30), min_size=rows, max_size=rows))
    cells = st.one_of(st.none(), values)
    columns = {t: draw(st.lists(cells, min_size=rows, max_size=rows)) for t in tags}
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    walls = None if draw(st.booleans()) else [float("nan")] * rows
    return a_block(columns, steps=at, walls=walls, dtype=dtype)


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    name = draw(st.sampled_from(["events.0", "events.0", *FILES]))
    form, rank, order = FILES[name]
    item = st.one_of(blocks(), blocks(), blocks(), blocks(), st.integers(0, 30).map(Restart))
    source = a_source(
        name,
        order,
        format=form,
        precision_rank=rank,
        steps_are_row_numbers=draw(st.integers(0, 9)) == 9,
    )
    replaced = draw(st.integers(0, 9)) == 9
    return a_batch(
        *draw(st.lists(item, min_size=1, max_size=3)),
        source=source,
        generation=draw(st.sampled_from([0] * 7 + [1])),
        replaced=replaced,
        document=replaced and draw(st.booleans()),
    )


def begins_with(series: Series, before: Series) -> bool:
    n = before.count
    pairs = zip(series.points, before.points, strict=True)
    return series.count >= n and all(
        np.array_equal(new[:n], old, equal_nan=True) for new, old in pairs
    )


def check_history(before: Series, after: Series) -> None:
    if before.epoch != after.epoch:
        return
    assert begins_with(after, before)
    for new, old in zip(after.old_points, before.old_points, strict=True):
        np.testing.assert_array_equal(new, old)
    np.testing.assert_array_equal(after.restarts, before.restarts)
    if before.count == after.count:
        np.testing.assert_array_equal(after.values, before.values)


def check_order(series: Series) -> None:
    assert (np.diff(series.steps) >= 0).all()


def fresh(given_batches: list[Batch], tag: str) -> Series:
    """The series as a run has it that is read for the first time."""
    run = RunData(RunKey(0, "."), LOGDIR)
    for batch in given_batches:
        run.apply(batch)
    run.table.derive(Derived("difference", *TAGS))
    return run.series(tag)


@settings(max_examples=100)
@given(st.lists(st.tuples(batches(), st.booleans()), min_size=1, max_size=14))
def test_an_unchanged_epoch_means_that_points_were_only_appended(
    content: list[tuple[Batch, bool]],
) -> None:
    run = RunData(RunKey(0, "."), LOGDIR)
    run.table.derive(Derived("difference", *TAGS))
    seen: dict[str, list[Series]] = {}
    for batch, read in content:
        run.apply(batch)
        if not read:
            continue
        for tag in (*TAGS, "a - b"):
            series = run.series(tag)
            check_order(series)
            for before in seen.setdefault(tag, []):
                check_history(before, series)
                check_history(before.negated(), series.negated())
            seen[tag].append(series)
    # what was extended piece by piece is what is read at once
    for tag in (*TAGS, "a - b"):
        whole, pieces = fresh([b for b, _ in content], tag), run.series(tag)
        for new, old in zip(whole.points, pieces.points, strict=True):
            np.testing.assert_array_equal(new, old)
        for new, old in zip(whole.old_points, pieces.old_points, strict=True):
            np.testing.assert_array_equal(new, old)


@given(st.lists(st.tuples(st.sampled_from(["one", "two"]), blocks()), min_size=2, max_size=12))
def test_epochs_hold_when_files_change_their_run(content: list[tuple[str, Block]]) -> None:
    store = Store()
    seen: dict[tuple[RunKey, str], list[Series]] = {}
    for name, block in content:
        store.apply(a_batch(block, source=name, order=["one", "two"].index(name)))
        for key, run in store.runs.items():
            for tag in run.tags:
                series = run.series(tag)
                for before in seen.setdefault((key, tag), []):
                    check_history(before, series)
                seen[(key, tag)].append(series)


def test_unloaded_points_have_no_history() -> None:
    run = a_run({"a": [1, 2], "b": [1, 2]})
    kept = run.series("a")
    run.unload(["a"])
    assert run.series("a").epoch == kept.epoch
    assert (run.series("b").count, run.series("b").epoch) == (0, 0)
    assert (run.count("b"), run.last_step) == (2, 2)
    for _ in run.load([a_batch({"a": [1, 2], "b": [1, 2]})]):
        pass
    assert run.series("b").count == 2
    assert run.series("a").epoch != kept.epoch
