"""A bar is an axis only where it moves with the rows; a wrapped row is one row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.consoles import goal, values

BEGIN = "  0%|          | 0/200 [00:00<?, ?it/s]\n"
END = "100%|##########| 200/200 [10:00<00:00,  3.00s/it]\n"
SUMMARY = (
    "{'train_runtime': 600.0, 'train_steps_per_second': 0.33, 'train_loss': 1, 'epoch': 1.0}\n"
)


def row(n: int) -> str:
    return (
        f"{{'loss': {2 - n / 200:.3f}, 'grad_norm': 1.2, 'learning_rate': 1e-05, "
        f"'epoch': {n / 200:.3f}}}\n"
    )


def rows(count: int, every: int = 1) -> str:
    return "".join(row(n * every) for n in range(1, count + 1))


def steps(text: str) -> list[int]:
    return [step for step, _ in values(text)["train/loss"]]


@pytest.mark.parametrize("end", ["", END, END + SUMMARY])
@pytest.mark.parametrize("count", [2, 50, 200])
def test_rows_behind_a_bar_that_stands_still_are_counted(count: int, end: str) -> None:
    assert steps(BEGIN + rows(count) + end) == list(range(1, count + 1))


def test_the_end_of_the_bar_is_no_plan_for_rows_that_were_counted() -> None:
    assert goal(BEGIN + rows(20, every=10) + END) is None
    assert goal(BEGIN + rows(200) + END) == 200


def test_a_bar_that_moves_is_the_axis() -> None:
    text = BEGIN + "".join(
        f"{row(n * 10)} {n * 5}%|#  | {n * 10}/200 [00:{n:02}<01:00,  1.00s/it]\n"
        for n in range(1, 11)
    )
    assert steps(text) == list(range(10, 101, 10))
    assert goal(text) == 200


def test_a_resumed_bar_that_stands_still() -> None:
    text = " 50%|#####     | 100/200 [00:00<?, ?it/s]\n" + rows(20)
    assert steps(text) == list(range(101, 121))


@given(st.integers(12, 90), st.integers(1, 30))
def test_a_wrapped_row_is_one_row(width: int, count: int) -> None:
    text = "".join(
        "".join(f"{line[i : i + width]}\n" for i in range(0, len(line), width))
        for line in rows(count).splitlines()
    )
    assert values(text) == values(rows(count))
