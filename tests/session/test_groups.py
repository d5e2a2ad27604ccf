"""Runs grouped by what they share."""

from __future__ import annotations

import pytest

from rltui.session import RunView
from rltui.session.groups import differing, folded_name, groupings
from tests.builders import a_batch
from tests.fakes import a_session


def runs_of(*names: str, **parameters: list[object]) -> list[RunView]:
    """Runs of these names; ``parameters`` have one value for each."""
    batches = [
        a_batch(
            {"loss": [1.0]},
            run=name,
            source=f"{name}/events.0",
            hparams={key: values[n] for key, values in parameters.items()},
        )
        for n, name in enumerate(names)
    ]
    return sorted(a_session(*batches).runs(), key=lambda r: names.index(r.key.name))


@pytest.mark.parametrize(
    ("name", "folded"),
    [
        ("grpo_lr1e-4_s3", "grpo_lr1e-4_s*"),
        ("grpo_seed=12/logs", "grpo_seed=*/logs"),
        ("CartPole-v1__ppo__1__1700000000", "CartPole-v1__ppo__*__*"),
        ("ppo 2026-01-02_12-33-44", "ppo *"),
        ("lr3e-4_2", "lr3e-4_*"),
        ("PPO_7", "PPO_*"),
        ("sweep/12", "sweep/*"),
        # a setting is no seed
        ("lr3e-4", "lr3e-4"),
        ("ppo_bs_64", "ppo_bs_64"),
        ("model_v2", "model_v2"),
        ("Qwen2.5-7B", "Qwen2.5-7B"),
        ("a_s1.5", "a_s1.5"),
    ],
)
def test_a_seed_is_folded_out_of_a_name(name: str, folded: str) -> None:
    assert folded_name(name) == folded


def test_runs_are_grouped_by_name_first() -> None:
    runs = runs_of("a_s1", "b_s1", "a_s2", "b_s2", lr=[1e-4, 1e-5, 1e-4, 1e-5])
    by_name, by_lr = groupings(runs)
    assert [(g.name, [r.name for r in g.runs]) for g in by_name.groups] == [
        ("a_s*", ["a_s1", "a_s2"]),
        ("b_s*", ["b_s1", "b_s2"]),
    ]
    assert [g.name for g in by_lr.groups] == ["lr 0.0001", "lr 1e-5"]
    assert (by_name.title, by_lr.title) == ("name", "lr")


def test_seeds_of_one_setting_are_a_group() -> None:
    (found,) = groupings(runs_of("a_s1", "a_s2"))
    assert [g.name for g in found.groups] == ["a_s*"]


def test_what_says_where_and_when_is_no_setting() -> None:
    runs = runs_of(
        "x", "y", "z", seed=[1, 1, 2], output_dir=["/a", "/a", "/b"], run_name=["p", "p", "q"]
    )
    assert differing(runs) == []
    assert groupings(runs) == []


def test_a_run_without_the_hyperparameter_is_a_group_of_its_own() -> None:
    runs = runs_of("x", "y", "z", beta=[0.1, 0.1, None])
    (found,) = groupings(runs)
    assert [(g.name, len(g.runs)) for g in found.groups] == [
        ("beta 0.1", 2),
        ("beta not logged", 1),
    ]


def test_runs_that_differ_in_everything_are_not_grouped() -> None:
    assert groupings(runs_of("one", "two", lr=[1, 2])) == []
    assert groupings([]) == []


def test_text_of_a_log_is_clean() -> None:
    runs = runs_of("x", "y", "z", **{"opt\x1b[31m": ["a\x1b", "a\x1b", "b"]})
    (found,) = groupings(runs)
    assert not any("\x1b" in text for text in (found.title, *(g.name for g in found.groups)))
