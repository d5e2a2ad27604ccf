"""What need not be judged: a stricter level where the milder one rules it out, and what a necessary
condition rules out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from rltui.core.block import FloatArray
from rltui.core.level import Level
from rltui.health.detectors.registry import DETECTORS
from rltui.health.detectors.signal import Rows
from rltui.health.rule import Variant
from rltui.health.rules import load_rules

VARIANTS = {v.id: v for rule in load_rules() for v in rule.variants if len(v.levels) > 1}
STRICT = {
    name: v
    for name, v in VARIANTS.items()
    if v.detector.is_stricter(v.levels[Level.BAD], v.levels[Level.WATCH])
}


SCREENED = [
    (v.id, level)
    for rule in load_rules()
    for v in rule.variants
    for level in v.levels
    if v.detector.possible is not None
]
BY_ID = {v.id: v for rule in load_rules() for v in rule.variants}


def courses(rows: int = 160) -> Iterator[FloatArray]:
    """Noise, jumps, falls and drifts of several sizes."""
    t = np.linspace(0, 1, rows)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        noise = rng.standard_normal(rows)
        size = 10.0 ** rng.uniform(-3, 2)
        jump = np.where(t > rng.uniform(0.2, 0.9), 10.0 ** rng.uniform(-2, 2), 1.0)
        yield size * jump * np.abs(1 + 0.2 * noise)
        yield size * (1 - t * rng.uniform(0, 1.2)) + 0.05 * size * noise
        yield np.cumsum(noise) * size
        yield np.clip(0.5 + 0.2 * noise + t * rng.uniform(-1, 1), 0, 1)
        yield np.where(t > 0.5, 0.0, size)
        yield 1 + 0.001 * noise


def all_rows(variant: Variant) -> Iterator[Rows]:
    found = list(courses())
    for at, x in enumerate(found):
        others = {r: found[(7 * at + n + 1) % len(found)] for n, r in enumerate(variant.roles)}
        yield Rows(x, np.arange(len(x)), others)


def test_most_variants_have_a_stricter_level() -> None:
    assert len(STRICT) > 0.7 * len(VARIANTS)


@pytest.mark.parametrize("name", STRICT)
def test_nothing_is_bad_where_nothing_is_worth_watching(name: str) -> None:
    variant, quiet = STRICT[name], 0
    with np.errstate(all="ignore"):
        for rows in all_rows(variant):
            mild = variant.detector.run(rows, **variant.levels[Level.WATCH])
            if not mild.beyond.any() and not mild.silent:
                quiet += 1
                strict = variant.detector.run(rows, **variant.levels[Level.BAD])
                assert not strict.beyond.any()
                assert not strict.silent
    assert quiet > 0


@pytest.mark.parametrize(("name", "level"), SCREENED)
def test_nothing_is_found_where_that_is_impossible(name: str, level: Level) -> None:
    variant = BY_ID[name]
    with np.errstate(all="ignore"):
        for rows in all_rows(variant):
            for part in (rows, _first(rows, 12), _first(rows, 1)):
                if not variant.detector.may_find(part, variant.levels[level]):
                    answer = variant.detector.run(part, **variant.levels[level])
                    assert not answer.beyond.any()
                    assert not answer.silent


def test_conditions_rule_something_out_and_something_in() -> None:
    for name in {v.detector.name for v in BY_ID.values() if v.detector.possible is not None}:
        variants = [v for v in BY_ID.values() if v.detector.name == name]
        answers = {
            v.detector.may_find(rows, parameters)
            for v in variants
            for rows in all_rows(v)
            for parameters in v.levels.values()
        }
        assert answers == {True, False}, name


def _first(rows: Rows, count: int) -> Rows:
    others = {role: x[:count] for role, x in rows.others.items()}
    return Rows(rows.x[:count], rows.steps[:count], others)


@pytest.mark.parametrize(
    ("given", "than", "stricter"),
    [
        ({"high": 3.0}, {"high": 2.0}, True),
        ({"high": 2.0}, {"high": 2.0}, True),
        ({"high": 1.0}, {"high": 2.0}, False),
        ({"low": 0.1, "high": 3.0}, {"low": 0.2, "high": 2.0}, True),
        ({"low": 0.3}, {"low": 0.2}, False),
        ({"high": 3.0, "per_unit": 5}, {"high": 2.0, "per_unit": 3}, False),
        ({"high": 3.0, "absolute": True}, {"high": 2.0}, False),
        ({"high": 3.0, "per_unit": 0.0}, {"high": 2.0}, True),
        ({"high": -1.0}, {"high": -2.0}, False),
    ],
)
def test_is_stricter(given: dict[str, object], than: dict[str, object], stricter: bool) -> None:
    assert DETECTORS["outside"].is_stricter(given, than) is stricter


def test_parameters_that_are_named_exist() -> None:
    for detector in DETECTORS.values():
        assert set(detector.strict) <= set(detector.parameters)
