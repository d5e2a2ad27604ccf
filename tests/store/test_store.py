"""The store: nothing lost, restarts supersede, pieces do not matter.

What the points of a live run cost, however its log was written.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.core.batch import Batch, Note, Restart, RunKey
from rltui.core.block import Block
from rltui.core.level import Level
from rltui.store import Changes, Moved, RunData, Series, Store
from rltui.store.series import Derived
from tests.blocks import make_block
from tests.builders import LOGDIR, START, a_batch, a_block, a_run, steps
from tests.tables import cases

KEY = RunKey(0, ".")


def xy(series: Series) -> list[tuple[int, float]]:
    return list(zip(series.steps.tolist(), series.values.tolist(), strict=True))


def old(series: Series) -> list[tuple[int, float]]:
    return list(zip(series.old_points[0].tolist(), series.old_points[2].tolist(), strict=True))


# --- one file


def test_points_of_one_file() -> None:
    run = a_run({"loss": [3, 2, 1], "kl": [0, None, 5]})
    assert run.tags == ("loss", "kl")
    assert xy(run.series("loss")) == [(1, 3), (2, 2), (3, 1)]
    assert xy(run.series("kl")) == [(1, 0), (3, 5)]
    assert run.series("kl").wall_times.tolist() == [START + 1, START + 3]
    assert run.series("loss").last == (3, START + 3, 1.0)
    assert (run.first_step, run.last_step, run.extent.restarts) == (1, 3, ())
    assert run.extent.last_wall_time == START + 3


def test_nan_and_inf_are_points() -> None:
    series = a_run({"g": [1, float("nan"), float("inf"), 2]}).series("g")
    assert (series.count, series.nonfinite) == (4, 2)
    found_steps, values = series.finite()
    assert (found_steps.tolist(), values.tolist()) == ([1, 4], [1.0, 2.0])
    assert values.dtype == np.float64


# --- restarts


def test_a_later_file_that_overlaps_supersedes() -> None:
    run = a_run({"a": [1, 2, 3, 4, 5]}, steps(4, {"a": [40, 50, 60]}))
    series = run.series("a")
    assert xy(series) == [(1, 1), (2, 2), (3, 3), (4, 40), (5, 50), (6, 60)]
    assert old(series) == [(4, 4), (5, 5)]
    assert series.old_points[1].tolist() == [START + 4, START + 5]
    assert series.restarts.tolist() == [4]
    assert (run.first_step, run.last_step, run.extent.restarts) == (1, 6, (4,))


def test_a_writer_that_says_where_it_starts_supersedes_all_tags() -> None:
    run = RunData(KEY, LOGDIR)
    run.apply(a_batch({"a": [1, 2, 3], "b": [1, 2, 3]}))
    b = run.series("b")
    run.apply(a_batch(Restart(3), steps(3, {"a": [30]})))
    assert xy(run.series("a")) == [(1, 1), (2, 2), (3, 30)]
    assert xy(run.series("b")) == [(1, 1), (2, 2)]
    assert old(run.series("b")) == [(3, 3)]
    assert run.series("b").epoch != b.epoch
    assert run.extent.restarts == (3,)
    assert run.last_step == 3


# --- two runs in one directory


def twins(rows: int = 100, *, later_by: float = 0.5, other_rows: int | None = None) -> Store:
    store = Store()
    first = a_block({"a": range(rows), "b": range(rows)})
    count = rows if other_rows is None else other_rows
    walls = [START + later_by + s for s in range(1, count + 1)]
    second = a_block({"a": [-1] * count, "b": [-2] * count}, walls=walls)
    store.apply(a_batch(first, source="one", order=0))
    store.apply(a_batch(second, source="two", order=1))
    return store


def test_two_files_that_coincide_are_two_runs() -> None:
    store = twins()
    assert [k.name for k in store.runs] == [".", ".#2"]
    one, two = store.runs.values()
    assert one.series("a").count == two.series("a").count == 100
    assert (one.extent.restarts, two.extent.restarts) == ((), ())
    assert not one.series("a").old_count
    assert set(one.files.sources) == {LOGDIR / "one"}
    assert set(two.files.sources) == {LOGDIR / "two"}
    # What follows goes to the run that the file belongs to.
    changes = store.apply(a_batch(steps(101, {"a": [7]}), source="two", order=1))
    assert changes.runs == {RunKey(0, ".#2")}
    assert two.last_step == 101
    assert one.last_step == 100


def test_a_misplaced_file_is_reported_as_moved() -> None:
    store = Store()
    store.apply(a_batch({"a": [1] * 50}, source="one"))
    note = Note(LOGDIR / "two", None, Level.WATCH, "odd")
    batch = a_batch({"a": [2] * 50}, source="two", order=1, notes=(note,), gone=True)
    changes = store.apply(batch)
    other = RunKey(0, ".#2")
    assert changes.new_runs
    assert changes.moved == (Moved(LOGDIR / "two", KEY, other),)
    assert changes.runs == changes.new_tags == {KEY, other}
    assert store.runs[KEY].files.notes == []
    assert store.runs[other].files.notes == [note]
    assert store.runs[other].files.all_gone
    assert not store.runs[KEY].files.all_gone


def test_no_split_before_all_is_read() -> None:
    store = Store()
    store.apply(a_batch({"a": [1] * 50}, source="one", more=True))
    store.apply(a_batch({"a": [2] * 50}, source="two", order=1))
    assert len(store.runs) == 1
    store.apply(a_batch(steps(51, {"a": [1]}), source="one"))
    assert len(store.runs) == 2


def test_a_resumed_run_that_passes_the_place_of_death_stays_one_run() -> None:
    """Begun anew from the first step, live: at step 100 it has the span of the dead file."""
    store = Store()
    store.apply(a_batch({"a": [1] * 100}, source="dead"))
    for step in range(1, 150):
        row = a_block({"a": [2]}, first=step, walls=[START + 1000 + step])
        store.apply(a_batch(row, source="anew", order=1))
    (run,) = store.runs.values()
    assert run.series("a").values.tolist() == [2] * 149
    assert run.extent.restarts == (1,)


# --- the store


def test_changes_say_what_to_repaint() -> None:
    store = Store()
    assert not Changes()
    first = store.apply(a_batch({"a": [1]}, run="x"))
    x = RunKey(0, "x")
    assert first == Changes(frozenset({x}), True, frozenset({x}))
    second = store.apply(a_batch(steps(2, {"a": [2]}), run="x"))
    assert second == Changes(frozenset({x}))
    both = first | second
    assert both == first
    assert both


# --- pieces do not matter


@st.composite
def files(draw: st.DrawFn) -> list[list[Block | Restart]]:
    """One to three files of rows with changing tags, steps that mostly rise, declared starts."""
    content: list[list[Block | Restart]] = []
    for _ in range(draw(st.integers(1, 3))):
        step = draw(st.integers(0, 12))
        rows: list[Block | Restart] = []
        for _ in range(draw(st.integers(1, 12))):
            kind = draw(st.sampled_from(["ab", "ab", "ab", "a", "b", "abc", "declared", "back"]))
            if kind == "declared":
                rows.append(Restart(step))
                continue
            step = max(0, step - 3) if kind == "back" else step + draw(st.integers(0, 2))
            value = draw(st.floats(width=32))
            tags = "ab" if kind == "back" else kind
            rows.append(a_block({t: [value] for t in tags}, first=step))
        content.append(rows)
    return content


def pieces_of(rows: list[Block | Restart], cuts: list[bool]) -> list[tuple[Block | Restart, ...]]:
    """``rows`` as batches: neighbours of equal tags joined where no cut falls between them."""
    batches: list[list[Block | Restart]] = [[]]
    for index, row in enumerate(rows):
        if index and cuts[index % len(cuts)]:
            batches.append([])
        before = batches[-1][-1] if batches[-1] else None
        if isinstance(row, Block) and isinstance(before, Block) and before.tags == row.tags:
            batches[-1][-1] = make_block(
                row.tags,
                np.concatenate([before.steps, row.steps]),
                np.concatenate([before.wall_times, row.wall_times]),
                np.concatenate([before.values, row.values]),
            )
        else:
            batches[-1].append(row)
    return [tuple(b) for b in batches]


def read(content: list[list[Block | Restart]], cuts: list[bool]) -> RunData:
    run = RunData(KEY, Path("/x"))
    for order, rows in enumerate(content):
        for items in pieces_of(rows, cuts):
            batch: Batch = a_batch(*items, source=f"f{order}", order=order)
            run.apply(batch)
            for tag in run.tags:
                run.series(tag)  # a cache that is not renewed would show
    return run


@given(files(), st.lists(st.booleans(), min_size=1, max_size=8))
def test_any_pieces_give_equal_series_and_no_point_is_lost(
    content: list[list[Block | Restart]], cuts: list[bool]
) -> None:
    whole, cut = read(content, [False]), read(content, cuts)
    assert set(whole.tags) == set(cut.tags)
    logged = sum(b.points for rows in content for b in rows if isinstance(b, Block))
    assert sum(whole.series(t).count + whole.series(t).old_count for t in whole.tags) == logged
    for tag in whole.tags:
        one, other = whole.series(tag), cut.series(tag)
        for name in ("points", "old_points", "restarts"):
            columns = zip(getattr(one, name), getattr(other, name), strict=True)
            for column, same in columns:
                np.testing.assert_array_equal(column, same, err_msg=name)
    assert (whole.first_step, whole.last_step) == (cut.first_step, cut.last_step)
    assert whole.extent.restarts == cut.extent.restarts
    assert whole.extent.last_wall_time == cut.extent.last_wall_time


@cases(__file__, "zeros_of_few_decimals")
def test_zeros_of_few_decimals(decimals: int, beside: tuple[str, ...], hidden: float) -> None:
    values = {
        tag: [round(0.1234567891 * n * (i + 7), decimals) for n in range(9)]
        for i, tag in enumerate(beside)
    }
    run = a_run({**values, "lr": [0.0] * 9})
    assert run.hidden_in_zero("lr") == hidden
    assert run.hidden_in_zero("loss") == 0.0  # beside its values less than 0.0005 is no rate


def test_a_zero_after_the_last_unit_is_less_than_half_of_it() -> None:
    rates = {"lr": [4e-8, 3e-8, 2e-8, 1e-8, 0], "cut": [1e-8] * 4 + [0], "n": [4, 3, 2, 1, 0]}
    rates |= {"third": [4.4e-8, 3.3e-8, 2.2e-8, 1.1e-8, 0], "warmed": [1e-8, 2e-8, 3e-8, 4e-8, 0]}
    run = a_run(rates)
    assert {t: h for t in run.tags if (h := run.hidden_in_zero(t))} == {"lr": 5e-9}


def test_a_derived_series_has_the_steps_that_both_have() -> None:
    run = a_run({"high": [5.0, 7.0, None, 9.0], "low": [None, 1.0, 2.0, 3.0]})
    run.table.derive(Derived("difference", "high", "low"))
    series = run.series("high - low")
    assert series.steps.tolist() == [2, 4]
    assert series.values.tolist() == [6.0, 6.0]
    assert "high - low" not in run.tags


def test_a_derived_ratio_leaves_out_what_is_divided_by_zero() -> None:
    run = a_run({"a": [5.0, 7.0], "b": [0.0, 2.0]})
    run.table.derive(Derived("ratio", "a", "b"))
    assert run.series("a / b").steps.tolist() == [2]
    assert run.series("a / b").values.tolist() == [3.5]


TAGS = [f"t{n}" for n in range(20)]
ROWS = 300
#: Bytes of a value, and its share of the step and time of its row.
POINT = 8 + 16 / len(TAGS)
#: For spare room.
ROOM = 1.15


def write(run: RunData, file: int, first: int, rows: int = ROWS) -> None:
    """Append a file row by row; somebody reads every tag after each row."""
    for step in range(first, first + rows):
        row = steps(step, {tag: [step / 7] for tag in TAGS})
        run.apply(a_batch(row, source=f"events.{file}", order=file))
        assert {run.series(tag).last for tag in run.tags} == {(step, START + step, step / 7)}


def test_tags_share_the_steps_of_superseded_points() -> None:
    run = a_run(*(steps(n, {"loss": [1.0, 2.0, 3.0], "kl": [4.0, 5.0, 6.0]}) for n in (1, 2, 3)))
    assert old(run.series("loss")) == [(2, 2.0), (3, 3.0), (3, 2.0), (4, 3.0)]
    one, other = ([p[0] for p in run.series(tag).superseded] for tag in run.tags)
    assert all(np.shares_memory(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(("files", "rows", "gone_on", "old"), [(3, 300, 0, 600), (8, 60, 50, 70)])
def test_each_point_is_held_once(files: int, rows: int, gone_on: int, old: int) -> None:
    run = a_run()
    for file in range(files):
        write(run, file, 1 + gone_on * file, rows)
    series = run.series("t0")
    assert (series.count, series.old_count) == (files * rows - old, old)
    assert run.table.nbytes < ROOM * POINT * files * rows * len(TAGS)
