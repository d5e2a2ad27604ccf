"""Parts and sources of a reward: their weights, and who is compared with whom."""

import numpy as np
import pytest

from rltui.catalogue.model import TagInfo
from rltui.health.cases import case_info
from rltui.health.detectors.parts import fitted_weights
from rltui.health.rule import When
from tests.health.detectors.said import Number, first_row

TAKEN: dict[str, Number] = {"share": 0.7, "factor": 2.0}
OTHER = {"part 1": "0.3~0.05x200"}


@pytest.mark.parametrize(
    ("text", "roles", "found"),
    [
        ("0.3~0.05x80 0.3~0.3x120", OTHER, True),
        ("0.3~0.3x200", OTHER, False),
        ("0.3~0.05x80 0.3~0.3x120", {}, False),
        ("0.3~0.05x200", {"part 1": "0.3~0.05x80 0.98~0.001x120"}, False),
    ],
    ids=["grows", "from the start", "alone", "the other is learned"],
)
def test_a_part_takes_over(text: str, roles: dict[str, str], found: bool) -> None:
    assert (first_row("takes_over", text, roles, **TAKEN) is not None) == found


def test_a_spread_that_is_measured_on_a_batch_speaks_for_itself() -> None:
    text, roles = "0.1x80 0.9x30", {"part 1": "0.4x110"}
    assert first_row("takes_over", text, roles, **TAKEN, spreads=True) == 84
    assert first_row("takes_over", text, roles, **TAKEN) is None


def test_two_held_out_scores_are_worth_four_rows() -> None:
    text = "0.5~0.01x10 0.6~0.01x10 0.53x3"
    roles = {"part 1": "0.4..0.8x23", "reward": "0.4..0.8x23"}
    assert first_row("falls_behind", text, roles) is None
    assert first_row("falls_behind", text, roles, held_out=True) == 21


def test_weights_are_those_of_the_sum_and_one_where_there_is_none() -> None:
    parts = np.random.default_rng(1).normal(size=(2, 100))
    total = 2 * parts[0] - 0.5 * parts[1]
    np.testing.assert_allclose(fitted_weights(total, parts)[:, -1], [2, -0.5])
    noise = np.random.default_rng(2).normal(size=100)
    np.testing.assert_array_equal(fitted_weights(noise, parts), np.ones((2, 100)))


def test_names_of_the_task_are_left_out() -> None:
    when = When(not_named=("correct*", "answer"))

    def fits(title: str) -> bool:
        info: TagInfo = case_info(f"reward.component.mean#{title}")
        return when.tag_fits(info)

    assert not fits("correctness reward")
    assert not fits("answer_reward")
    assert fits("short answers")
