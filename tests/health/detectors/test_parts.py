"""Parts and sources of a reward: their weights, and who is compared with whom."""

import numpy as np

from rltui.catalogue.model import TagInfo
from rltui.health.cases import case_info
from rltui.health.detectors.parts import fitted_weights
from rltui.health.rule import When


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
