"""Metrics of one run have different titles."""

from __future__ import annotations

import pytest

from rltui.catalogue.guess import distinct_titles
from tests.builders import a_batch
from tests.fakes import a_session


def titles(*tags: str) -> list[str]:
    (run,) = a_session(a_batch({t: [1.0, 2.0, 3.0] for t in tags})).runs()
    return [run.infos[t].title for t in tags]


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (["rollout/ep_rew_mean", "rollout/ep_len_mean", "monitor/l"], "episode length, monitor"),
        (["actor/ppo_kl", "timing_s/step", "perf/time_per_step"], "step time, perf"),
    ],
)
def test_a_second_tag_of_a_metric_says_where_it_is_from(tags: list[str], expected: str) -> None:
    found = titles(*tags)
    assert found[-1] == expected
    assert len(set(found)) == len(found)


def test_a_known_metric_keeps_its_title_beside_an_unknown_tag() -> None:
    found = titles("objective/kl", "ppo/mean_scores", "env/reward_mean", "reward")
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    ("title", "tags", "expected"),
    [
        ("return", ["a/return"], ["return"]),
        ("acc best, std", ["v/best@2/std", "v/best@4/std"], ["acc best@2, std", "acc best@4, std"]),
        ("acc maj.", ["v/maj@2/mean", "v/maj@8/mean"], ["acc maj@2", "acc maj@8"]),
        ("return", ["train/return", "charts/ep/ret"], ["return", "return, charts"]),
        ("x", ["a", "a/b", "a/c"], ["x", "x, a/b", "x, a/c"]),
        ("x", ["a_b", "a|b"], ["x", "x, a|b"]),
    ],
)
def test_the_part_that_differs(title: str, tags: list[str], expected: list[str]) -> None:
    assert distinct_titles(title, tags) == expected


def test_the_time_of_the_reward_is_not_called_like_the_reward() -> None:
    assert titles("timing_s/reward", "critic/rewards/mean") == [
        "reward computation",
        "reward, shaped",
    ]
