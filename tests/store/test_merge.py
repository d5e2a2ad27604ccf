"""Several sources of one run: the most exact wins, others fill gaps, misplaced files leave."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rltui.core.batch import Batch, Joined, RunKey
from rltui.core.block import Block
from rltui.store import Store
from tests.builders import a_batch, a_block, a_source

RNG = np.random.default_rng(7)
LOSS = (3 - np.arange(60) / 30 + 0.1 * RNG.standard_normal(60)).tolist()
EXACT = {"jsonl": 3, "tfevents": 2, "console": 1}


def rows(values: list[float], first: int = 1, *, walls: bool = True, tag: str = "loss") -> Block:
    block = a_block({tag: values}, first=first)
    return block if walls else replace(block, wall_times=np.full(len(values), np.nan))


def batch(form: str, *blocks: Block, name: str = "", order: int = 0, **changes: Any) -> Batch:
    """One file of a format; ``joined`` and ``alone`` as in its SourceInfo."""
    given = {
        k: changes.pop(k)
        for k in ("joined", "alone", "steps_are_row_numbers", "records", "guessed")
        if k in changes
    }
    given.setdefault("records", sum(len(b.steps) for b in blocks))
    source = a_source(name or form, order, format=form, precision_rank=EXACT[form], **given)
    return a_batch(*blocks, source=source, **changes)


def store_of(*batches: Batch) -> Store:
    store = Store()
    for number, one in enumerate(batches):
        store.apply(replace(one, waiting=len(batches) - 1 - number))
    return store


def only(store: Store):  # type: ignore[no-untyped-def]
    (run,) = store.runs.values()
    return run


def rounded(values: list[float]) -> list[float]:
    return [round(v, 3) for v in values]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_most_exact_source_wins_whatever_came_first(order: tuple[int, int]) -> None:
    batches = (batch("console", rows(rounded(LOSS))), batch("jsonl", rows(LOSS)))
    series = only(store_of(*(batches[i] for i in order))).series("loss")
    assert series.values.tolist() == LOSS
    assert series.count == 60


def test_gaps_are_filled() -> None:
    exact = batch("jsonl", rows(LOSS[:20]), rows(LOSS[30:50], 31))
    series = only(store_of(exact, batch("console", rows(rounded(LOSS))))).series("loss")
    assert series.steps.tolist() == list(range(1, 61))
    assert series.values[:20].tolist() == LOSS[:20]
    assert series.values[20:30].tolist() == rounded(LOSS[20:30])
    assert series.values[55] == round(LOSS[55], 3)


def test_a_source_with_another_x_axis_adds_nothing() -> None:
    exact = batch("jsonl", rows(LOSS))
    other = batch("console", rows(rounded(LOSS), 30))
    assert only(store_of(exact, other)).series("loss").values.tolist() == LOSS


def test_points_between_points_are_left_out() -> None:
    """Two sources that share no step but the span: their axes differ, nobody knows how."""
    exact = a_block({"loss": LOSS[:30]}, steps=range(0, 300, 10))
    other = a_block({"loss": rounded(LOSS[:30])}, steps=range(5, 305, 10))
    series = only(store_of(batch("jsonl", exact), batch("console", other))).series("loss")
    assert series.count == 30


def test_row_numbers_are_no_steps() -> None:
    exact = batch("jsonl", a_block({"loss": LOSS}, steps=range(0, 600, 10)))
    counted = batch(
        "console", rows(rounded(LOSS)), rows(LOSS, tag="lr"), steps_are_row_numbers=True
    )
    run = only(store_of(exact, counted))
    assert run.series("loss").values.tolist() == LOSS
    assert run.series("lr").count == 60
    assert (run.first_step, run.last_step) == (0, 590)


def near_a_row(values: list[float]) -> Batch:
    """A console whose loss has the step of a row nearby."""
    block = a_block({"loss": values}, steps=[s // 7 * 7 for s in range(len(values))])
    return batch("console", block, rows(LOSS, tag="lr"), guessed=frozenset({"loss"}))


@pytest.mark.parametrize("exact_first", [True, False])
def test_guessed_steps_add_nothing_to_a_tag_that_has_its_own(exact_first: bool) -> None:
    exact = batch("tfevents", a_block({"loss": LOSS}, steps=range(0, 600, 10)))
    pair = [exact, near_a_row(rounded(LOSS))]
    store = Store()
    for number, one in enumerate(pair if exact_first else pair[::-1]):
        store.apply(replace(one, waiting=1 - number))
        only(store).series("loss")
    assert only(store).series("loss").values.tolist() == LOSS
    assert only(store).series("lr").count == 60
    assert only(store).table.origins("loss")[0].name == "tfevents"


def test_of_two_files_of_one_format_the_one_with_steps_counts() -> None:
    true = batch("console", a_block({"loss": LOSS}, steps=range(0, 600, 10)), name="true.log")
    store = store_of(near_a_row(LOSS), true)
    assert only(store).series("loss").steps.tolist() == list(range(0, 600, 10))
    assert only(store).series("loss").count == 60


def test_each_tag_says_where_it_comes_from() -> None:
    console = batch("console", rows(rounded(LOSS)), rows(LOSS, tag="memory"))
    run = only(store_of(console, batch("jsonl", rows(LOSS))))
    assert [p.name for p in run.table.origins("loss")] == ["jsonl", "console"]
    assert [p.name for p in run.table.origins("memory")] == ["console"]


# -- misplaced files ----------------------------------------------------------------------------


def joined(values: list[float], how: Joined, tag: str = "loss") -> Batch:
    return batch("console", rows(values, tag=tag), joined=how, alone="other", records=60)


@pytest.mark.parametrize("how", [Joined.SURELY, Joined.MAYBE])
def test_a_file_with_other_values_is_a_run_of_its_own(how: Joined) -> None:
    store = store_of(batch("tfevents", rows(LOSS)), joined([v + 1 for v in LOSS], how))
    assert [k.name for k in store.runs] == [".", "other"]
    assert store.runs[RunKey(0, ".")].series("loss").values.tolist() == LOSS
    assert store.runs[RunKey(0, "other")].last_step == 60


@pytest.mark.parametrize(("how", "runs"), [(Joined.SURELY, 1), (Joined.MAYBE, 2)])
def test_a_file_of_which_nothing_can_be_said(how: Joined, runs: int) -> None:
    store = store_of(batch("tfevents", rows(LOSS)), joined(LOSS, how, tag="unlike"))
    assert len(store.runs) == runs


def test_two_logs_of_another_training_leave_together() -> None:
    other = [v + 1 for v in LOSS]
    lines = batch("jsonl", rows(other), joined=Joined.SURELY, alone="other")
    store = store_of(batch("tfevents", rows(LOSS)), lines, joined(rounded(other), Joined.SURELY))
    assert [k.name for k in store.runs] == [".", "other"]
    assert len(store.runs[RunKey(0, "other")].files.by_path) == 2


def test_a_copy_that_goes_on_is_read_on() -> None:
    first = batch("console", rows(LOSS[:30]), name="stdout.log")
    copy = batch("console", rows(LOSS[:30]), name="log.txt", order=1)
    store = store_of(first, copy)
    store.apply(batch("console", rows(LOSS[30:], 31), name="log.txt", order=1, records=60))
    run = only(store)
    assert (run.series("loss").count, run.last_step, run.extent.restarts) == (60, 60, ())
    assert run.series("loss").values.tolist() == LOSS


def test_a_copy_that_differs_later_is_another_run() -> None:
    first = batch("console", rows(LOSS[:30]), name="stdout.log")
    copy = batch("console", rows(LOSS[:30]), name="log.txt", order=1)
    store = store_of(first, copy)
    other = [v + 1 for v in LOSS[30:]]
    store.apply(batch("console", rows(LOSS[30:], 31), name="stdout.log", records=60))
    store.apply(batch("console", rows(other, 31), name="log.txt", order=1, records=60))
    assert len(store.runs) == 2


# -- files that are rewritten ------------------------------------------------------------------


def test_a_file_that_was_rewritten_with_the_same_rows_is_no_restart() -> None:
    store = store_of(batch("jsonl", rows(LOSS[:30])))
    again = batch("jsonl", rows(LOSS), generation=1, replaced=True)
    store.apply(again)
    series = only(store).series("loss")
    assert series.values.tolist() == LOSS
    assert (series.old_count, only(store).extent.restarts) == (0, ())
