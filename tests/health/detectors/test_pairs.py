"""Detectors that compare a metric with a second one: what each finds, and what it leaves alone.

What is computed in another way for speed gives the same numbers, to the last bit.
"""

import numpy as np
import pytest

from rltui.core.block import FloatArray
from rltui.health.cases import case_info, case_run, parse_series
from rltui.health.columns import Columns, judged_rows
from rltui.health.detectors.pairs import not_continued, parted, rank_correlation
from rltui.health.detectors.signal import Rows, Signal
from rltui.health.rules import load_rules
from tests.builders import a_batch, steps
from tests.tables import cases


@cases(__file__, "what_is_made_of_several_metrics")
def test_what_is_made_of_several_metrics(
    roles: dict[str, float | None], expected: float | None
) -> None:
    logged = {"x": -3.0, **{role: x for role, x in roles.items() if x is not None}}
    run, infos, _ = case_run({key: np.full(4, x) for key, x in logged.items()})
    variant = next(v for r in load_rules() for v in r.variants if v.detector.name == "outside")
    variant = variant._replace(roles={role: (role,) for role in roles})
    others = {role: (run.series(role), infos[role]) for role in logged if role != "x"}
    rows, _ = judged_rows(variant, infos["x"], run.series("x"), others, {})
    assert rows.x.tolist() == ([] if expected is None else [expected] * 4)
    assert variant.detector.run(rows, high=1.0).high is None


@cases(__file__, "what_a_restart_does_not_continue")
def test_what_a_restart_does_not_continue(text: str, restarts: list[int], found: list[int]) -> None:
    x = parse_series(text)
    signal = not_continued(Rows(x, np.arange(len(x)), restarts=tuple(restarts)), times=4, share=0.1)
    assert np.flatnonzero(signal.beyond).tolist() == list(range(*found))


def score(kind: str, seed: int, rows: int = 90) -> FloatArray:
    line = {"rises": np.linspace(0, 4, rows), "falls": np.linspace(2, 0, rows)}
    noise = np.random.default_rng(seed).standard_normal(rows)
    return line.get(kind, np.zeros(rows)) + 0.5 * noise


def compared(x: FloatArray, reward: FloatArray | None) -> Signal:
    others = {} if reward is None else {"reward": reward}
    return parted(Rows(x, np.arange(len(x)), others))


@pytest.mark.parametrize(
    ("own", "reward", "least", "most"),
    [("flat", "rises", 10, 20), ("falls", "rises", 20, 20), ("rises", "rises", 0, 0),
     ("flat", "flat", 0, 0), ("falls", "falls", 0, 0), ("rises", "flat", 0, 0)],
)  # fmt: skip
def test_a_score_that_parted_from_the_reward(own: str, reward: str, least: int, most: int) -> None:
    seeds = range(20)
    found = [compared(score(own, s), score(reward, 99 + s)).beyond[-1] for s in seeds]
    assert least <= sum(found) <= most
    assert not any(compared(score(own, s), None).beyond.any() for s in seeds)


def test_a_score_of_another_scale_and_one_that_never_moved() -> None:
    x, reward = score("falls", 1), score("rises", 2)
    own = compared(x, reward)
    assert own.beyond.any()
    np.testing.assert_array_equal(own.beyond, compared(8 * x - 512, 0.25 * reward + 64).beyond)
    assert not compared(np.ones(90), reward).beyond.any()
    assert not compared(x, np.where(np.arange(90) < 89, reward, np.nan)).beyond[-1]


def test_values_beside_other_steps_are_not_mixed_up() -> None:
    reward = np.arange(20.0)
    run, infos, _ = case_run({"reward": reward, "a": np.ones(20), "b": np.ones(12)})
    run.apply(a_batch(steps(9, {"c": [1.0] * 12}), run="case"))
    infos["c"] = case_info("c")
    variant = next(v for r in load_rules() for v in r.variants if v.detector.name == "parted")
    columns: Columns = {}
    others = {"reward": (run.series("reward"), infos["reward"])}
    for _ in range(2):
        for tag, seen in (("a", reward), ("b", reward[:12]), ("c", reward[8:])):
            rows, _walls = judged_rows(variant, infos[tag], run.series(tag), others, columns)
            assert rows.others["reward"].tolist() == seen.tolist()


def ranks(x: FloatArray) -> FloatArray:
    return np.array([(x < v).sum() + ((x == v).sum() + 1) / 2 for v in x])


@pytest.mark.parametrize("count", [2, 3, 10, 50, 333])
@pytest.mark.parametrize("values", [3, 10**9])
def test_rank_correlation_with_and_without_ties(count: int, values: int) -> None:
    rng = np.random.default_rng(count)
    a, b = rng.integers(0, values, count) / 7.0, rng.normal(0, 1, count)
    mine, other = ranks(a), ranks(b)
    centred = (mine - mine.mean()) * (other - other.mean())
    assert rank_correlation(a, b) == float(centred.mean()) / float(mine.std() * other.std())


def test_constant_values_have_no_rank_correlation() -> None:
    assert np.isnan(rank_correlation(np.ones(9), np.arange(9.0)))
