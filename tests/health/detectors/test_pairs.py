"""Detectors that compare a metric with a second one: what each finds, and what it leaves alone.

What is computed in another way for speed gives the same numbers, to the last bit.
"""

from collections.abc import Sequence

import numpy as np
import pytest

from rltui.core.block import FloatArray
from rltui.health.cases import case_info, case_run, parse_series
from rltui.health.columns import Columns, judged_rows
from rltui.health.detectors.pairs import jumped, not_continued, parted, rank_correlation
from rltui.health.detectors.signal import Rows, Signal
from rltui.health.rules import load_rules
from tests.builders import a_batch, steps
from tests.health.detectors.said import Number, first_row

FAR: dict[str, Number] = {"share": 0.5, "factor": 3.0}
LIMIT: dict[str, Number] = {"share": 0.9}
GROWN: dict[str, Number] = {"share": 0.6, "factor": 2.0}
TIED: dict[str, Number] = {"correlation": 0.8, "moved": 1.5}
COURSE: dict[str, Number] = {"spreads": 3.0, "reach_share": 0.1}
GAP: dict[str, Number] = {"gap": 0.15}
TIMES: dict[str, Number] = {"high": 2.0, "factor": 1.8}
MORE: dict[str, Number] = {"factor": 2.0, "floor": 0.1}
SUM: dict[str, Number] = {"factor": 10.0, "floor": 0.0, "correlation": 0.9}
BAND = {"low": "1x40", "high": "2x40", "spread": "0.1x40", "reach": "0x40"}
RISES, LONGER = "0..9x40", {"length": "100..300x40"}


@pytest.mark.parametrize(
    ("name", "given", "text", "roles", "expected"),
    [
        ("off_centre", FAR, "0.01x20 0.8x9", {"spread": "1x29"}, 20),
        ("off_centre", FAR, "0.01x20 -0.8x9", {"top": "2x29", "bottom": "-2x29"}, 20),
        ("off_centre", FAR, "0.01x20 0.4x9", {"spread": "1x29"}, None),
        ("off_centre", FAR, "0.6x20 0.8x9", {"spread": "1x29"}, None),
        ("off_centre", FAR, "0.01x20 0.8x9", {"spread": "0x29"}, None),
        ("off_centre", FAR, "0.01x20 0.8x9", {"top": "2x29"}, None),
        ("pinned", LIMIT, "30x20 95x9", {"top": "100x29"}, 20),
        ("pinned", LIMIT, "95x29", {"top": "100x29"}, None),
        ("pinned", LIMIT, "30x20 95x9", {"top": "100x20 98x9"}, None),
        ("pinned", LIMIT, "30x20 80x9", {"top": "100x29"}, None),
        ("pinned", LIMIT, "30x20 95x9", {}, None),
        ("share_grown", GROWN, "1x20 8x9", {"total": "10x29"}, 20),
        ("share_grown", GROWN, "5x20 7x9", {"total": "10x29"}, None),
        ("share_grown", GROWN, "7x20 9x9", {"total": "10x29"}, 20),
        ("share_grown", GROWN, "9x20 9.9x9", {"total": "10x29"}, None),
        ("share_grown", GROWN, "1x20 8x9", {"total": "0x29"}, None),
        ("share_grown", GROWN, "1x20 8x9", {}, None),
        ("tied_to_length", TIED, RISES, {"length": "300..100x40"}, 23),
        ("tied_to_length", TIED, RISES, LONGER, 15),
        ("tied_to_length", TIED, RISES, {"length": "100..120x40"}, None),
        ("tied_to_length", TIED, "9..0x40", LONGER, None),
        ("tied_to_length", TIED, "0..3x20 3..0x20", LONGER, "over"),
        ("tied_to_length", TIED, "1x40", LONGER, None),
        ("tied_to_length", TIED, RISES, {}, None),
        ("off_course", COURSE, "1.5x20 3x20", {**BAND, "worse": "1x40"}, 22),
        ("off_course", COURSE, "1.5x20 3x20", {**BAND, "worse": "0x40"}, 22),
        ("off_course", COURSE, "1.5x20 3x20", {**BAND, "worse": "-1x40"}, None),
        ("off_course", COURSE, "1.5x20 0x20", {**BAND, "worse": "-1x40"}, 22),
        ("off_course", COURSE, "1.5x20 2.2x20", {**BAND, "worse": "0x40"}, None),
        ("off_course", COURSE, "1.5x20 3x20", {**BAND, "reach": "20x40", "worse": "0x40"}, None),
        ("off_course", COURSE, "1.5x20 3x20", {}, None),
        ("combined", {"high": 0.5}, "0.2x20 0.3x9", {"plus": "0.25x29"}, 20),
        ("combined", {"high": 0.5}, "0.3x29", {}, None),
        ("combined", {"high": 20.0}, "-0.001x29", {"times": "1e4x20 3e4x9"}, 20),
        ("combined", {"high": 0.5}, "30x29", {"plus": "10x29", "rest": "60x20 20x9"}, 20),
        ("behind", GAP, "0.99x60", {"other": "0.7x60"}, 1),
        ("behind", GAP, "0.9x60", {"other": "0.8x60"}, None),
        ("behind", GAP, "0.99x60", {"other": "0.9x60"}, None),
        ("behind", GAP, "0.99x60", {"other": "0.4..0.8x60"}, "over"),
        ("behind", GAP, "0.99x60", {}, None),
        ("accumulates", SUM, "1x9 1..50x60", {"rate": "1e-6x69"}, 20),
        ("accumulates", SUM, "1x9 1..50x60", {}, 20),
        ("accumulates", SUM, "1x9 1..50x60", {"rate": "0x69"}, None),
        ("accumulates", SUM, "1x30 50~20x40", {"rate": "1e-6x70"}, None),
        ("accumulates", {**SUM, "floor": 90.0}, "1x9 1..50x60", {"rate": "1e-6x69"}, None),
        ("jumped", {"factor": 1.8}, "1x20 3x40", {}, None),
        ("combined", TIMES, "0.5x20 0.9x9", {"times": "2x29"}, None),
        ("combined", TIMES, "0.5x20 2x9", {"times": "2x29"}, 20),
        ("combined", TIMES, "5x29", {"times": "2x29"}, None),
        ("inflated", MORE, "9x60 30x20", {"other": "-2~0.1x80"}, 60),
        ("inflated", MORE, "9x60 30x20", {"other": "3..1x80"}, None),
        ("inflated", MORE, "9x80", {"other": "2~0.1x80"}, None),
        ("inflated", MORE, "9x60 30x20", {}, None),
    ],
)  # fmt: skip
def test_what_is_found_and_from_which_row_on(
    name: str, given: dict[str, Number], text: str, roles: dict[str, str], expected: object
) -> None:
    assert first_row(name, text, roles, **given) == expected


@pytest.mark.parametrize(
    ("values", "restarts", "expected"),
    [([1.0] * 9 + [2.0] * 9, (9,), 9), ([1.0] * 9 + [1.5] * 9, (9,), None),
     ([1.0] * 9 + [2.0] * 9, (4,), None), ([1.0] * 5 + [3.0] * 9 + [1.0] * 9, (5, 14), None)],
)  # fmt: skip
def test_a_jump_at_a_restart(
    values: list[float], restarts: tuple[int, ...], expected: int | None
) -> None:
    rows = Rows(np.array(values), np.arange(len(values)), restarts=restarts)
    beyond = np.flatnonzero(jumped(rows, factor=1.8).beyond[restarts[-1] :]) + restarts[-1]
    assert (int(beyond[0]) if len(beyond) else None) == expected


@pytest.mark.parametrize(
    ("text", "restarts", "found"),
    [
        ("0..1x40 0.4x30", (40,), range(44, 70)),
        ("0..1x40 0.4x5 1x25", (40,), range(44, 49)),
        ("0..1x40 0.4x12 1x25", (40,), range(44, 77)),
        ("0..1x40 0.95x30", (40,), ()),
        ("0..1x40 1.6x30", (40,), ()),
        ("0..1x40 0.4x20 0.4x20", (40, 60), range(44, 60)),
        ("0..1x40 0.4x4", (40,), ()),
        ("0..1x40 0.4x30", (), ()),
    ],
    ids=["lost", "back", "learned again", "as before", "better", "then goes on", "soon", "none"],
)
def test_what_a_restart_does_not_continue(
    text: str, restarts: tuple[int, ...], found: Sequence[int]
) -> None:
    x = parse_series(text)
    signal = not_continued(Rows(x, np.arange(len(x)), restarts=restarts), times=4, share=0.1)
    assert np.flatnonzero(signal.beyond).tolist() == list(found)


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
